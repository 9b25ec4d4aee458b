"""An audit speaks of tasks and rows where the data are a table, of classes and images elsewhere."""

import csv
import io

import pytest
from rich.console import Console

from tests.reports.test_audit import distrustful, scrambled_records, uniform
from tests.training.runs import run
from tests.training.tables import MAML, assays, write_assays
from towpath.cli.main import main
from towpath.reports.audit import LOSSES, Audit, audit
from towpath.reports.audit_csv import audit_csv
from towpath.reports.audit_page import audit_page
from towpath.reports.audit_table import effects_table, tasks_table
from towpath.reports.audit_words import OF_IMAGES, OF_TABLE_CLASSES, OF_TABLE_TASKS, words_of
from towpath.runs.judged import JudgedTask


def of_table(weigh) -> Audit:
    """An audit of made-up records whose tasks are those of a wide table."""
    records = scrambled_records(100, weigh)
    for record in records:
        for info in record.tasks:
            info["task"] = info["classes"][0]
            info["classes"] = [info["task"]]
    result = audit(records, labels_known=False)
    assert result is not None
    return result


def said(result: Audit) -> str:
    """All that an audit prints and writes."""
    stream = io.StringIO()
    console = Console(file=stream, width=200)
    console.print(effects_table(result, result.classes, 3, result.words.unit))
    console.print(tasks_table(result, 3))
    page = audit_page("made up", result, None).decode()
    return stream.getvalue() + page[page.index("<main") :]


@pytest.mark.parametrize(
    ("info", "words"),
    [
        ({"classes": ["a", "b"]}, OF_IMAGES),
        ({"task": "assay", "classes": ["assay"]}, OF_TABLE_TASKS),
        ({"task": "", "classes": ["a", "b"]}, OF_TABLE_CLASSES),
    ],
)
def test_the_words_are_those_of_the_data(info, words):
    assert words_of([JudgedTask(1, 1.0, info)]) is words


@pytest.mark.parametrize("weigh", [uniform, distrustful])
def test_tasks_of_a_table_are_called_tasks_and_no_word_is_of_classes_or_images(weigh):
    result = of_table(weigh)
    text = said(result)
    assert "Which task to check first" in text
    assert "Training episodes" in text
    for word in ("images", "picture", "Which class", "the class", "classes stand", "A class"):
        assert word not in text, word
    assert ("look at its rows" in text) == (result.class_signal is LOSSES)
    images = audit(scrambled_records(100, uniform))
    assert images is not None
    assert "look at its images" in said(images)


def test_the_csv_file_tells_tasks_from_episodes():
    rows = list(csv.DictReader(io.StringIO(audit_csv(of_table(distrustful), None, 4).decode())))
    assert [row["kind"] for row in rows] == ["task"] * 20 + ["group"] * 0 + ["episode"] * 4


def test_the_finding_counts_what_is_ranked():
    found = OF_TABLE_TASKS.finding(["a"], 12, "trusted less")
    assert found == "1 of 12 tasks stands out as trusted less than the average; first a."
    assert OF_IMAGES.finding([], 3, "") == "None of the 3 classes stands out clearly."


def test_an_audit_of_a_regression_speaks_of_tasks(tmp_path, capsys):
    table = write_assays(tmp_path / "numbers.csv", numbers=True)
    folder = run(tmp_path / "run", assays(table, **MAML))
    capsys.readouterr()
    assert main(["audit", str(folder), "--rows", "2"]) == 0
    text = capsys.readouterr().out
    assert "Which task to check first" in text
    assert "class" not in text
