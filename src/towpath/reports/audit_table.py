"""An audit as tables for the terminal, and as a CSV file to work through."""

import csv
import io
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from towpath.reports.audit import Audit, class_names
from towpath.reports.audit_words import AuditWords
from towpath.reports.number_text import number
from towpath.reports.ranking import Effect
from towpath.reports.redrawn import Redrawn
from towpath.runs.judged import JudgedTask
from towpath.wording import printable, spreadsheet_cell

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


def effects_table(result: Audit, ranked: Sequence[Effect], rows: int, what: str) -> Table:
    """Return the most suspect classes, tasks of a table or groups as a table for the terminal.

    Args:
        result: the audit.
        ranked: its classes or its groups, the most suspect first.
        rows: how many to list, at most.
        what: the heading of their names, such as "class".
    """
    steps, drawn = f"steps {result.first_step} to {result.last_step}", result.words.drawn
    table = Table(
        title=f"Which {what} to check first: {result.class_signal.words}, {steps}",
        title_justify="left",
    )
    for name in (what, result.class_signal.column, "95% interval", f"{drawn}s", "suspect"):
        table.add_column(name, overflow="fold")
    for effect in ranked[:rows]:
        table.add_row(
            _plain(effect.name),
            f"{effect.value:.2f}",
            f"{effect.low:.2f} to {effect.high:.2f}",
            str(effect.tasks),
            "yes" if result.is_suspect(effect) else "not clear",
        )
    if ranked:
        table.caption = average_task(ranked, result.words)
        table.caption_justify = "left"
    return table


def average_task(ranked: Sequence[Effect], words: AuditWords) -> str:
    """Return the sentence on what verdicts compare with.

    Args:
        ranked: classes or groups of an audit, at least one.
        words: what the audit calls things.
    """
    return f"The average {words.drawn} has {number(ranked[0].mean, 2)}."


def tasks_table(result: Audit, rows: int) -> Table:
    """Return the `rows` most suspect drawn tasks as a table for the terminal."""
    words, steps = result.words, f"steps {result.first_step} to {result.last_step}"
    title = f"Training {words.drawn}s {result.signal.words}, {steps}"
    table = Table(title=title, title_justify="left")
    for name in (result.signal.column, "step", words.drawn, "group", words.named, "labels"):
        table.add_column(name, overflow="fold")
    for task in result.tasks[:rows]:
        table.add_row(
            f"{result.value(task):.2f}",
            str(task.step),
            str(task.index),
            _plain(task.group or ""),
            _plain(class_names(task)),
            result.labels(task),
        )
    return table


def _plain(text: str) -> Text:
    return Text(printable(text))  # `[v2]` in a name is part of the name, not markup


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
