"""How soon and how long: the tables against the study's own numbers."""

import shutil

import pytest

from tests.reports import synthetic
from towpath.reports.blocks import Note
from towpath.reports.sections.pace import reached_section, time_section
from towpath.runs.read_studies import read_studies
from towpath.runs.results import costs, reached


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("pace") / "c"
    synthetic.write_comparison(path, 30, weighters=("uniform", "tow"), seeds=(0, 1), validate=5)
    (found,) = read_studies([path])
    return found


def texts(section):
    (table,) = section.blocks
    return {row[0].text: [cell.text for cell in row] for row in table.rows}


def test_the_row_of_a_weighter_says_when_it_reached_the_goal(study):
    _, found = reached(study)
    rows = texts(reached_section(study))
    assert rows.keys() == set(study.labels)
    for label, cells in rows.items():
        one = found[label]
        if not one.reached:
            assert "not reached by any of 2 seed(s)" in cells[1]
        else:
            assert cells[1] == f"{one.steps:.0f}"
            assert cells[2] == f"{100 * one.steps_ratio:.0f} %"
            assert cells[-1] == f"{one.reached} of 2"


def test_running_times_are_those_of_the_clock(study):
    spent = costs(study)
    rows = texts(time_section(study))
    assert rows.keys() == set(study.labels)
    for label, cells in rows.items():
        assert float(cells[1]) == pytest.approx(spent[label].per_step, abs=5e-4)
        assert cells[2] == "1.00×"
        assert cells[5] == "90"


def test_a_study_that_has_not_begun_says_so(tmp_path):
    path = synthetic.write_comparison(tmp_path / "c", 6, weighters=("uniform",), seeds=(0,))
    shutil.rmtree(path / "uniform-seed0")
    (study,) = read_studies([path])
    for section, says in (
        (reached_section(study), "has no validation yet"),
        (time_section(study), "No step was timed yet"),
    ):
        (note,) = section.blocks
        assert isinstance(note, Note)
        assert says in note.text
