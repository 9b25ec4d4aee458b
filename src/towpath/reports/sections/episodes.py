"""The section on sample episodes: the most and the least trusted tasks of the last window."""

from collections.abc import Callable
from dataclasses import dataclass

from towpath.data.noise.damage import mostly_wrong
from towpath.reports.audit import labels_known
from towpath.reports.blocks import Block, Cell, Note, Picture, Section, Table
from towpath.reports.number_text import number
from towpath.reports.redrawn import Redrawn
from towpath.runs.judged import class_groups, recorded_classes
from towpath.runs.records import TaskInfo
from towpath.runs.run_data import RunData
from towpath.runs.study import Study

ROWS = 8
PICTURES = 4
"""how many of the tasks in the table are drawn, from both of its ends"""

Redraw = Callable[[RunData], "Redrawn | str"]
"""draws the tasks of a run again, or says in a sentence why that is not possible"""


def episodes_section(study: Study, redraw: Redraw) -> Section:
    """Make the section on the tasks of the last window, ordered by weight.

    Args:
        study: the study.
        redraw: draws the tasks of a run again, for pictures of them.
    """
    blocks: list[Block] = []
    for label in study.weighing:
        run = next((run for run in study.seeds(label) if run.last), None)
        if run is not None:
            picks = _ends(_samples(run), ROWS)
            blocks += [_sample_table(label, run, picks), *_pictures(label, run, picks, redraw)]
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

    @property
    def is_trusted(self) -> bool:
        """Whether it is one of the tasks that were known to be right beforehand."""
        return bool(self.task.get("trusted"))

    @property
    def classes(self) -> str:
        """The names of its classes, without their group."""
        named = zip(recorded_classes(self.task), class_groups(self.task), strict=True)
        return ", ".join(name.removeprefix(f"{group}/") for name, group in named)

    def labels(self, known: bool) -> str:
        """Return what is known of its labels.

        Args:
            known: whether labels that nobody corrupted on purpose are known to be right.
        """
        if self.is_trusted:
            return "trusted"
        if mostly_wrong(self.task):
            return "off target" if self.task.get("off_target") else "wrong"
        return "clean" if known else "unknown"


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


def _ends(samples: list[Sample], count: int) -> list[Sample]:
    """Return as many samples from both ends of the list, in its order."""
    half = count // 2
    return samples if len(samples) <= count else [*samples[:half], *samples[-half:]]


GOOD, BAD = ("trusted", "clean"), ("wrong", "off target")
"""what may be known of a task, by how it is highlighted"""


def _labels_known(run: RunData) -> bool:
    return run.recipe is not None and labels_known(run.recipe)


def _sample_table(label: str, run: RunData, picks: list[Sample]) -> Table:
    top = max(pick.weight for pick in picks) or 1.0
    told = any(pick.is_trusted or mostly_wrong(pick.task) for pick in picks)
    rows = []
    for pick in picks:
        cells = [
            Cell(f"{pick.weight:.2f}", "", min(1.0, pick.weight / top)),
            Cell(str(pick.task.get("group") or "–"), "text"),
            Cell(pick.classes or "–", "quiet text"),
        ]
        if told:
            labels = pick.labels(_labels_known(run))
            kind = "good" if labels in GOOD else "bad" if labels in BAD else "quiet"
            cells.append(Cell(labels, kind))
        percent = f"{100 * pick.accuracy:.0f} %" if pick.accuracy is not None else "–"
        cells += [Cell(number(pick.loss, 2)), Cell(percent), Cell(str(pick.step), "quiet")]
        rows.append(cells)
    columns = ["weight (1 = uniform)", "group", "classes", *(["labels"] if told else [])]
    columns += ["loss", "accuracy", "step"]
    return Table(f"{label}, seed {run.seed}", columns, rows)


def _pictures(label: str, run: RunData, picks: list[Sample], redraw: Redraw) -> list[Block]:
    """Return pictures of the tasks with the largest and the smallest weights."""
    drawn = redraw(run)
    if isinstance(drawn, str):
        return [Note(f"{label}: no pictures, because {drawn}", "quiet")]
    blocks: list[Block] = []
    for pick in _ends(picks, PICTURES):
        content = drawn.picture(pick.task)
        if content:
            what = pick.labels(_labels_known(run))
            known = what if pick.is_trusted else f"labels {what}"
            title = f"{label}: weight {pick.weight:.2f}, {known}"
            blocks.append(Picture.of(title, content))
    return blocks
