"""The section on the convergence theorem: its quantities as a run's folder has them."""

import json

import numpy as np
import pytest

from tests.reports import synthetic
from towpath.reports.blocks import Note, Table
from towpath.reports.sections.theory import theory_section
from towpath.runs.read_studies import read_studies


def section_of(path, weighter, **changes):
    synthetic.write_run(path, synthetic.recipe(**changes), weighter, 20, validate=5)
    (study,) = read_studies([path])
    (run,) = study.all
    return run, theory_section(study)


def test_the_rate_is_the_optimisers_default_where_none_is_given(tmp_path):
    _, section = section_of(tmp_path / "run", "uniform", optimizer={"name": "sgd"})
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    (row,) = table.rows
    assert row[0].text == "uniform"
    assert row[4].text == "0.01"


def test_delta_is_the_largest_deviation_of_the_records(tmp_path):
    run, section = section_of(tmp_path / "run", "tow")
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    (row,) = table.rows
    lines = map(json.loads, (tmp_path / "run" / "records.jsonl").read_text().splitlines())
    weights = np.array([line["weights"] for line in lines if "weights" in line])
    delta = np.linalg.norm(weights - 0.1, axis=1).max()
    assert run.delta == pytest.approx(delta)
    assert float(row[1].text) == pytest.approx(delta, abs=5.1e-5)


def test_a_run_outside_of_the_theorem_says_why(tmp_path):
    _, section = section_of(tmp_path / "run", "tow-targets")
    said = " ".join(block.text for block in section.blocks if isinstance(block, Note))
    assert "tow-targets: outside the theorem, because" in said


def test_without_records_there_is_no_delta(tmp_path):
    synthetic.write_run(tmp_path / "run", synthetic.recipe(), "uniform", 5)
    (tmp_path / "run" / "records.jsonl").write_text("")
    (study,) = read_studies([tmp_path / "run"])
    (note,) = theory_section(study).blocks
    assert isinstance(note, Note)
    assert "there is no delta" in note.text
