"""The typed state and record of trust, and its sentences."""

import json

import pytest

from towpath.runs.plain import plain_json
from towpath.runs.records import TrustRecord, record_from_json
from towpath.runs.trust import ALL_TRUSTED, Trust, TrustCheck, listed, repeated_sentence

CHECK = TrustCheck(
    [5.0, 0.5, None, 6.0, -0.5],
    [4.0, None],
    Trust((1, 4), (1, 3, 4)),
    {1: "Greek: alpha, beta", 3: "", 4: "Latin: a, b"},
    {3: 0},
)


def test_a_record_survives_its_file():
    record = TrustRecord(20, CHECK)
    line = json.dumps(plain_json(record.as_json()))
    assert record_from_json(json.loads(line)) == record


def test_trust_survives_a_checkpoint():
    trust = Trust((1,), (2, 3), "Too few are left.")
    assert Trust.from_json(json.loads(json.dumps(trust.as_json()))) == trust
    assert Trust.from_json(json.loads(json.dumps(ALL_TRUSTED.as_json()))) == ALL_TRUSTED


@pytest.mark.parametrize("left_out", [None, [1, -1], [0.5], ["a"], [True]])
def test_positions_that_are_none_are_refused(left_out):
    with pytest.raises(TypeError, match="left_out"):
        Trust.from_json({"suspects": [], "left_out": left_out, "unusable": ""})


def test_the_sentence_names_wrong_and_repeated_tasks_apart():
    assert CHECK.wrong == (1, 4)
    said = CHECK.sentence()
    assert "2 trusted tasks of 5 (numbers 1 and 4)" in said
    assert "evidence 0.0, of the others 5.0" in said
    assert "1 trusted task (number 3) has the same samples as an earlier one" in said
    assert TrustCheck([5.0], [], ALL_TRUSTED, {}).sentence() == ""
    assert TrustCheck([5.0], [], Trust((), (0,), "None is used."), {}).sentence() == "None is used."


def test_long_lists_are_cut():
    assert listed(tuple(range(20))) == "numbers 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 8 more"
    assert "2 trusted tasks (numbers 4 and 7) have the same" in repeated_sentence({4: 0, 7: 1})
