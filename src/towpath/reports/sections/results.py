"""The section on results: test scores, and paired differences from the baseline."""

from towpath.reports.blocks import Block, Cell, Figure, Figures, Note, Section, Table
from towpath.reports.charts.intervals import Interval, interval_chart
from towpath.reports.charts.svg import Words
from towpath.reports.methods import label_method
from towpath.reports.number_text import number, p_text, score_text, seconds_text
from towpath.reports.reruns import study_differences
from towpath.reports.sections import paper
from towpath.runs.results import WeighterResult, costs, results, test_sets
from towpath.runs.study import Study

UNITS = {"accuracy": "accuracy (%)", "loss": "loss"}


def finding(study: Study) -> str:
    """Return one sentence on how the best weighter compares with the baseline."""
    for test in test_sets(study)[:1]:
        found = results(study, test)
        base = found.get(study.baseline)
        others = [r for r in found.values() if r.difference is not None]
        if base is None or not others:
            continue
        better = 1 if base.metric == "accuracy" else -1
        best = max(others, key=lambda r: better * r.difference.mean if r.difference else 0.0)
        difference = best.difference
        assert difference is not None
        unit = " %" if base.metric == "accuracy" else ""
        points = " points" if base.metric == "accuracy" else ""
        k, digits = base.scale, 1 if base.metric == "accuracy" else 3
        seeds = f"{best.paired_seeds} seed{'s' if best.paired_seeds != 1 else ''}"
        where = f"over {best.tasks} test tasks and {seeds}"
        if not difference.excludes_zero:
            return (
                f"No weighter differs clearly from {study.baseline} "
                f"({number(k * base.mean, digits)}{unit}) {where}."
            )
        gap = (
            f"{number(k * difference.mean, digits, sign=True)} "
            f"±{number(k * difference.interval, digits)}{points}, {where}"
        )
        if better * difference.mean < 0:
            return f"Nothing beats {study.baseline}; the nearest is {best.label}: {gap}."
        return (
            f"{best.label} comes to {number(k * best.mean, digits)}{unit}, {study.baseline} to "
            f"{number(k * base.mean, digits)}{unit}: {gap}."
        )
    return "There is nothing to compare yet."


def results_section(study: Study) -> Section:
    """Make the section on final accuracy and paired differences from the baseline."""
    blocks: list[Block] = []
    for test in test_sets(study):
        found = results(study, test)
        blocks += [_interval_figures(study, test, found), _results_table(study, test, found)]
    if not blocks:
        blocks.append(Note("No run is finished, so there are no test results yet.", "missing"))
    return Section(
        "results",
        "Results",
        f"Each weighter trained on the same tasks from the same start. Differences to "
        f"{study.baseline} are taken task by task, so their intervals are narrower than those of "
        "the means. Intervals are 95%, over test tasks; small ticks are single seeds.",
        blocks,
    )


def _interval_figures(study: Study, test: str, found: dict[str, WeighterResult]) -> Figures:
    rows, differences = [], []
    for r in found.values():
        k, digits = r.scale, 1 if r.metric == "accuracy" else 3
        colour = study.colour(r.label)
        text = f"{number(k * r.mean, digits)} ±{number(k * r.interval, digits)}"
        singles = [k * v for v in r.by_seed]
        rows.append(Interval(r.label, colour, k * r.mean, k * r.interval, singles, text))
        if r.difference:
            d = r.difference
            text = f"{number(k * d.mean, digits, sign=True)} ±{number(k * d.interval, digits)}"
            differences.append(Interval(r.label, colour, k * d.mean, k * d.interval, (), text))
    metric = next(iter(found.values())).metric if found else "accuracy"
    name = f"{study.name}-results-{_slug(test)}"
    unit = UNITS[metric]
    figures = [
        Figure(
            f"Test {metric} on {test}",
            interval_chart(
                Words(name, f"Test {metric} on {test}", _spoken(rows)), f"test {unit}", rows
            ),
        )
    ]
    if differences:
        better = "right of the line is better" if metric == "accuracy" else "left is better"
        points = "percentage points" if metric == "accuracy" else "loss"
        figures.append(
            Figure(
                f"Difference to {study.baseline}, task by task",
                interval_chart(
                    Words(
                        f"{name}-difference",
                        f"Paired difference to {study.baseline} on {test}",
                        _spoken(differences),
                    ),
                    f"difference ({points}); {better}",
                    differences,
                    zero=study.baseline,
                ),
            )
        )
    return Figures([f for f in figures if f.svg])


def _slug(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text.lower())


def _spoken(rows: list[Interval]) -> str:
    return "; ".join(f"{row.label} {row.text}" for row in rows)


def _results_table(study: Study, test: str, found: dict[str, WeighterResult]) -> Table:
    differs = study_differences(study)
    shot = paper.ANY_SHOT.get(study.title, {})
    figures = {m: f for m, sets in shot.items() for s, f in sets.items() if s == test}
    theirs = (figures or paper.TABLE_1.get(study.title, {})) if differs == () else {}
    spent, wrong = costs(study), study.has_wrong_labels
    metric = next(iter(found.values())).metric if found else "accuracy"
    columns = ["weighter", UNITS[metric], f"minus {study.baseline}", "p-value", "worst tenth"]
    columns += ["training", "overhead", *(["wrong : clean weight"] if wrong else [])]
    columns += ["in the paper"] if theirs else []
    rows = []
    for label in study.labels:
        r = found.get(label)
        head = Cell(label, f"head s{study.colour(label) % 8}")
        if r is None:
            rows.append([head, Cell(_state(study, label), "quiet wide")])
            continue
        k, digits, d = r.scale, 1 if r.metric == "accuracy" else 3, r.difference
        cells = [head, Cell(f"{number(k * r.mean, digits)} ±{number(k * r.interval, digits)}")]
        if d is None:
            cells += [Cell("baseline" if label == study.baseline else "–", "quiet"), Cell("–")]
        else:
            better = d.mean > 0 if r.metric == "accuracy" else d.mean < 0
            kind = ("good" if better else "bad") if d.excludes_zero else "quiet"
            text = f"{number(k * d.mean, digits, sign=True)} ±{number(k * d.interval, digits)}"
            cells += [Cell(text, kind), Cell(p_text(d.p_value), kind)]
        cost = spent.get(label)
        cells += [
            Cell(number(k * r.worst_tenth, digits)),
            Cell(seconds_text(cost.seconds if cost else None)),
            Cell(f"{number(cost.overhead, 2)}×" if cost and cost.overhead else "–"),
        ]
        if wrong:
            cells.append(Cell(_weight_ratio(study, label)))
        if theirs:
            figure = theirs.get(label_method(study, label))
            cells.append(Cell(f"{figure[0]:.2f} ±{figure[1]:.2f}" if figure else "–", "quiet"))
        rows.append(cells)
    tasks = next((r.tasks for r in found.values()), 0)
    note = f"{tasks} test tasks of {test}. Worst tenth: mean over the worst tenth of the tasks. "
    note += "Overhead: seconds a step over the baseline's in the same comparison."
    if differs:
        words = "; ".join(map(str, differs))
        note += f" Not the paper's setting, so its figures are not beside these: {words}."
    return Table(f"Results on {test}", columns, rows, note)


def _state(study: Study, label: str) -> str:
    runs = study.runs[label]
    if not any(run.steps for run in runs):
        return "not run yet"
    run = runs[0]
    last = ""
    if run.checks:
        last = f", last validation {score_text(run.checks[-1].score, run.checks[-1].metric)}"
    return f"running: step {run.steps} of {run.asked_steps or '?'}{last}"


def _weight_ratio(study: Study, label: str) -> str:
    ratios = [
        run.summary.weight_by_label.ratio
        for run in study.runs[label]
        if run.summary and run.summary.weight_by_label
    ]
    return f"{sum(ratios) / len(ratios):.2f} : 1" if ratios else "–"
