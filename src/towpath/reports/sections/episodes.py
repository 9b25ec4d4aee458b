"""The section on sample episodes: the most and the least trusted tasks of the last window."""

from dataclasses import dataclass

from towpath.data.noise.damage import mostly_wrong
from towpath.reports.blocks import Block, Cell, Note, Section, Table
from towpath.reports.number_text import number
from towpath.runs.records import TaskInfo
from towpath.runs.run_data import RunData
from towpath.runs.study import Study


def episodes_section(study: Study) -> Section:
    """Make the section on the tasks of the last window, ordered by weight."""
    blocks: list[Block] = []
    for label in study.weighing:
        run = next((run for run in study.seeds(label) if run.last), None)
        if run is not None:
            blocks.append(_sample_table(label, run))
    if not blocks:
        blocks.append(Note("No weighter gave different weights to different tasks.", "quiet"))
    return Section(
        "episodes",
        "Sample episodes and their weights",
        "Tasks of the last window that was trained on: those with the largest and the smallest "
        "weights. Loss and accuracy are the query set's, before the step.",
        blocks,
    )


@dataclass(frozen=True)
class Sample:
    """A task of the last window, with its weight multiplied by M."""

    step: int
    weight: float
    task: TaskInfo
    loss: float | None
    accuracy: float | None


def _samples(run: RunData) -> list[Sample]:
    """Return the tasks of the last window, the largest weight first."""
    samples = []
    for record in run.last:
        M = len(record.weights)
        known = record.accuracies or [None] * M
        rows = zip(record.weights, record.tasks, record.losses, known, strict=True)
        samples += [
            Sample(record.step, weight * M, task, loss, accuracy)
            for weight, task, loss, accuracy in rows
        ]
    return sorted(samples, key=lambda sample: -sample.weight)


def _sample_table(label: str, run: RunData) -> Table:
    samples = _samples(run)
    picks = samples if len(samples) <= 8 else [*samples[:4], *samples[-4:]]
    top = max(pick.weight for pick in picks) or 1.0
    flagged = any(mostly_wrong(pick.task) for pick in picks)
    rows = []
    for pick in picks:
        names = pick.task.get("classes")
        classes = names if isinstance(names, list) else ()
        cells = [
            Cell(f"{pick.weight:.2f}", "", min(1.0, pick.weight / top)),
            Cell(str(pick.task.get("group") or "–"), "text"),
            Cell(", ".join(str(c).rpartition("/")[2] for c in classes) or "–", "quiet text"),
        ]
        if flagged:
            wrong = "off target" if pick.task.get("off_target") else "wrong"
            bad = mostly_wrong(pick.task)
            cells.append(Cell(wrong if bad else "clean", "bad" if bad else "good"))
        percent = f"{100 * pick.accuracy:.0f} %" if pick.accuracy is not None else "–"
        cells += [Cell(number(pick.loss, 2)), Cell(percent), Cell(str(pick.step), "quiet")]
        rows.append(cells)
    columns = ["weight (1 = uniform)", "group", "classes", *(["labels"] if flagged else [])]
    columns += ["loss", "accuracy", "step"]
    return Table(f"{label}, seed {run.seed}", columns, rows)
