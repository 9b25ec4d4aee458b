"""The page on tables: its commands run, the predictions come out right, the audit finds the wrong
assays."""

import csv
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.training.tables import COMMON, FEATURES, activity, compounds, write_assays, write_rows
from towpath.cli.main import main
from towpath.reports.audit import audit
from towpath.runs.folder import RunFolder

PAGE = Path(__file__).parents[1] / "docs" / "your-own-table.md"
WRONG = ("ENZ_3", "REC_2")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def named_rows(values, prefix, *columns):
    return [
        [f"{prefix}{i}", *row.tolist(), *(column[i] for column in columns)]
        for i, row in enumerate(values)
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A table with two assays of random results, a new assay, and a table of numbers."""
    folder = tmp_path_factory.mktemp("laboratory")
    write_assays(folder / "assays.csv", scrambled=WRONG)
    (yaml,) = blocks("yaml")
    (folder / "assays.yaml").write_text(yaml)
    header = ["compound", *FEATURES]
    few, new = compounds(16, seed=11), compounds(60, seed=12)
    active = (activity(few, COMMON) > 0).astype(int)
    write_rows(folder / "examples.csv", [*header, "active"], named_rows(few, "E", active))
    write_rows(folder / "new.csv", header, named_rows(new, "N"))
    potency = np.round(activity(few, COMMON) + 6, 3)
    write_rows(folder / "measured.csv", [*header, "target"], named_rows(few, "E", potency))
    write_rows(folder / "potencies.csv", [*header, "task", "target"], potencies())
    return folder


def potencies():
    """Rows of 18 tasks below each other, each with an offset and a direction of its own."""
    generator = np.random.default_rng(5)
    rows = []
    for task in range(18):
        values = compounds(40, seed=100 + task)
        direction = COMMON + 0.3 * generator.normal(size=4)
        result = np.round(activity(values, direction) + generator.normal(6, 1), 3)
        rows += named_rows(values, f"P{task}-", [f"target {task}"] * 40, result)
    return rows


@pytest.fixture(scope="module")
def done(place):
    """The place after the page's commands."""
    commands = [line for block in blocks("bash") for line in block.strip().splitlines()]
    used = [shlex.split(line)[1] for line in commands]
    assert used == ["data", "train", "evaluate", "predict", "audit", "train", "train", "predict"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for line in commands:
            program, *argv = shlex.split(line)
            assert program == "towpath"
            assert main(argv) == 0, line
    return place


def read(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_predictions_of_the_page_are_right(done, monkeypatch):
    monkeypatch.chdir(done)
    assert [p.suffix for p in Path("preview").iterdir()] == [".html"]
    rows = read(done / "predictions.csv")
    assert [row["compound"] for row in rows] == [f"N{i}" for i in range(60)]
    right = (activity(compounds(60, seed=12), COMMON) > 0).astype(int)
    hits = [row["predicted"] == str(label) for row, label in zip(rows, right, strict=True)]
    assert np.mean(hits) > 0.8
    for row in rows:
        assert float(row["0"]) + float(row["1"]) == pytest.approx(1.0, abs=1e-5)
        assert float(row[row["predicted"]]) >= 0.5
    (python,) = blocks("python")
    names = {"labels": torch.tensor([int(r["active"]) for r in read(done / "examples.csv")])}
    exec(compile(python, str(PAGE), "exec"), names)
    found = [[float(row["0"]), float(row["1"])] for row in rows]
    torch.testing.assert_close(names["probabilities"], torch.tensor(found), atol=1e-5, rtol=0)


def test_predicted_numbers_are_in_the_units_of_the_examples(done):
    rows = read(done / "potencies-predicted.csv")
    right = activity(compounds(60, seed=12), COMMON) + 6
    found = np.array([float(row["predicted"]) for row in rows])
    residual = np.square(found - right).sum() / np.square(right - right.mean()).sum()
    assert 1 - residual > 0.5  # R2


def test_the_audit_of_the_page_finds_the_wrong_assays(done):
    found = audit(RunFolder.open(done / "runs" / "assays").records())
    assert found is not None
    assert found.signal.name == "losses"
    assert {effect.name for effect in found.classes[:2]} == set(WRONG)
    rows = read(done / "to-check.csv")
    tasks = [row for row in rows if row["kind"] == "episode"]
    assert len(tasks) == 5
    for row in tasks:
        files = row["files"].split("; ")
        assert len(files) == 24
        assert all(re.fullmatch(r"C\d{3}", file) for file in files)


def test_the_audit_of_a_steered_run_chooses_by_itself_as_the_page_says(done):
    found = audit(RunFolder.open(done / "runs" / "steered").records())
    assert found is not None
    assert found.signal.name == "weights"
    assert [signal.name for signal in found.rivals] == ["losses"]
    assert (found.class_signal.name == "losses") == ("ranked by losses" in found.class_reason)
    said = " ".join(PAGE.read_text().split())
    assert "ranks assays by weights or by losses, whichever tell them apart better" in said
