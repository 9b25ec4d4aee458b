"""`towpath evaluate`: a table of the test sets."""

import csv

from tests.refusal import refused
from towpath.cli.main import main


def test_every_test_set_has_a_row_with_the_number_of_tasks(done, capsys):
    assert main(["evaluate", str(done), "--tasks", "3"]) == 0
    said = capsys.readouterr().out
    row = next(line for line in said.splitlines() if "│ glyphs" in line)
    assert "%" in row
    assert row.split("│")[-2].strip() == "3"
    assert "normalisation: " in said


def test_the_metrics_of_two_classes_stand_below_the_accuracy(done, capsys):
    assert main(["evaluate", str(done), "--tasks", "3"]) == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│ glyphs" in line]
    results = [row[2].strip() for row in rows]
    assert [text.rsplit(" ", 2)[0] for text in results] == [
        "accuracy",
        "ROC AUC",
        "average precision",
        "loss",
    ]
    assert "%" in results[0]
    assert not any("%" in cell for row in rows[1:] for cell in row)


def test_classes_are_named_and_written_as_a_csv_file(done, tmp_path, capsys):
    path = tmp_path / "classes.csv"
    assert main(["evaluate", str(done), "--tasks", "6", "--classes", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    lines = list(csv.DictReader(path.read_text().splitlines()))
    own = {
        line["class"]: float(line["share"]) for line in lines if line["class"] == line["taken for"]
    }
    hardest = min(own, key=lambda name: (own[name], name))
    assert f"hardest classes of glyphs: {hardest} {100 * own[hardest]:.0f}%" in said
    assert all(int(line["taken"]) <= int(line["samples"]) for line in lines)
    again = ["evaluate", str(done), "--tasks", "6", "--classes", str(path)]
    assert "Choose another --classes, or replace it with --force" in refused(again, capsys)


def test_an_interval_needs_two_tasks(done, capsys):
    assert "--tasks is 1; expected at least 2" in refused(
        ["evaluate", str(done), "--tasks", "1"], capsys
    )
