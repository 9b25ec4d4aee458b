"""The section on results: test scores, and paired differences from the baseline."""

from towpath.metrics import ACCURACY, Metric
from towpath.reports.blocks import Block, Cell, Figure, Figures, Note, Section, Table
from towpath.reports.charts.intervals import Interval, interval_chart
from towpath.reports.charts.svg import Words
from towpath.reports.methods import label_method
from towpath.reports.number_text import figure_text, interval_text, number, p_text, score_text
from towpath.reports.reruns import study_differences
from towpath.reports.sections import paper
from towpath.runs.advice import LEVEL, Candidate, Setting, advised, correction_words
from towpath.runs.costs import costs
from towpath.runs.results import WeighterResult, other_metrics, results, test_sets
from towpath.runs.study import Study
from towpath.wording import seconds_text


def finding(study: Study) -> str:
    """Return the advice of a comparison, or one sentence on a study without one."""
    for test in test_sets(study)[:1]:
        found = results(study, test)
        base = found.get(study.baseline)
        candidates = [
            Candidate(r.label, r.difference, r.paired_seeds, r.ahead)
            for r in found.values()
            if r.difference is not None
        ]
        if base is not None:
            setting = Setting(study.baseline, test, base.metric, base.tasks)
            advice = advised(candidates, setting)
            if advice is not None:
                return advice.sentence()
    return _alone(study)


def _alone(study: Study) -> str:
    """Return one sentence on a study in which nothing can be compared."""
    for test in test_sets(study)[:1]:
        found = list(results(study, test).values())
        if len(found) == 1 and len(study.labels) == 1:
            r, seeds = found[0], len(found[0].by_seed)
            name = " %" if r.metric.percent else f" ({r.metric.words})"
            return (
                f"{r.label} comes to {interval_text(r.mean, r.interval, r.metric)}{name} on "
                f"{test}, over {r.tasks} test tasks and {seeds} seed{'s' if seeds != 1 else ''}."
            )
    return "There is nothing to compare yet."


def _gain(r: WeighterResult) -> float:
    """Return how much better than the baseline a result is: negative where it is worse."""
    return r.metric.goodness(r.difference.mean) if r.difference else 0.0


def results_section(study: Study) -> Section:
    """Make the section on test scores and paired differences from the baseline."""
    blocks: list[Block] = []
    for test in test_sets(study):
        found = results(study, test)
        blocks += [_interval_figures(study, test, found), _results_table(study, test, found)]
        if others := other_metrics(study, test):
            blocks.append(_others_table(study, test, others))
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
        k, colour = r.metric.scale, study.colour(r.label)
        text = interval_text(r.mean, r.interval, r.metric)
        singles = [k * v for v in r.by_seed]
        rows.append(Interval(r.label, colour, k * r.mean, k * r.interval, singles, text))
        if r.difference:
            d = r.difference
            text = interval_text(d.mean, d.interval, r.metric, sign=True)
            differences.append(Interval(r.label, colour, k * d.mean, k * d.interval, (), text))
    metric = _metric(found)
    name = f"{study.name}-results-{_slug(test)}"
    title = f"Test {metric.words} on {test}"
    chart = interval_chart(Words(name, title, _spoken(rows)), f"test {metric.heading}", rows)
    figures = [Figure(title, chart)]
    if differences:
        better = "right of the line is better" if metric.larger_is_better else "left is better"
        points = "percentage points" if metric.percent else metric.words
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


def _metric(found: dict[str, WeighterResult]) -> Metric:
    """Return the metric of the results; accuracy where there are none yet."""
    return next((r.metric for r in found.values()), ACCURACY)


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
    metric = _metric(found)
    columns = ["weighter", metric.heading, f"minus {study.baseline}", "p-value", "worst tenth"]
    columns += ["training", "overhead", *(["wrong : clean weight"] if wrong else [])]
    columns += ["in the paper"] if theirs else []
    rows = []
    for label in study.labels:
        r = found.get(label)
        head = Cell(label, f"head s{study.colour(label) % 8}")
        if r is None:
            rows.append([head, Cell(_state(study, label), "quiet wide")])
            continue
        cells = [head, *_compared_cells(study, r)]
        cost = spent.get(label)
        cells += [
            Cell(figure_text(r.worst_tenth, r.metric)),
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
    note += _p_values(found) + _left_out(list(found.values())[:1])
    if differs:
        words = "; ".join(map(str, differs))
        note += f" Not the paper's setting, so its figures are not beside these: {words}."
    return Table(f"Results on {test}", columns, rows, note)


def _compared_cells(study: Study, r: WeighterResult) -> list[Cell]:
    """Return the cells of a mean, of its difference from the baseline and of the p-value."""
    mean, d = Cell(interval_text(r.mean, r.interval, r.metric)), r.difference
    if d is None:
        return [mean, Cell("baseline" if r.label == study.baseline else "–", "quiet"), Cell("–")]
    kind = ("good" if _gain(r) > 0 else "bad") if r.chance <= LEVEL else "quiet"
    text = interval_text(d.mean, d.interval, r.metric, sign=True)
    return [mean, Cell(text, kind), Cell(p_text(r.chance), kind)]


def _others_table(study: Study, test: str, metrics: list[Metric]) -> Table:
    """Return the table of the metrics beside the main one: a block of rows for each of them."""
    rows, told, corrected = [], [], ""
    for metric in metrics:
        found = results(study, test, metric)
        told += list(found.values())[:1]
        corrected = _p_values(found)
        for label, r in found.items():
            head = Cell(label, f"head s{study.colour(label) % 8}")
            worst = Cell(figure_text(r.worst_tenth, metric))
            rows.append([head, Cell(metric.heading, "text"), *_compared_cells(study, r), worst])
    columns = ["weighter", "metric", "mean", f"minus {study.baseline}", "p-value", "worst tenth"]
    smaller = [metric.words for metric in metrics if not metric.larger_is_better]
    note = f"Smaller is better for {' and '.join(smaller)}." if smaller else ""
    return Table(
        f"Other metrics on {test}", columns, rows, f"{note}{corrected}{_left_out(told)}".strip()
    )


def _p_values(found: dict[str, WeighterResult]) -> str:
    """Return a sentence on p-values that are corrected for their number; empty for a single one."""
    words = correction_words([label for label, r in found.items() if r.difference is not None])
    return words and f" p-values are those{words}; differences with one above {LEVEL:g} are grey."


def _left_out(told: list[WeighterResult]) -> str:
    """Return sentences on the tasks that are left out of metrics; empty where none are."""
    return "".join(
        f" {r.left_out} of the {r.tasks} tasks are left out of {r.metric.words}, where it is "
        f"undefined: {r.metric.undefined_where}."
        for r in told
        if r.left_out
    )


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
