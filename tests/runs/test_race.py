"""The record of a race in records.jsonl."""

import json
import math

import pytest

from towpath.runs.plain import Json, plain_json
from towpath.runs.race import race_as_json, race_from_json
from towpath.weighters.race.judges import LOSS
from towpath.weighters.race.record import RaceRecord
from towpath.weighters.race.standing import Standing

RECORDS = [
    RaceRecord("uniform"),
    RaceRecord(
        "mixture",
        "uniform",
        {"mixture": Standing(0.06, 0.02, 7), "trim:keep=0.5": Standing(-0.1, 0.03, 7)},
        share=0.05,
        ended=True,
    ),
    RaceRecord("uniform", standings={"a": Standing(0.1, 0.1, 4)}, metric=LOSS, dropped=("b",)),
    RaceRecord("uniform", broke=("b", "c")),
]


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_is_read_back_as_it_was(record):
    assert race_from_json(json.loads(json.dumps(race_as_json(record)))) == record


def test_gains_that_are_not_finite_are_null_in_the_file():
    given = RaceRecord(
        "u", standings={"a": Standing(-math.inf, 0.0, 3), "b": Standing(0.1, math.inf, 1)}
    )
    text = json.dumps(race_as_json(given), allow_nan=False)
    assert race_from_json(json.loads(text)) == given


def test_an_arm_that_outlived_the_baseline_is_not_taken_for_one_that_came_to_nothing():
    given = RaceRecord(
        "a", "u", {"a": Standing(math.inf, 0.0, 3), "b": Standing(-math.inf, 0.0, 3)}, ended=True
    )
    content = race_as_json(given)
    assert plain_json(content) == content  # numbers are finite or null already
    read = race_from_json(json.loads(json.dumps(content, allow_nan=False)))
    assert read == given
    assert read.reason() == "finite on the judges where what it is compared with is not"


def test_a_gain_that_an_earlier_release_wrote_as_null_is_that_of_an_arm_that_came_to_nothing():
    old = {"a": {"gain": None, "error": 0.0, "judges": 3}}
    read = race_from_json({"leader": "u", "metric": "accuracy", "standings": old})
    assert read.standings == {"a": Standing(-math.inf, 0.0, 3)}


def standing(**content: Json) -> dict[str, Json]:
    return {"leader": "a", "standings": {"b": content}, "metric": "accuracy"}


@pytest.mark.parametrize(
    "found",
    [
        3,
        {},
        {"leader": 3},
        {"leader": "a", "standings": [1]},
        {"leader": "a", "standings": {"b": {"gain": 1.0}}, "metric": "accuracy"},
        standing(gain=None, error=0.0, judges=2, not_finite="nobody"),
        standing(gain=None, error=0.0, judges=2, not_finite=3),
        {"leader": "a", "dropped": "b"},
        {"leader": "a", "dropped": [1]},
        {"leader": "a", "ended": True, "share": "x"},
    ],
)
def test_anything_else_is_refused(found):
    with pytest.raises((TypeError, KeyError)):
        race_from_json(found)
