"""Sections on how it came out: results, curves, how soon, how long."""

from towpath.reports.blocks import (
    Block,
    Cell,
    Figure,
    Figures,
    Legend,
    Note,
    Section,
    Table,
    number,
    p_text,
    score_text,
    seconds_text,
)
from towpath.reports.charts.series import Band, over_seeds, pooled
from towpath.reports.charts.svg import Axes, Interval, Line, Words, direct_labels, interval_chart
from towpath.reports.charts.svg import line_chart as draw_lines
from towpath.reports.reruns import label_method, study_differences
from towpath.reports.sections import paper
from towpath.runs.results import WeighterResult, costs, reached, results, test_sets
from towpath.runs.smoothing import ENOUGH_TO_SMOOTH, moving_average
from towpath.runs.study import Study

UNITS = {"accuracy": "accuracy (%)", "loss": "loss"}


def finding(study: Study) -> str:
    """The outcome in a sentence."""
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
    """Final accuracy of every weighter, and its paired difference to the baseline."""
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


def curves_section(study: Study) -> Section:
    """Validation against steps and against the clock."""
    curves = [f for f in (curve_figure(study), curve_figure(study, clock=True)) if f.svg]
    figures = [f for f in (*curves, _loss_figure(study)) if f.svg]
    blocks: list[Block] = [Figures(figures)] if figures else []
    if not curves:
        blocks.insert(0, Note("No run has been validated yet.", "missing"))
    return Section(
        "curves",
        "Validation accuracy during training",
        "The same curves twice: by steps, which shows what each mini-batch taught, and by the "
        "clock, which charges each weighter for its planning.",
        blocks,
    )


def curve_figure(study: Study, clock: bool = False, title: str = "") -> Figure:
    """Validation score of every weighter: mean over seeds, band from lowest to highest."""
    lines, few, seeds = [], False, 0
    metric = "accuracy"
    for label in study.labels:
        runs = [run for run in study.seeds(label) if run.checks]
        if not runs:
            continue
        metric = runs[0].checks[0].metric
        k = 100.0 if metric == "accuracy" else 1.0
        seeds = max(seeds, len(runs))
        raw = [[(float(c.step), k * c.score) for c in run.checks] for run in runs]
        smooth = [moving_average(points) for points in raw]
        short = min(map(len, raw)) < ENOUGH_TO_SMOOTH
        few = few or short
        main, aside = (over_seeds(raw), over_seeds(smooth))[:: 1 if short else -1]
        if clock:
            main, aside = _on_clock(study, label, main), _on_clock(study, label, aside)
        colour = study.colour(label)
        band = [(b.x, b.low, b.high) for b in main] if len(runs) > 1 else []
        style = "dashed" if short else "faint"
        lines.append(Line("", colour, [(b.x, b.mean) for b in pooled_bands(aside)], (), style))
        lines.append(
            Line(label, colour, [(b.x, b.mean) for b in pooled_bands(main)], band, dots=short)
        )
    x = "training time without validations (seconds)" if clock else "step (mini-batches)"
    unit = "accuracy on the validation tasks (%)" if metric == "accuracy" else "validation loss"
    name = f"{study.name}-curve-{'clock' if clock else 'steps'}"
    heading = title or ("By the clock" if clock else "By steps")
    ends = "; ".join(
        f"{ln.label} ends at {ln.points[-1][1]:.1f}" for ln in lines if ln.label and ln.points
    )
    note = (
        f"Line: the validations themselves, fewer than {ENOUGH_TO_SMOOTH}; dashed: their moving "
        "average (0.1), which lags behind so few."
        if few
        else "Line: exponential moving average (0.1); faint: the validations themselves."
    )
    note += f" Band: lowest to highest of {seeds} seeds." if seeds > 1 else " One seed, so no band."
    svg = draw_lines(Words(name, f"{study.title}: validation {metric}", ends), Axes(x, unit), lines)
    named = direct_labels([line for line in lines if line.label])
    legend = () if named else [Legend(ln.label, ln.colour) for ln in lines if ln.label]
    return Figure(heading, svg, note, legend)


def pooled_bands(bands: list[Band]) -> list[Band]:
    """Few enough to draw."""
    if len(bands) <= 300:
        return bands
    return pooled([[(b.x, b.mean) for b in bands]])


def _on_clock(study: Study, label: str, bands: list[Band]) -> list[Band]:
    """The same points at the mean time at which the seeds were there."""
    times: dict[float, list[float]] = {}
    for run in study.seeds(label):
        for check in run.checks:
            if check.seconds is not None:
                times.setdefault(float(check.step), []).append(check.seconds)
    return [
        Band(sum(times[b.x]) / len(times[b.x]), b.mean, b.low, b.high)
        for b in bands
        if b.x in times
    ]


def _loss_figure(study: Study) -> Figure:
    lines = []
    for label in study.labels:
        bands = pooled([run.losses for run in study.seeds(label)], 150)
        smooth = moving_average([(b.x, b.mean) for b in bands])
        lines.append(Line(label, study.colour(label), smooth))
    ends = "; ".join(f"{ln.label} ends at {ln.points[-1][1]:.3g}" for ln in lines if ln.points)
    svg = draw_lines(
        Words(f"{study.name}-loss", f"{study.title}: training loss", ends),
        Axes("step (mini-batches)", "mean query loss of the mini-batch, before its step"),
        lines,
    )
    note = "Moving average (0.1) of the unweighted mean, so that weighters can be compared."
    named = direct_labels([line for line in lines if line.points])
    legend = () if named else [Legend(ln.label, ln.colour) for ln in lines if ln.points]
    return Figure("Training loss", svg, note, legend)


def reached_section(study: Study) -> Section:
    """The paper's claim of fewer iterations."""
    targets, found = reached(study)
    lead = (
        f"The paper claims fewer iterations. Here: when did each weighter first reach the "
        f"validation accuracy that {study.baseline} had at its end?"
    )
    if not targets:
        absent = Note(f"{study.baseline} has no validation yet, so there is no goal.", "missing")
        return Section("reached", "How soon it gets there", lead, [absent])
    rows = []
    for label in study.labels:
        r, head = found.get(label), Cell(label, f"head s{study.colour(label) % 8}")
        if r is None:
            rows.append([head, Cell("no validation yet", "quiet wide")])
        elif not r.reached:
            rows.append([head, Cell(f"not reached by any of {r.seeds} seed(s)", "bad wide")])
        else:
            good = r.steps_ratio < 1 and label != study.baseline
            rows.append(
                [
                    head,
                    Cell(number(r.steps, 0)),
                    Cell(f"{100 * r.steps_ratio:.0f} %", "good" if good else ""),
                    Cell(number(r.tasks, 0)),
                    Cell(seconds_text(r.seconds)),
                    Cell(f"{100 * r.seconds_ratio:.0f} %" if r.seconds_ratio else "–"),
                    Cell(f"{r.reached} of {r.seeds}"),
                ]
            )
    metric = next(run.checks[0].metric for run in study.all if run.checks)
    goal = ", ".join(score_text(t, metric) for t in targets.values())
    unfinished = not all(run.finished for run in study.runs[study.baseline])
    note = f"Goal: {goal}, {study.baseline}'s last validation"
    note += " so far (it is not finished)." if unfinished else "."
    note += " Only validated steps can be told apart. Tasks: those trained on, trusted ones that a "
    note += "weighter trains on among them."
    columns = ["weighter", "steps", f"of {study.baseline}'s steps", "tasks", "training"]
    columns += [f"of {study.baseline}'s time", "seeds there"]
    table = Table(f"Until {study.baseline}'s final accuracy", columns, rows, note)
    return Section("reached", "How soon it gets there", lead, [table])


def time_section(study: Study) -> Section:
    """Running time."""
    spent = costs(study)
    hours = paper.TABLE_2.get(study.title, {}) if study_differences(study) == () else {}
    if not spent:
        return Section("time", "Running time", "", [Note("No step was timed yet.", "missing")])
    top = max(cost.per_step for cost in spent.values())
    columns = ["weighter", "seconds a step", "over baseline", "training", "steps"]
    columns += [
        "gradient evaluations",
        *(["paper: GPU hours", "paper: over uniform"] if hours else []),
    ]
    rows = []
    for label in study.labels:
        cost, head = spent.get(label), Cell(label, f"head s{study.colour(label) % 8}")
        if cost is None:
            rows.append([head, Cell("not run yet", "quiet wide")])
            continue
        cells = [
            head,
            Cell(number(cost.per_step, 3), "", cost.per_step / top),
            Cell(f"{number(cost.overhead, 2)}×" if cost.overhead else "–"),
            Cell(seconds_text(cost.seconds) + ("" if cost.finished else " so far")),
            Cell(number(cost.steps, 0)),
            Cell(number(cost.evaluations, 0)),
        ]
        if hours:
            own = hours.get(label_method(study, label))
            cells.append(Cell(f"{own:.2f}" if own else "–", "quiet"))
            cells.append(Cell(f"{own / hours['uniform']:.2f}×" if own else "–", "quiet"))
        rows.append(cells)
    note = (
        "Mean over seeds. A gradient evaluation is one pass over a mini-batch's tasks for losses "
        "and gradients; validations and tests are not counted. Clock figures come from the machine "
        "that trained, with whatever else it was doing."
    )
    return Section("time", "Running time", "", [Table("Running time", columns, rows, note)])
