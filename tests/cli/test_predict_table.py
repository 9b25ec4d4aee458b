"""`towpath predict` on tables: columns by name, classes in their order, numbers in their units."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from tests.refusal import refused
from tests.training.runs import run
from tests.training.tables import (
    COMMON,
    FEATURES,
    MAML,
    activity,
    assays,
    compounds,
    write_assays,
    write_rows,
)
from towpath.cli.main import main

FEW, NEW = compounds(12, seed=21), compounds(5, seed=22)
ACTIVE = (activity(FEW, COMMON) > 0).astype(int)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A run on classes, one on numbers, and one of MAML on classes."""
    folder = tmp_path_factory.mktemp("runs")
    classes = write_assays(folder / "classes.csv")
    run(folder / "classes", assays(classes))
    run(folder / "maml", assays(classes, **MAML))
    run(folder / "numbers", assays(write_assays(folder / "numbers.csv", numbers=True), **MAML))
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder with examples and rows to predict."""
    monkeypatch.chdir(tmp_path)
    examples(ACTIVE)
    write_rows(Path("new.csv"), ["compound", *FEATURES], named(NEW, "N"))
    return tmp_path


def named(values, prefix, *columns):
    return [
        [f"{prefix}{i}", *row.tolist(), *(column[i] for column in columns)]
        for i, row in enumerate(values)
    ]


def examples(targets, column="target"):
    write_rows(Path("few.csv"), ["compound", *FEATURES, column], named(FEW, "E", targets))


def words(folder, *more):
    files = ["--support", "few.csv", "--query", "new.csv", "--out", "out.csv", "--force"]
    return ["predict", str(folder), *files, *more]


def predicted(folder, *more):
    assert main(words(folder, *more)) == 0
    with Path("out.csv").open() as file:
        return list(csv.DictReader(file))


def test_columns_are_found_by_name_in_any_order_among_others(place, here):
    before = predicted(place / "classes")
    assert [row["compound"] for row in before] == [f"N{i}" for i in range(5)]
    header = ["charge", "price", "rings", "compound", "logp", "mass"]
    mixed = [[row[3], 7, row[2], f"N{i}", row[1], row[0]] for i, row in enumerate(NEW.tolist())]
    write_rows(Path("new.csv"), header, mixed)
    assert predicted(place / "classes") == before


def test_rows_without_an_id_are_called_by_their_line(place, here):
    write_rows(Path("new.csv"), FEATURES, NEW.tolist())
    assert [row["row"] for row in predicted(place / "classes")] == [
        f"line {i}" for i in range(2, 7)
    ]


def test_examples_without_a_target_are_not_used_and_counted(place, here, capsys):
    some = [str(v) if i % 2 else "" for i, v in enumerate(ACTIVE)]
    examples(some)
    found = predicted(place / "classes")
    told = f"{some.count('')} rows of few.csv have no value in column 'target' and are left out"
    assert told in " ".join(capsys.readouterr().out.split())
    write_rows(
        Path("few.csv"),
        ["compound", *FEATURES, "target"],
        [row for i, row in enumerate(named(FEW, "E", ACTIVE)) if i % 2],
    )
    assert predicted(place / "classes") == found


def test_a_learner_with_a_head_keeps_the_meaning_of_its_classes(place, here):
    rows = predicted(place / "maml")
    assert list(rows[0]) == ["compound", "predicted", "0", "1"]
    examples(ACTIVE[::-1])  # the first example is of the other class, the columns stay
    assert list(predicted(place / "maml")[0]) == ["compound", "predicted", "0", "1"]


def test_other_classes_are_refused_by_a_head_and_taken_by_a_protonet(place, here, capsys):
    examples(["high" if a else "low" for a in ACTIVE])
    text = refused(words(place / "maml"), capsys)
    assert "high, low; expected 0, 1" in text
    rows = predicted(place / "classes")
    assert list(rows[0]) == ["compound", "predicted", "high", "low"]
    examples(["high"] * len(ACTIVE))
    capsys.readouterr()
    assert "'high' only; expected two classes" in refused(words(place / "classes"), capsys)


def test_classes_that_training_did_not_have_are_told(place, here, capsys):
    predicted(place / "classes")
    assert "training had others" not in capsys.readouterr().out
    examples(["high" if a else "low" for a in ACTIVE])
    predicted(place / "classes")
    said = capsys.readouterr().out
    assert "predicted are classes: high, low (training had others: 0, 1)" in said


@pytest.mark.parametrize("run", ["classes", "maml"])
def test_real_numbers_are_no_classes(place, here, capsys, run):
    examples([*ACTIVE[:-1], 0.37])
    text = refused(words(place / run), capsys)
    assert "few.csv has 0.37 in column 'target', line 13; expected classes" in text
    assert "trained on classes (0, 1)" in text
    assert not Path("out.csv").exists()


def test_empty_feature_cells_are_filled_in_and_counted(place, here, capsys):
    predicted(place / "classes")
    assert "empty feature cells" not in capsys.readouterr().out
    rows = named(NEW, "N")
    rows[1][2] = rows[3][2] = rows[3][4] = ""
    write_rows(Path("new.csv"), ["compound", *FEATURES], rows)
    assert len(predicted(place / "classes")) == 5
    said = capsys.readouterr().out
    assert "3 empty feature cells of new.csv, in 2 of 5 rows, are filled in with the means" in said
    assert "few.csv" not in said


def test_a_file_with_the_one_column_that_features_are_computed_of_is_enough(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    utterances = [f"order {i} now" if i % 2 else f"cancel {i} please" for i in range(80)]
    rows = [[text, f"shop {i // 2 % 6}", i % 2] for i, text in enumerate(utterances)]
    write_rows(Path("few.csv"), ["utterance", "task", "target"], rows)
    text = {"kind": "hashed-text", "column": "utterance", "features": 64}
    data = {"features": text, "id": None, "groups": None}
    run(tmp_path / "run", assays(Path("few.csv"), data=data))
    write_rows(Path("new.csv"), ["utterance"], [["order now"], ["cancel, please"]])
    found = predicted(tmp_path / "run")
    assert [row["row"] for row in found] == ["line 2", "line 3"]
    capsys.readouterr()
    write_rows(Path("few.csv"), ["utterance", "task", "target"], [*rows, ["", "shop 1", 1]])
    assert predicted(tmp_path / "run") == found
    told = " ".join(capsys.readouterr().out.split())
    assert "1 row of few.csv has no features and is left out" in told


def test_a_feature_is_not_taken_for_the_target(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [[x, -x, *(int((x + i) % 3 > 0) for i in range(6))] for x in range(60)]
    header = ["x", "y", *(f"t{i}" for i in range(6))]
    write_rows(Path("wide.csv"), header, rows)
    data = {"features": ["x", "y"], "id": None, "groups": None}
    run(tmp_path / "run", assays(Path("wide.csv"), data=data))
    write_rows(Path("new.csv"), ["x", "y"], [[1, 2]])
    write_rows(Path("few.csv"), ["x", "y", "label"], [[i, i, i % 2] for i in range(8)])
    assert len(predicted(tmp_path / "run")) == 1  # by `label`


def test_numbers_shift_with_their_units(place, here):
    potency = activity(FEW, COMMON) + 6
    examples(np.round(potency, 4))
    one = [float(row["predicted"]) for row in predicted(place / "numbers")]
    examples(np.round(potency + 100, 4))
    other = [float(row["predicted"]) for row in predicted(place / "numbers")]
    assert np.array(other) - np.array(one) == pytest.approx(100, abs=1e-2)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda: examples(ACTIVE, "result"), "no column that is called target.*--target COLUMN"),
        (lambda: examples([""] * 12), "no row with features and a value in column 'target'"),
        (
            lambda: write_rows(Path("new.csv"), FEATURES[:3], NEW[:, :3].tolist()),
            "new.csv has no column 'charge'; expected the 4 features",
        ),
        (
            lambda: write_rows(Path("new.csv"), FEATURES, [["x", 1, 2, 3]]),
            "'x' in column 'mass', line 2; expected a number",
        ),
        (lambda: Path("few.csv").unlink(), "few.csv is not a file; expected a table"),
    ],
)
def test_what_cannot_be_predicted_from_is_told(place, here, capsys, change, expected):
    change()
    capsys.readouterr()
    assert re.search(expected, refused(words(place / "classes"), capsys))
    assert not Path("out.csv").exists()


def test_a_target_column_of_another_name_is_given(place, here, capsys):
    examples(ACTIVE, "result")
    assert len(predicted(place / "classes", "--target", "result")) == 5
    capsys.readouterr()
    assert "--target is 'resul'" in refused(words(place / "classes", "--target", "resul"), capsys)


def test_a_target_column_makes_no_sense_for_images(done, here, capsys):
    capsys.readouterr()
    assert "was trained on images" in refused(words(done, "--target", "x"), capsys)


def test_ids_that_repeat_are_told(place, here, capsys):
    write_rows(Path("new.csv"), ["compound", *FEATURES], [*named(NEW, "N"), *named(NEW[:2], "N")])
    rows = predicted(place / "classes")
    assert [row["compound"] for row in rows[-2:]] == ["N0", "N1"]
    said = capsys.readouterr().out
    assert "2 rows of new.csv have an id that an earlier row has (first 'N0', line 2" in said
    assert "few.csv" not in said
