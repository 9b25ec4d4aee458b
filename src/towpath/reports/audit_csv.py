"""An audit as a CSV file to work through."""

import csv
import io

from towpath.reports.audit import Audit
from towpath.reports.ranking import Effect
from towpath.reports.redrawn import Redrawn
from towpath.runs.judged import JudgedTask
from towpath.wording import spreadsheet_cell

COLUMNS = (
    "kind",
    "rank",
    "name",
    "by",
    "value",
    "low",
    "high",
    "tasks",
    "suspect",
    "labels",
    "step",
    "index",
    "group",
    "files",
)
CSV_SIGNATURE = ",".join(COLUMNS).encode()
"""first line of a CSV file of ours, by which it is recognised"""


def audit_csv(result: Audit, drawn: Redrawn | None, tasks: int) -> bytes:
    """Return the audit as a CSV file: all classes, then all groups, then the most suspect tasks.

    Of a table with tasks, its tasks are in place of classes, and episodes in place of tasks.

    Args:
        result: the audit.
        drawn: the run's tasks drawn again, for the names of files; None where they are not there.
        tasks: how many tasks to list, at most.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    unit = result.words.unit
    for kind, ranked in ((unit, result.classes), ("group", result.groups)):
        for rank, effect in enumerate(ranked, 1):
            files = drawn.class_folder(effect.name) if drawn and kind == unit else ""
            writer.writerow(_effect_cells(result, kind, rank, effect, files))
    for rank, task in enumerate(result.tasks[:tasks], 1):
        writer.writerow(_task_cells(result, rank, task, drawn))
    return text.getvalue().encode("utf-8", "surrogateescape")  # names as the disk has them


def _effect_cells(result: Audit, kind: str, rank: int, effect: Effect, files: str) -> list[str]:
    figures = [f"{value:.4f}" for value in (effect.value, effect.low, effect.high)]
    suspect = "yes" if result.is_suspect(effect) else "not clear"
    name = spreadsheet_cell(effect.name)
    return [
        kind,
        str(rank),
        name,
        result.class_signal.name,
        *figures,
        str(effect.tasks),
        suspect,
        "",
        "",
        "",
        "",
        spreadsheet_cell(files),
    ]


def _task_cells(result: Audit, rank: int, task: JudgedTask, drawn: Redrawn | None) -> list[str]:
    own = drawn.task_files(task.info) if drawn else []
    files = "; ".join(file for part in own for file in (*part.support, *part.query))
    return [
        result.words.drawn,
        str(rank),
        spreadsheet_cell(", ".join(task.classes)),
        result.signal.name,
        f"{result.value(task):.4f}",
        "",
        "",
        "1",
        "",
        result.labels(task),
        str(task.step),
        str(task.index),
        spreadsheet_cell(task.group or ""),
        spreadsheet_cell(files),
    ]
