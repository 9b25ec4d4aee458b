"""Training tasks that the weights trusted least: weights as a detector of wrong labels.

A task's trust is its weight divided by the mean of its mini-batch. Where it is known which tasks
were mislabelled on purpose, the area under the ROC curve measures how well low trust finds them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from rich.table import Table

from towpath.metrics import area_under_curve
from towpath.runs.judged import JudgedTask, judged
from towpath.runs.records import Record, StepRecord


@dataclass(frozen=True)
class Audit:
    """All weighted tasks of some last steps of training, the least trusted first."""

    tasks: list[JudgedTask]
    first_step: int
    last_step: int

    @property
    def area_under_curve(self) -> float | None:
        """The chance that a mislabelled task is trusted less than a clean one; None if unknown."""
        bad = np.array([task.mislabelled for task in self.tasks])
        if not bad.any() or bad.all():
            return None
        return area_under_curve([-task.trust for task in self.tasks], bad)

    def by_group(self) -> list[tuple[str, float, int]]:
        """Return group, mean trust and number of tasks of each group, the least trusted first."""
        groups: dict[str, list[float]] = {}
        for task in self.tasks:
            groups.setdefault(task.group or "(across groups)", []).append(task.trust)
        rows = [(name, float(np.mean(values)), len(values)) for name, values in groups.items()]
        return sorted(rows, key=lambda row: row[1])


def audit(records: Iterable[Record], last: int = 100) -> Audit | None:
    """Audit the tasks of the last steps of a run.

    Args:
        records: the records of the run.
        last: number of steps to audit, counted from the end.

    Returns:
        the audit, or None if no task was weighted.
    """
    weighed = [record for record in records if isinstance(record, StepRecord)][-last:]
    tasks = [task for record in weighed for task in judged(record)]
    if not tasks:
        return None
    tasks.sort(key=lambda task: task.trust)
    return Audit(tasks, weighed[0].step, weighed[-1].step)


def audit_table(result: Audit, rows: int) -> Table:
    """Return the `rows` least trusted tasks as a table for the terminal."""
    known = result.area_under_curve is not None
    table = Table(
        title=f"Least trusted training tasks, steps {result.first_step} to {result.last_step}",
        title_justify="left",
    )
    for name in ("weight / mean", "step", "task", "group", "classes"):
        table.add_column(name)
    if known:
        table.add_column("mislabelled on purpose")
    for task in result.tasks[:rows]:
        cells = [f"{task.trust:.2f}", str(task.step), str(task.index), task.group or ""]
        cells.append(", ".join(task.classes))
        table.add_row(*cells, *(["yes" if task.mislabelled else "no"] if known else []))
    return table
