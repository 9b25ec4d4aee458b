"""Which training tasks the plan trusted least: a detector that comes for free with the weights.

A task's trust is its weight over its mini-batch's mean. Where it is known which tasks were
mislabelled on purpose, the area under the ROC curve says how well low trust finds them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table
from scipy.stats import rankdata


@dataclass(frozen=True)
class TrustedTask:
    """A training task and how far the plan trusted it."""

    step: int
    index: int
    trust: float
    group: str
    classes: tuple[str, ...]
    mislabelled: bool


@dataclass(frozen=True)
class Audit:
    """All weighed tasks of a stretch of training, least trusted first."""

    tasks: list[TrustedTask]
    first_step: int
    last_step: int

    @property
    def area_under_curve(self) -> float | None:
        """Chance that a mislabelled task is trusted less than a clean one; None if unknown."""
        bad = np.array([task.mislabelled for task in self.tasks])
        if not bad.any() or bad.all():
            return None
        ranks = rankdata([-task.trust for task in self.tasks])
        n_bad, n_good = int(bad.sum()), int((~bad).sum())
        return float((ranks[bad].sum() - n_bad * (n_bad + 1) / 2) / (n_bad * n_good))

    def by_group(self) -> list[tuple[str, float, int]]:
        """Group, mean trust, number of tasks; least trusted first."""
        groups: dict[str, list[float]] = {}
        for task in self.tasks:
            groups.setdefault(task.group or "(across groups)", []).append(task.trust)
        rows = [(name, float(np.mean(values)), len(values)) for name, values in groups.items()]
        return sorted(rows, key=lambda row: row[1])


def audit(records: Iterable[dict[str, Any]], last: int = 100) -> Audit | None:
    """The tasks of the last `last` steps of a run's records; None if nothing was weighed."""
    weighed = [r for r in records if "weights" in r and "probe" not in r][-last:]
    tasks: list[TrustedTask] = []
    for record in weighed:
        mean = sum(record["weights"]) / len(record["weights"])
        for weight, info in zip(record["weights"], record["tasks"], strict=True):
            if info.get("trusted"):  # known to be good: not what is judged
                continue
            tasks.append(
                TrustedTask(
                    step=record["step"],
                    index=int(info.get("index", -1)),
                    trust=weight / mean if mean else 0.0,
                    group=str(info.get("group", "")),
                    classes=tuple(str(c) for c in info.get("classes", ())),
                    mislabelled=bool(info.get("mislabelled", False)),
                )
            )
    if not tasks:
        return None
    tasks.sort(key=lambda task: task.trust)
    return Audit(tasks, weighed[0]["step"], weighed[-1]["step"])


def audit_table(result: Audit, rows: int) -> Table:
    """The least trusted tasks, for the terminal."""
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
        cells = [f"{task.trust:.2f}", str(task.step), str(task.index), task.group]
        cells.append(", ".join(task.classes))
        table.add_row(*cells, *(["yes" if task.mislabelled else "no"] if known else []))
    return table
