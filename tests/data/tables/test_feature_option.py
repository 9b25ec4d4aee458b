"""The option `features`, in all its forms."""

from pathlib import Path

import pytest

from tests.data.tables.table_files import csv_bytes, wide_rows
from towpath.data.errors import DataError
from towpath.data.tables.comma_separated import read_csv
from towpath.data.tables.feature_columns import FileFeatures, NumberFeatures
from towpath.data.tables.feature_option import FeatureChoice, features_from
from towpath.data.tables.hashed_text import HashedTextFeatures

TABLE = read_csv("t.csv", csv_bytes([row | {"say": "hello"} for row in wide_rows()]))


def test_every_form_makes_its_kinds():
    assert features_from(None) == FeatureChoice()
    assert features_from("f1").kinds == (NumberFeatures(["f1"]),)
    assert features_from(["f1", "f2"]).kinds == (NumberFeatures(["f1", "f2"]),)
    assert features_from("x.npz").kinds == (FileFeatures("x.npz"),)
    both = features_from([{"kind": "hashed-text", "column": "say", "features": 16}, "f1"])
    assert both.kinds == (NumberFeatures(["f1"]), HashedTextFeatures("say", 16))
    assert both.text_columns == ("say",)
    assert both.columns(TABLE) == {"f1", "say"}


@pytest.mark.parametrize("wrong", [[], 3, [3], [None]])
def test_other_forms_are_refused(wrong):
    with pytest.raises(DataError, match=r"expected names of columns"):
        features_from(wrong)


def test_numbers_and_hashed_text_join(fresh_cache):
    choice = features_from([{"kind": "hashed-text", "column": "say", "features": 16}, "f1"])
    found = choice.features(TABLE, frozenset("abc"), (), Path())
    assert found.values.shape == (12, 17)
    assert found.standardised.tolist() == [True] + [False] * 16


def test_the_default_says_what_it_left_out():
    found = FeatureChoice().features(TABLE, frozenset("abc"), (), Path())
    assert found.names == ("f1", "f2")
    assert any("left out 1 column of text: 'say'" in note for note in found.notes)


def test_a_column_is_not_a_feature_and_a_task():
    with pytest.raises(DataError, match="'a', which is a task"):
        features_from(["a", "f1"]).features(TABLE, frozenset("abc"), (), Path())
