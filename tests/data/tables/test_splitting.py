"""No task is in two splits, however they are divided."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towpath.data.dealing import deal
from towpath.data.errors import DataError
from towpath.data.tables.splitting import Splits, counted_splits, splits_from
from towpath.data.tables.units import Unit


def units(*names: str, groups: int = 1) -> list[Unit]:
    return [Unit(n, np.arange(2), None, (), f"g{i % groups}") for i, n in enumerate(names)]


NAMES = [f"t{i}" for i in range(30)]


def division(splits: Splits, found: list[Unit]) -> dict[str, str]:
    return splits.of(found, [unit.name for unit in found], "tasks")[0]


def test_tasks_are_dealt_by_digest_and_seed():
    assert division(Splits(), units(*NAMES)) == deal(NAMES)
    assert division(Splits(seed=3), units(*NAMES)) == deal(NAMES, 3)


@given(st.integers(3, 9), st.integers(0, 5))
@settings(max_examples=30, deadline=None)
def test_whole_groups_stay_together_from_three_on(groups, seed):
    found = units(*NAMES, groups=groups)
    split_of = division(Splits(seed=seed), found)
    for group in {unit.group for unit in found}:
        assert len({split_of[unit.name] for unit in found if unit.group == group}) == 1
    assert set(split_of.values()) == {"train", "validation", "test"}
    assert division(Splits("task", seed), found) == deal(NAMES, seed)


def test_lists_name_tasks_or_groups_and_the_rest_is_for_training():
    split_of = division(Splits(listed={"t1": "test", "t2": "trusted"}), units(*NAMES[:4]))
    assert split_of == {"t0": "train", "t1": "test", "t2": "trusted", "t3": "train"}
    split_of = division(Splits(listed={"g1": "test"}), units(*NAMES[:4], groups=2))
    assert split_of == {"t0": "train", "t1": "test", "t2": "train", "t3": "test"}


def test_with_a_list_for_training_the_rest_is_left_out_and_told(tmp_path):
    splits = splits_from({"train": ["t0"], "test": ["t1"]}, tmp_path)
    split_of, notes = splits.of(units(*NAMES[:4]), NAMES[:4], "tasks")
    assert split_of == {"t0": "train", "t1": "test"}
    assert notes[1] == "left out 2 tasks in no split: 't2', 't3'"


def test_a_file_says_the_split_of_each_task_in_the_usual_words(tmp_path):
    (tmp_path / "s.csv").write_text("task,split\nt0,Training\nt1,val\nt2,test\nsmall,dev\n")
    splits = splits_from({"by": "file", "file": "s.csv"}, tmp_path)
    split_of, notes = splits.of(units(*NAMES[:3]), [*NAMES[:3], "small"], "tasks")
    assert split_of == {"t0": "train", "t1": "validation", "t2": "test"}
    assert "from s.csv" in notes[0]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"by": "grup"}, "Did you mean 'group'"),
        ({"seed": 1.5}, "whole number"),
        ({"by": "file"}, "names no file"),
        ({"file": "s.csv", "test": ["a"]}, "also has lists"),
        ({"test": "a"}, "a list of names"),
        ({"validation": ["a"], "test": ["a"]}, "'a' in validation and in test"),
        ({"sead": 1}, "Did you mean 'seed'"),
        (["a"], "expected a mapping"),
    ],
)
def test_wrong_options_are_answered(option, words, tmp_path):
    with pytest.raises(DataError, match=words):
        splits_from(option, tmp_path)


def test_splits_are_counted_in_their_order():
    assert counted_splits({"a": "test", "b": "train", "c": "test"}) == "train 1, test 2"
