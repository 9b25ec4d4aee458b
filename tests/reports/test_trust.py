"""The section on trusted tasks, on records made up for it."""

import pytest

from tests.training.runs import run, tiny
from towpath.reports.blocks import Note, Table
from towpath.reports.page import study_chapter
from towpath.reports.sections.trust import trust_section
from towpath.runs.read_studies import read_studies
from towpath.runs.records import TrustRecord
from towpath.runs.trust import ALL_TRUSTED, Trust, TrustCheck

TRAINING = [5.0, 7.0]
NAMED = {1: "Greek: alpha, beta", 2: "Latin: a, b"}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = run(tmp_path_factory.mktemp("reports") / "trusting", tiny("opus"))
    (found,) = read_studies([path])
    return found


def section(study, *checks: tuple[int, TrustCheck]):
    study.all[0].trust = [TrustRecord(step, check) for step, check in checks]
    return trust_section(study)


def test_there_is_no_section_without_checks(study):
    assert section(study) is None


def test_a_study_whose_trusted_tasks_are_all_right_says_so(study):
    found = section(study, (10, TrustCheck([4.0, 6.0], TRAINING, ALL_TRUSTED, {})))
    (note,) = found.blocks
    assert isinstance(note, Note)
    assert "none of the 2 trusted tasks is left out. At step 10" in note.text
    assert "mean evidence is 5.0, that of fresh training tasks 6.0" in note.text


def test_tasks_that_are_left_out_are_named_with_their_evidence(study):
    early = TrustCheck([4.0, 0.1, 0.4, 5.0], TRAINING, Trust((1,), (2,)), {2: NAMED[2]}, {2: 0})
    late = TrustCheck([6.0, -0.3, None, 7.0], TRAINING, Trust((1,), (1, 2)), NAMED, {2: 0})
    start = TrustCheck([], [], Trust((), (2,)), {2: NAMED[2]}, {2: 0})
    found = section(study, (0, start), (10, early), (20, late))
    note, table = found.blocks
    assert "1 trusted task of 4 (number 1) are no better than shuffled ones" in note.text
    assert "number 2) has the same samples" in note.text
    assert isinstance(table, Table)
    assert table.columns[4:] == ["evidence at 10", "evidence at 20"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["1", NAMED[1], "labels no better than shuffled ones", "20", "0.1", "−0.3"],
        ["2", NAMED[2], "the same as 0", "0", "0.4", "–"],
    ]


def test_trust_that_cannot_be_used_is_said_in_the_chapter(study):
    check = TrustCheck([0.1, 0.2], TRAINING, Trust((), (0, 1), "Nothing is used."), NAMED)
    section(study, (20, check))
    chapter = study_chapter(study, lambda _: "no pictures")
    (found,) = [each for each in chapter.sections if each.name == "trust"]
    assert isinstance(found.blocks[0], Note)
    assert found.blocks[0].text.endswith("Nothing is used.")
