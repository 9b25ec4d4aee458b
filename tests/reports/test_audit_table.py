"""The tables of an audit for the terminal."""

import io

from rich.console import Console

from towpath.reports.audit import audit
from towpath.reports.audit_table import effects_table, tasks_table
from towpath.runs.records import StepRecord


def printed(table):
    stream = io.StringIO()
    Console(file=stream, width=200).print(table)
    return stream.getvalue()


def test_brackets_in_names_are_no_markup_in_the_terminal():
    tasks = [{"classes": ["[red]x"], "group": "[b]"}, {"classes": ["y"], "group": "c"}]
    result = audit([StepRecord(1, 0, [0.2, 0.8], tasks, [1.0, 1.0], 1.0)])
    assert result is not None
    assert "[red]x" in printed(effects_table(result, result.classes, 5, "class"))
    assert "[b]" in printed(tasks_table(result, 5))
