"""The section on probes: how the weights of the same few tasks change over training."""

from towpath.reports.blocks import Block, Figure, Figures, Note, Section
from towpath.reports.charts.heat import HeatRow, heat_map
from towpath.reports.charts.lines import Axes, Line
from towpath.reports.charts.lines import line_chart as draw_lines
from towpath.reports.charts.svg import Words
from towpath.runs.records import ProbeRecord
from towpath.runs.study import Study


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
