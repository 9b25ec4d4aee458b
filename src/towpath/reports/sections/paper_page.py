"""The paper's own set of figures and tables, filled by the runs that are the paper's.

Runs that name a recipe of the paper and differ from it stand beside the paper's rows, each with
what differs; they never fill a row.
"""

from collections.abc import Iterable, Sequence

from towpath.metrics import ACCURACY
from towpath.reports.blocks import Block, Cell, Chapter, Figures, Note, Section, Table
from towpath.reports.methods import label_method, label_of, weighter_difference
from towpath.reports.number_text import number
from towpath.reports.reruns import Rerun, paper_recipe, reruns
from towpath.reports.sections import paper
from towpath.reports.sections.curves import curve_figure
from towpath.reports.sections.probes import probe_figures
from towpath.reports.sections.results import results_section
from towpath.reports.sections.running_time import time_section
from towpath.runs.costs import costs
from towpath.runs.results import results, test_sets
from towpath.runs.study import Study

COLUMN_NAMES = {
    "omniglot-maml": "Omniglot, MAML",
    "omniglot-protonet": "Omniglot, Protonet",
    "mini-imagenet-maml": "mini-ImageNet, MAML, 4-layer CNN",
    "mini-imagenet-protonet": "mini-ImageNet, Protonet, 4-layer CNN",
    "mini-imagenet-maml-resnet10": "mini-ImageNet, MAML, Resnet-10",
    "any-shot-maml": "MAML, weighted",
    "any-shot-protonet": "Protonet, weighted",
    **{row.recipe: row.title for row in paper.ANY_SHOT_OTHERS},
}
SHOWN_AS = {"tow": "TOW (tow-faithful)"}
"""heading of the row of a method of the paper, where it is not its own name"""
OURS_SHOWN_AS = f"{paper.OURS} (ours)"
Found = dict[str, list[Rerun]]


def paper_chapter(studies: Sequence[Study]) -> Chapter:
    """Make the chapter on all parts of the paper; a part that was not run says how to run it."""
    found, missing = reruns(studies)
    sections = []
    ran = changed = 0
    for part in paper.PARTS:
        own = {name: found[name] for name in part.recipes if name in found}
        as_described = [name for name in own if any(not rerun.differs for rerun in own[name])]
        ran += bool(as_described)
        changed += bool(own) and not as_described
        blocks = [*_BUILDERS[part.key](own)] if own or part.key in _WITHOUT_RUNS else []
        absent = [n for n in part.recipes if n not in as_described and paper_recipe(n) is not None]
        if absent:
            blocks.append(_not_run(absent))
        sections.append(Section(part.key, part.title, part.about, blocks))
    for rerun in (rerun for own in found.values() for rerun in own):
        missing += [f"{r.name}: {'; '.join(r.missing)}." for r in rerun.study.all if r.missing]
        if rerun.differs:
            missing.append(
                f"{rerun.recipe} was run with changes and fills no row of the paper's: "
                f"{rerun.difference}."
            )
    return Chapter(
        "paper",
        "The paper's figures and tables",
        "Nguyen, Do, Carneiro: Task Weighting in Meta-learning with Trajectory Optimisation. The "
        "paper's numbers stand beside ours; its curves are not published as numbers. A row is "
        "filled only by runs of its recipe; runs that differ stand below it, with what differs. "
        "The paper's TOW is tow-faithful; tow is our own form of it.",
        f"{ran} of {len(paper.PARTS)} parts were run by the paper's recipes, at least in part"
        + (f", and {changed} with changes only." if changed else "."),
        [],
        missing,
        sections,
    )


def _not_run(names: Sequence[str]) -> Note:
    how = f"towpath compare {names[0]} --seeds 0,1,2"
    return Note(f"Not run as described: {', '.join(names)}. For example: {how}", "missing")


def _each(found: Found) -> Iterable[Rerun]:
    return (rerun for own in found.values() for rerun in own)


def _title(rerun: Rerun) -> str:
    name = COLUMN_NAMES.get(rerun.recipe, rerun.recipe)
    return f"{name}, changed" if rerun.differs else name


def _changes(rerun: Rerun) -> list[Block]:
    if not rerun.differs:
        return []
    return [Note(f"{_title(rerun)}: not the paper's setting ({rerun.difference}).", "missing")]


def _curves(found: Found) -> list[Block]:
    drawn = [(rerun, curve_figure(rerun.study, title=_title(rerun))) for rerun in _each(found)]
    blocks: list[Block] = []
    if any(figure.svg for _, figure in drawn):
        blocks.append(Figures([figure for _, figure in drawn if figure.svg]))
    for rerun, figure in drawn:
        if not figure.svg:
            blocks.append(Note(f"{_title(rerun)} has no validation yet.", "missing"))
        blocks += _changes(rerun)
    return blocks


def _own(found: Found, recipe: str) -> Study | None:
    """Return the runs of a recipe that follow the paper's description."""
    return next((r.study for r in found.get(recipe, ()) if not r.differs), None)


def _value(cell: str, note: str = "") -> list[Cell]:
    return [Cell(cell, "" if cell[0].isdigit() else "quiet"), Cell(note, "quiet text")]


def _accuracy(study: Study | None, label: str | None, test: str = "") -> str:
    """Return a weighter's accuracy on a test set (the first if none is named), in per cent."""
    if study is None or label is None:
        return "not run"
    for name in test_sets(study):
        if test in ("", name):
            r = results(study, name, ACCURACY).get(label)
            return "not finished" if r is None else _percent(r.mean, r.interval)
    return "not finished"


def _percent(mean: float, interval: float) -> str:
    return f"{number(100 * mean, 2)} ±{number(100 * interval, 2)}"


def _others(found: Found, recipe: str) -> Iterable[tuple[Rerun, str, str]]:
    """Yield (rerun, label, what differs) of all runs of a recipe that fill no row."""
    for rerun in found.get(recipe, ()):
        for label in rerun.study.labels:
            run = rerun.study.runs[label][0]
            assert run.recipe is not None  # `reruns` leaves unknown ones out
            ours = label == label_of(rerun.study, paper.OURS)
            if not rerun.differs and (ours or label_method(rerun.study, label)):
                continue
            words = (rerun.difference, weighter_difference(run.recipe.weighter))
            yield rerun, label, "; ".join(word for word in words if word)


def _table_1(found: Found) -> list[Block]:
    rows = []
    for recipe, theirs in paper.TABLE_1.items():
        study = _own(found, recipe)
        for i, (method, weighter) in enumerate(paper.METHODS.items()):
            head = [Cell(COLUMN_NAMES[recipe] if i == 0 else "", "head")]
            head += [Cell(SHOWN_AS.get(method, method), "text")]
            ours = _accuracy(study, label_of(study, weighter) if study else None)
            rows.append([*head, Cell("{:.2f} ±{:.2f}".format(*theirs[method])), *_value(ours)])
        ours = _accuracy(study, label_of(study, paper.OURS) if study else None)
        rows.append([Cell(""), Cell(OURS_SHOWN_AS, "text"), Cell("–"), *_value(ours)])
        for rerun, label, differs in _others(found, recipe):
            cells = [Cell(_title(rerun), "head"), Cell(label, "text"), Cell("–")]
            rows.append([*cells, *_value(_accuracy(rerun.study, label), differs)])
    columns = ["setting", "weighting", "paper", "ours", "what differs from the paper's setting"]
    return [Table("Accuracy (%)", columns, rows)]


def _seconds(study: Study | None, label: str | None, note: str = "") -> list[Cell]:
    cost = costs(study).get(label) if study and label else None
    return [
        Cell(number(cost.per_step, 3) if cost else "not run", "" if cost else "quiet"),
        Cell(f"{cost.overhead:.2f}×" if cost and cost.overhead else "–"),
        Cell(note, "quiet text"),
    ]


def _table_2(found: Found) -> list[Block]:
    rows = []
    for recipe, theirs in paper.TABLE_2.items():
        study = _own(found, recipe)
        for i, (method, weighter) in enumerate(paper.METHODS.items()):
            cells = [
                Cell(COLUMN_NAMES[recipe] if i == 0 else "", "head"),
                Cell(SHOWN_AS.get(method, method), "text"),
                Cell(f"{theirs[method]:.2f}"),
                Cell(f"{theirs[method] / theirs['uniform']:.2f}×"),
            ]
            rows.append([*cells, *_seconds(study, label_of(study, weighter) if study else None)])
        cells = [Cell(""), Cell(OURS_SHOWN_AS, "text"), Cell("–"), Cell("–")]
        rows.append([*cells, *_seconds(study, label_of(study, paper.OURS) if study else None)])
        for rerun, label, differs in _others(found, recipe):
            cells = [Cell(_title(rerun), "head"), Cell(label, "text"), Cell("–"), Cell("–")]
            rows.append([*cells, *_seconds(rerun.study, label, differs)])
    columns = ["setting", "weighting", "paper: GPU hours", "paper: over uniform"]
    columns += ["ours: seconds a step", "ours: over uniform"]
    columns += ["what differs from the paper's setting"]
    return [Table("Running time", columns, rows)]


def _any_shot(found: Found) -> list[Block]:
    rows = []
    for recipe, methods in paper.ANY_SHOT.items():
        study = _own(found, recipe)
        shown = [(SHOWN_AS.get(m, m), w, methods.get(m, {})) for m, w in paper.METHODS.items()]
        shown.append((OURS_SHOWN_AS, paper.OURS, {}))
        for i, (text, weighter, theirs) in enumerate(shown):
            label = label_of(study, weighter) if study else None
            head = [Cell(COLUMN_NAMES[recipe] if i == 0 else "", "head"), Cell(text, "text")]
            rows.append([*head, *_both_sets(theirs, study, label), Cell("")])
        rows += _changed_any_shot(found, recipe)
    for other in paper.ANY_SHOT_OTHERS:
        head = [Cell(other.title, "head"), Cell("uniform, as others report", "quiet text")]
        study = _own(found, other.recipe)
        label = label_of(study, "uniform") if study else None
        why = "" if paper_recipe(other.recipe) is not None else "no recipe"
        rows.append([*head, *_both_sets(other.theirs, study, label, why), Cell("")])
        rows += _changed_any_shot(found, other.recipe)
    columns = ["learner", "weighting", "mini-ImageNet: paper", "ours", "birds: paper", "ours"]
    columns += ["what differs from the paper's setting"]
    return [*_curves(found), Table("Any-shot accuracy (%)", columns, rows)]


def _changed_any_shot(found: Found, recipe: str) -> Iterable[list[Cell]]:
    """Yield a row for each weighter of the runs of a recipe that are not the paper's setting."""
    for rerun, label, differs in _others(found, recipe):
        head = [Cell(_title(rerun), "head"), Cell(label, "text")]
        yield [*head, *_both_sets({}, rerun.study, label), Cell(differs, "quiet text")]


def _both_sets(
    theirs: dict[str, paper.Figure], study: Study | None, label: str | None, why: str = ""
) -> list[Cell]:
    cells = []
    for test in ("mini-imagenet", "cub"):
        figure = theirs.get(test)
        ours = why or _accuracy(study, label, test)
        cells.append(Cell("{:.2f} ±{:.2f}".format(*figure) if figure else "–"))
        cells.append(Cell(ours, "" if ours[0].isdigit() else "quiet"))
    return cells


def _weights(found: Found) -> list[Block]:
    blocks: list[Block] = []
    for rerun in _each(found):
        study = rerun.study
        blocks += _changes(rerun)
        for label in study.labels:
            for run in study.seeds(label)[:1]:
                for name, lines in run.probes.items():
                    blocks.append(Figures(probe_figures(study, label, name, lines)))
        if not any(run.probes for run in study.all):
            blocks.append(Note(f"{study.title} has no probe records yet.", "missing"))
    return blocks


def _ablation(found: Found) -> list[Block]:
    blocks: list[Block] = []
    for rerun in _each(found):
        blocks += _curves({rerun.recipe: [rerun]})
        for section in (results_section(rerun.study), time_section(rerun.study)):
            blocks += section.blocks
    return blocks


_WITHOUT_RUNS = ("table-1", "table-2", "any-shot")
"""parts that show the paper's numbers even where nothing of ours was run"""
_BUILDERS = {
    "figure-1": _curves,
    "table-1": _table_1,
    "table-2": _table_2,
    "any-shot": _any_shot,
    "weights": _weights,
    "iterations": _ablation,
    "exact-value": _ablation,
}
