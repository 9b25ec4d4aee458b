"""Sections on the weights: by label, by group, and on fixed tasks."""

from collections.abc import Sequence

import numpy as np

from towpath.reports.blocks import Block, Figure, Figures, Legend, Note, Section
from towpath.reports.charts.series import Band, pooled
from towpath.reports.charts.svg import Axes, HeatRow, Line, Words, direct_labels, heat_map
from towpath.reports.charts.svg import line_chart as draw_lines
from towpath.runs.read import RunData
from towpath.runs.records import ProbeRecord
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


def weighing(study: Study) -> list[str]:
    """Return the labels of weighters that gave tasks of a mini-batch different weights."""
    return [label for label in study.labels if any(run.weighs for run in study.runs[label])]


def weights_section(study: Study) -> Section:
    """Make the section on weights over training, by label and by group of tasks."""
    blocks: list[Block] = []
    own = weighing(study)
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


def probes_section(study: Study) -> Section:
    """Make the section on probes: fixed windows planned repeatedly and never learnt from."""
    blocks: list[Block] = []
    for label in study.labels:
        for run in study.seeds(label)[:1]:
            for name, lines in run.probes.items():
                blocks.append(Figures(probe_figures(study, label, name, lines)))
    if not blocks:
        text = "No probe windows were asked for (recipes name them under probes)."
        blocks.append(Note(text, "quiet"))
    return Section(
        "probes",
        "Weights of fixed tasks",
        "A probe is a window of fixed tasks that is planned every so often at the current "
        "parameters and then discarded: how the weight of the same task changes. The run's "
        "own TOW plans it, or plain TOW where the run follows a rule or plans towards targets.",
        blocks,
    )


def probe_figures(study: Study, label: str, name: str, lines: list[ProbeRecord]) -> list[Figure]:
    """Draw a heat map of all tasks, and the weights of the first mini-batch as lines.

    Args:
        study: the study that the figures belong to.
        label: label of the weighter.
        name: name of the probe.
        lines: records of the probe, one for each step.
    """
    steps = [line.step for line in lines]
    ends = [*(float(s) for s in steps), steps[-1] + (steps[-1] - steps[0]) / max(1, len(steps) - 1)]
    if len(set(ends)) < 2:
        ends = [float(steps[0]), steps[0] + 1.0]
    rows = []
    T, M = len(lines[0].weights), len(lines[0].weights[0])
    for t in range(T):
        for i in range(M):
            group = lines[0].tasks[t][i].get("group") or "task"
            cells = [line.weights[t][i] * M for line in lines]
            rows.append(HeatRow(f"{t + 1}.{i + 1} {group}", cells))
    slug = "".join(c if c.isalnum() else "-" for c in name)
    key = f"{study.name}-probe-{study.colour(label)}-{slug}"
    first = [
        Line(f"task {i + 1}", i, [(float(line.step), line.weights[0][i] * M) for line in lines])
        for i in range(min(M, 8))
    ]
    mean = [sum(map(sum, line.weights)) / T for line in lines]
    said = f"sum of a mini-batch's weights {mean[0]:.3f} at first, {mean[-1]:.3f} at the end"
    return [
        Figure(
            f"{label}, probe {name}: every task",
            heat_map(Words(f"{key}-map", f"{label}, probe {name}", said), "step", ends, rows),
            f"Rows: mini-batch.task and its group. The {said}.",
            heat=True,
        ),
        Figure(
            f"{label}, probe {name}: the first mini-batch",
            draw_lines(
                Words(f"{key}-lines", f"{label}, probe {name}, first mini-batch", said),
                Axes("step", "weight times M (1 = uniform)", references=((1.0, ""),)),
                first,
            ),
        ),
    ]
