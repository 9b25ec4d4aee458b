"""The section on learning curves: validation by steps and by time, and the training loss."""

from towpath.metrics import ACCURACY, Metric
from towpath.reports.blocks import Block, Figure, Figures, Legend, Note, Section
from towpath.reports.charts.lines import Axes, Line, direct_labels
from towpath.reports.charts.lines import line_chart as draw_lines
from towpath.reports.charts.series import Band, over_seeds, pooled
from towpath.reports.charts.svg import Words
from towpath.runs.smoothing import ENOUGH_TO_SMOOTH, moving_average
from towpath.runs.study import Study


def curves_section(study: Study) -> Section:
    """Make the section on validation scores against steps and against time."""
    curves = [f for f in (curve_figure(study), curve_figure(study, clock=True)) if f.svg]
    figures = [f for f in (*curves, _loss_figure(study)) if f.svg]
    blocks: list[Block] = [Figures(figures)] if figures else []
    if not curves:
        blocks.insert(0, Note("No run has been validated yet.", "missing"))
    return Section(
        "curves",
        f"Validation {validation_metric(study).words} during training",
        "The same curves twice: by steps, which shows what each mini-batch taught, and by the "
        "clock, which charges each weighter for its planning.",
        blocks,
    )


def validation_metric(study: Study) -> Metric:
    """Return the main metric of a study's validations; accuracy where there is none yet."""
    return next((run.checks[0].metric for run in study.all if run.checks), ACCURACY)


def curve_figure(study: Study, clock: bool = False, title: str = "") -> Figure:
    """Draw the validation score of every weighter: mean over seeds, with its range.

    Args:
        study: the study to draw.
        clock: whether the axis shows time instead of steps.
        title: title of the figure; empty for the usual one.
    """
    lines, few, seeds = [], False, 0
    metric = validation_metric(study)
    for label in study.labels:
        runs = [run for run in study.seeds(label) if run.checks]
        if not runs:
            continue
        k = metric.scale
        seeds = max(seeds, len(runs))
        raw = [[(float(c.step), k * c.score) for c in run.checks] for run in runs]
        smooth = [moving_average(points) for points in raw]
        short = min(map(len, raw)) < ENOUGH_TO_SMOOTH
        few = few or short
        main, aside = over_seeds(smooth), over_seeds(raw)
        if short:
            main, aside = aside, main
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
    unit = f"{metric.words} on the validation tasks{' (%)' if metric.percent else ''}"
    name = f"{study.name}-curve-{'clock' if clock else 'steps'}"
    heading = title or ("By the clock" if clock else "By steps")
    ends = "; ".join(
        f"{ln.label} ends at {ln.points[-1][1]:.{metric.decimals}f}"
        for ln in lines
        if ln.label and ln.points
    )
    note = (
        f"Line: the validations themselves, fewer than {ENOUGH_TO_SMOOTH}; dashed: their moving "
        "average (0.1), which lags behind so few."
        if few
        else "Line: exponential moving average (0.1); faint: the validations themselves."
    )
    note += f" Band: lowest to highest of {seeds} seeds." if seeds > 1 else " One seed, so no band."
    words = Words(name, f"{study.title}: validation {metric.words}", ends)
    svg = draw_lines(words, Axes(x, unit), lines)
    named = direct_labels([line for line in lines if line.label])
    legend = () if named else [Legend(ln.label, ln.colour) for ln in lines if ln.label]
    return Figure(heading, svg, note, legend)


def pooled_bands(bands: list[Band]) -> list[Band]:
    """Return the bands, pooled where there are too many to draw."""
    if len(bands) <= 300:
        return bands
    return pooled([[(b.x, b.mean) for b in bands]])


def _on_clock(study: Study, label: str, bands: list[Band]) -> list[Band]:
    """Return the bands at the mean time at which the seeds reached each step."""
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
