"""The CSV file of an audit."""

import csv
import io

from rich.console import Console

from tests.reports.test_audit import distrustful, scrambled_records
from towpath.cli.main import main
from towpath.reports.audit import audit
from towpath.reports.audit_csv import COLUMNS, audit_csv
from towpath.reports.redrawn import Redrawn
from towpath.runs.folder import RunFolder
from towpath.runs.records import StepRecord


def rows_of(content):
    return list(csv.DictReader(io.StringIO(content.decode())))


def printed(table):
    stream = io.StringIO()
    Console(file=stream, width=200).print(table)
    return stream.getvalue()


def test_the_file_has_every_class_every_group_and_the_most_suspect_tasks():
    result = audit(scrambled_records(100, distrustful))
    assert result is not None
    rows = rows_of(audit_csv(result, None, 7))
    kinds = [row["kind"] for row in rows]
    assert kinds == ["class"] * 20 + ["group"] * 2 + ["task"] * 7
    first, effect = rows[0], result.classes[0]
    assert first["name"] == effect.name
    assert float(first["value"]) == round(effect.value, 4)
    assert float(first["low"]) < float(first["value"]) < float(first["high"])
    assert int(first["tasks"]) == effect.tasks
    assert first["suspect"] == "yes"
    assert rows[19]["suspect"] == "not clear"
    assert {row["labels"] for row in rows[-7:]} == {"clean"}


def test_tasks_name_the_files_and_classes_the_folder_of_the_user(own_run):
    folder = RunFolder.open(own_run)
    drawn = Redrawn.of(folder)
    result = audit(folder.records(), labels_known=False)
    assert result is not None
    rows = rows_of(audit_csv(result, drawn, 4))
    classes = {row["name"]: row["files"] for row in rows if row["kind"] == "class"}
    assert classes["cat [v2]"] == "train/cat [v2]"
    assert classes["class-b"] == "train/class-b"
    task = next(row for row in rows if row["kind"] == "task")
    named = task["files"].split("; ")
    assert len(named) == 2 * (1 + 2)  # two classes, one support and two query images
    assert all((own_run.parent / "pets" / file).is_file() for file in named)
    assert {file.split("/")[1] for file in named} == set(task["name"].split(", "))
    assert task["labels"] == "unknown"


def test_cells_that_begin_like_formulas_are_text():
    tasks = [{"classes": ["=1+1"], "group": "@g"}, {"classes": ["-b"], "group": "h"}]
    result = audit([StepRecord(1, 0, [0.2, 0.8], tasks, [1.0, 1.0], 1.0)])
    assert result is not None
    cells = {cell for row in rows_of(audit_csv(result, None, 2)) for cell in row.values()}
    assert {"'=1+1", "'-b", "'@g"} <= cells


def test_the_command_writes_the_file_and_replaces_only_its_own(own_run, tmp_path, capsys):
    out = tmp_path / "check.csv"
    argv = ["audit", str(own_run), "--csv", str(out), "--out", str(tmp_path / "page.html")]
    assert main(argv) == 0
    first = out.read_bytes()
    assert first.decode().splitlines()[0] == ",".join(COLUMNS)
    assert main(argv) == 0
    assert out.read_bytes() == first
    out.write_text("somebody's notes")
    assert main(argv) == 2
    assert out.read_text() == "somebody's notes"
    assert main([*argv, "--force"]) == 0
    assert "class-" in capsys.readouterr().out
