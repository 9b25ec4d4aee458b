"""The section on the weights over training: of clean and wrong labels, and of each group."""

from collections.abc import Sequence

import numpy as np

from towpath.reports.blocks import Block, Figure, Figures, Legend, Note, Section
from towpath.reports.charts.heat import HeatRow, heat_map
from towpath.reports.charts.lines import Axes, Line, direct_labels
from towpath.reports.charts.lines import line_chart as draw_lines
from towpath.reports.charts.series import Band, pooled
from towpath.reports.charts.svg import Words
from towpath.runs.run_data import RunData
from towpath.runs.smoothing import moving_average
from towpath.runs.study import Study

COLUMNS = 48
"""columns of a heat map, where there are enough tasks"""
TASKS_A_CELL = 8
"""smallest number of tasks of a cell; with fewer the map shows mostly noise"""
ROWS = 30
NAMED = 3
"""number of groups named at each end of the lines"""
CLEAN, WRONG = 2, 4
"""colours of clean and of mislabelled tasks"""


def weights_section(study: Study) -> Section:
    """Make the section on weights over training, by label and by group of tasks."""
    blocks: list[Block] = []
    own = study.weighing
    if study.has_wrong_labels:
        figures = [_by_label(study, label) for label in study.labels]
        blocks.append(Figures([f for f in figures if f.svg]))
    for label in own:
        figures = [f for f in (_group_map(study, label), _group_lines(study, label)) if f.svg]
        if figures:
            blocks.append(Figures(figures))
    if not any(run.deviations for run in study.all):
        blocks.append(Note("No mini-batch was trained on yet, so there are no weights.", "missing"))
    elif not own:
        blocks.append(Note("Every task had the same weight throughout."))
    elif not any(len(run.groups) > 1 for run in study.all):
        blocks.append(Note("The tasks name no groups, so weights cannot be shown by group."))
    return Section(
        "weights",
        "Which tasks were trusted",
        "A weight of 1 is the mean of the mini-batch: what uniform weighting gives everyone. "
        "Colours and lines show how far from it a weighter moved.",
        blocks,
    )


def _by_label(study: Study, label: str) -> Figure:
    lines = []
    wrong = study.wrong_word
    for name, colour, attribute in (("clean", CLEAN, "clean"), (wrong, WRONG, "wrong")):
        series = [getattr(run, attribute) for run in study.seeds(label)]
        bands = pooled(series)
        lines.append(Line("", colour, [(b.x, b.mean) for b in bands], (), "faint"))
        smooth = moving_average([(b.x, b.mean) for b in bands])
        lines.append(Line(name, colour, smooth))
    ends = "; ".join(f"{ln.label} {ln.points[-1][1]:.2f}" for ln in lines if ln.label and ln.points)
    svg = draw_lines(
        Words(f"{study.name}-labels-{study.colour(label)}", f"{label}: weight by label", ends),
        Axes("step", "weight (1 = uniform)", include_y=(0.0, 1.6), references=((1.0, ""),)),
        lines,
    )
    return Figure(f"{label}: clean against {wrong} tasks", svg, f"At the end: {ends}.")


def _binned(
    runs: Sequence[RunData], columns: int
) -> tuple[list[float], dict[str, list[Band | None]]]:
    """Return edges of equal parts of the steps, and each group's mean relative weight in them."""
    last = max((run.steps for run in runs), default=0)
    names = {g for run in runs for g in run.groups}
    tasks = sum(len(steps) for run in runs for steps, _ in run.groups.values())
    enough = max(12, tasks // max(1, TASKS_A_CELL * len(names)))
    count = max(1, min(columns, last, enough))
    edges = np.linspace(0.5, last + 0.5, count + 1)
    groups: dict[str, list[Band | None]] = {}
    for name in sorted(names):
        steps = np.concatenate(
            [np.asarray(run.groups[name][0]) for run in runs if name in run.groups]
        )
        values = np.concatenate(
            [np.asarray(run.groups[name][1]) for run in runs if name in run.groups]
        )
        place = np.clip(np.searchsorted(edges, steps) - 1, 0, count - 1)
        counts = np.bincount(place, minlength=count)
        sums = np.bincount(place, weights=values, minlength=count)
        groups[name] = [
            Band(float(edges[i] + edges[i + 1]) / 2, m := float(sums[i] / counts[i]), m, m)
            if counts[i]
            else None
            for i in range(count)
        ]
    return edges.tolist(), groups


def _means(runs: Sequence[RunData]) -> dict[str, tuple[float, int]]:
    """Return mean relative weight and number of tasks of each group, the largest weight first."""
    found: dict[str, tuple[float, int]] = {}
    for name in sorted({g for run in runs for g in run.groups}):
        values = np.concatenate(
            [np.asarray(run.groups[name][1]) for run in runs if name in run.groups]
        )
        found[name] = (float(values.mean()), len(values))
    return dict(sorted(found.items(), key=lambda item: (-item[1][0], item[0])))


def _group_map(study: Study, label: str) -> Figure:
    runs = study.seeds(label)
    means = _means(runs)
    if len(means) < 2:
        return Figure("", "")
    half = ROWS // 2
    names = list(means)
    shown = names if len(names) <= ROWS else [*names[:half], *names[-half:]]
    edges, cells = _binned(runs, COLUMNS)
    rows = [
        HeatRow(
            name,
            [None if band is None else band.mean for band in cells[name]],
            f"mean {means[name][0]:.2f} over {means[name][1]} tasks",
        )
        for name in shown
    ]
    said = f"{names[0]} got most ({means[names[0]][0]:.2f} of the mean), {names[-1]} least "
    said += f"({means[names[-1]][0]:.2f})."
    left = "" if len(shown) == len(names) else f" The {len(shown)} most extreme of {len(names)}."
    svg = heat_map(
        Words(f"{study.name}-groups-{study.colour(label)}", f"{label}: weight by group", said),
        "step",
        edges,
        rows,
    )
    return Figure(f"{label}: weight of each group of tasks", svg, said + left, heat=True)


def _group_lines(study: Study, label: str) -> Figure:
    runs = study.seeds(label)
    means = _means(runs)
    if len(means) < 2:
        return Figure("", "")
    names = list(means)
    edge = NAMED if len(names) > 2 * NAMED else max(1, len(names) // 2)
    named = [*names[:edge], *(n for n in names[-edge:] if n not in names[:edge])]
    _, cells = _binned(runs, COLUMNS)
    lines = []
    for name in (*(n for n in names if n not in named), *named):
        points = moving_average([(b.x, b.mean) for b in cells[name] if b])
        if name in named:
            lines.append(Line(name, named.index(name), points))
        else:
            lines.append(Line("", -1, points, (), "faint"))
    said = "; ".join(f"{name} {means[name][0]:.2f}" for name in named)
    svg = draw_lines(
        Words(f"{study.name}-lines-{study.colour(label)}", f"{label}: groups over time", said),
        Axes("step", "weight (1 = uniform), moving average", references=((1.0, ""),)),
        lines,
    )
    drawn = [line for line in lines if line.label]
    legend = () if direct_labels(drawn) else [Legend(ln.label, ln.colour) for ln in drawn]
    note = (
        f"Mean over training: {said}. Grey: the other groups." if len(names) > len(named) else said
    )
    return Figure(f"{label}: the most and the least trusted groups", svg, note, legend)
