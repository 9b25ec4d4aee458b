"""The paper's own set of figures and tables, filled from whatever of its recipes was run."""

from collections.abc import Sequence

from towpath.reports import paper
from towpath.reports.blocks import Block, Cell, Chapter, Figures, Note, Section, Table, number
from towpath.reports.outcome import curve_figure, results_section, time_section
from towpath.reports.results import costs, results, test_sets
from towpath.reports.study import Study, merged
from towpath.reports.weights import probe_figures

COLUMN_NAMES = {
    "omniglot-maml": "Omniglot, MAML",
    "omniglot-protonet": "Omniglot, Protonet",
    "mini-imagenet-maml": "mini-ImageNet, MAML, 4-layer CNN",
    "mini-imagenet-protonet": "mini-ImageNet, Protonet, 4-layer CNN",
    "mini-imagenet-maml-resnet10": "mini-ImageNet, MAML, Resnet-10",
    "any-shot-maml": "MAML",
    "any-shot-protonet": "Protonet",
}


def paper_chapter(studies: Sequence[Study]) -> Chapter:
    """All parts of the paper; a part that was not run says so, and how to run it."""
    by_recipe, missing = merged(studies)
    sections = []
    ran = 0
    for part in paper.PARTS:
        own = [by_recipe[name] for name in part.recipes if name in by_recipe]
        ran += bool(own)
        blocks = [*_BUILDERS[part.key](own)] if own or part.key in _WITHOUT_RUNS else []
        absent = [name for name in part.recipes if name not in by_recipe]
        if absent:
            blocks.append(_not_run(absent))
        sections.append(Section(part.key, part.title, part.about, blocks))
    others = sorted(set(by_recipe) - {name for part in paper.PARTS for name in part.recipes})
    missing += [f"{name} is not a recipe of the paper and is not shown here." for name in others]
    for study in by_recipe.values():
        if study.title not in others:
            missing += study.missing
            missing += [f"{r.name}: {'; '.join(r.missing)}." for r in study.all if r.missing]
            if study.shortened:
                missing.append(
                    f"{study.title} was run in its small form: its numbers are not comparable."
                )
    return Chapter(
        "paper",
        "The paper's figures and tables",
        "Nguyen, Do, Carneiro: Task Weighting in Meta-learning with Trajectory Optimisation. The "
        "paper's numbers stand beside ours; its curves are not published as numbers.",
        f"{ran} of {len(paper.PARTS)} parts were run, at least in part.",
        [],
        missing,
        sections,
    )


def _not_run(names: Sequence[str]) -> Note:
    how = f"towpath compare {names[0]} --seeds 0,1,2"
    return Note(f"Not run: {', '.join(names)}. For example: {how}", "missing")


def _figure_1(studies: Sequence[Study]) -> list[Block]:
    figures = [curve_figure(s, title=COLUMN_NAMES.get(s.title, s.title)) for s in studies]
    blocks: list[Block] = []
    if any(f.svg for f in figures):
        blocks.append(Figures([f for f in figures if f.svg]))
    for study, figure in zip(studies, figures, strict=True):
        if not figure.svg:
            blocks.append(Note(f"{study.title} has no validation yet.", "missing"))
    return blocks


def _table_1(studies: Sequence[Study]) -> list[Block]:
    rows = []
    by_recipe = {study.title: study for study in studies}
    for recipe, theirs in paper.TABLE_1.items():
        study = by_recipe.get(recipe)
        for i, method in enumerate(paper.METHODS):
            ours = _ours(study, method)
            rows.append(
                [
                    Cell(COLUMN_NAMES[recipe] if i == 0 else "", "head"),
                    Cell(method, "text"),
                    Cell("{:.2f} ±{:.2f}".format(*theirs[method])),
                    Cell(ours, "" if ours[0].isdigit() else "quiet"),
                ]
            )
    return [Table("Accuracy (%)", ["setting", "weighting", "paper", "ours"], rows)]


def _ours(study: Study | None, method: str, test: str = "") -> str:
    if study is None:
        return "not run"
    for name in test_sets(study):
        if test in ("", name):
            for label, r in results(study, name).items():
                if paper.method_of(label) == method:
                    return f"{number(100 * r.mean, 2)} ±{number(100 * r.interval, 2)}"
            return "not run"
    return "not finished"


def _table_2(studies: Sequence[Study]) -> list[Block]:
    rows = []
    by_recipe = {study.title: study for study in studies}
    for recipe, theirs in paper.TABLE_2.items():
        study = by_recipe.get(recipe)
        spent = costs(study) if study else {}
        for i, method in enumerate(paper.METHODS):
            own = next((c for k, c in spent.items() if paper.method_of(k) == method), None)
            rows.append(
                [
                    Cell(COLUMN_NAMES[recipe] if i == 0 else "", "head"),
                    Cell(method, "text"),
                    Cell(f"{theirs[method]:.2f}"),
                    Cell(f"{theirs[method] / theirs['uniform']:.2f}×"),
                    Cell(number(own.per_step, 3) if own else "not run", "" if own else "quiet"),
                    Cell(f"{own.overhead:.2f}×" if own and own.overhead else "–"),
                ]
            )
    columns = ["setting", "weighting", "paper: GPU hours", "paper: over uniform"]
    columns += ["ours: seconds a step", "ours: over uniform"]
    return [Table("Running time", columns, rows)]


def _any_shot(studies: Sequence[Study]) -> list[Block]:
    by_recipe = {study.title: study for study in studies}
    rows = []
    for recipe, methods in paper.ANY_SHOT.items():
        for i, method in enumerate(paper.METHODS):
            theirs = methods.get(method, {})
            cells = [Cell(COLUMN_NAMES[recipe] if i == 0 else "", "head"), Cell(method, "text")]
            for test in ("mini-imagenet", "cub"):
                figure = theirs.get(test)
                ours = _ours(by_recipe.get(recipe), method, test)
                cells.append(Cell("{:.2f} ±{:.2f}".format(*figure) if figure else "–"))
                cells.append(Cell(ours, "" if ours[0].isdigit() else "quiet"))
            rows.append(cells)
    for name, sets in paper.ANY_SHOT_OTHERS.items():
        cells = [Cell(name, "head"), Cell("as others report", "quiet text")]
        for test in ("mini-imagenet", "cub"):
            cells += [Cell("{:.2f} ±{:.2f}".format(*sets[test])), Cell("–", "quiet")]
        rows.append(cells)
    columns = ["learner", "weighting", "mini-ImageNet: paper", "ours", "birds: paper", "ours"]
    return [*_figure_1(studies), Table("Any-shot accuracy (%)", columns, rows)]


def _weights(studies: Sequence[Study]) -> list[Block]:
    blocks: list[Block] = []
    for study in studies:
        for label in study.labels:
            for run in study.seeds(label)[:1]:
                for name, lines in run.probes.items():
                    blocks.append(Figures(probe_figures(study, label, name, lines)))
        if not any(run.probes for run in study.all):
            blocks.append(Note(f"{study.title} has no probe records yet.", "missing"))
    return blocks


def _ablation(studies: Sequence[Study]) -> list[Block]:
    blocks: list[Block] = []
    for study in studies:
        blocks += _figure_1([study])
        for section in (results_section(study), time_section(study)):
            blocks += section.blocks
    return blocks


_WITHOUT_RUNS = ("table-1", "table-2", "any-shot")
"""parts that show the paper's numbers even where nothing of ours was run"""
_BUILDERS = {
    "figure-1": _figure_1,
    "table-1": _table_1,
    "table-2": _table_2,
    "any-shot": _any_shot,
    "weights": _weights,
    "iterations": _ablation,
    "exact-value": _ablation,
}
