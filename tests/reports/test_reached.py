"""How soon a weighter gets there: the table against the study's own numbers."""

from tests.reports.reading import rows_of
from towpath.reports.blocks import Note
from towpath.reports.sections.reached import reached_section
from towpath.runs.reached import reached


def test_the_row_of_a_weighter_says_when_it_reached_the_goal(validated_study):
    _, found = reached(validated_study)
    rows = rows_of(reached_section(validated_study))
    assert rows.keys() == set(validated_study.labels)
    for label, cells in rows.items():
        one = found[label]
        if not one.reached:
            assert "not reached by any of 2 seed(s)" in cells[1]
        else:
            assert cells[1] == f"{one.steps:.0f}"
            assert cells[2] == f"{100 * one.steps_ratio:.0f} %"
            assert cells[-1] == f"{one.reached} of 2"


def test_a_study_that_has_not_begun_has_no_goal(unbegun_study):
    (note,) = reached_section(unbegun_study).blocks
    assert isinstance(note, Note)
    assert "has no validation yet" in note.text
