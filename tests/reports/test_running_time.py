"""Running time: the table against the study's own numbers."""

import pytest

from tests.reports.reading import rows_of
from towpath.reports.blocks import Note
from towpath.reports.sections.running_time import time_section
from towpath.runs.costs import costs


def test_running_times_are_those_of_the_clock(validated_study):
    spent = costs(validated_study)
    rows = rows_of(time_section(validated_study))
    assert rows.keys() == set(validated_study.labels)
    for label, cells in rows.items():
        assert float(cells[1]) == pytest.approx(spent[label].per_step, abs=5e-4)
        assert cells[2] == "1.00×"
        assert cells[5] == "90"


def test_a_study_that_has_not_begun_says_that_no_step_was_timed(unbegun_study):
    (note,) = time_section(unbegun_study).blocks
    assert isinstance(note, Note)
    assert "No step was timed yet" in note.text
