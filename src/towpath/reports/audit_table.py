"""An audit as tables for the terminal."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from towpath.reports.audit import Audit, class_names
from towpath.reports.audit_words import AuditWords
from towpath.reports.number_text import number
from towpath.reports.ranking import Effect
from towpath.wording import printable


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
