"""YAML from strangers; what is refused is tried through the command line in test_hostile.py."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from towpath.recipes import shipped_recipes
from towpath.recipes.strict_yaml import DEEPEST, load_yaml

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(PLAIN)
def test_plain_values_are_read_as_pyyaml_reads_them(value):
    text = yaml.safe_dump(value)
    assert load_yaml(text) == yaml.safe_load(text)


def test_the_shipped_recipes_are_read_as_before():
    for text in shipped_recipes().values():
        assert load_yaml(text) == yaml.safe_load(text)


def test_aliases_and_merged_keys_still_work():
    text = "a: &a {x: 1, y: 2}\nb: &b {<<: *a, x: 3}\nc: {<<: *b, y: 4}\nd: [*a, *a]\n"
    found = load_yaml(text)
    assert found == yaml.safe_load(text)
    assert found["c"] == {"x": 3, "y": 4}


def test_the_same_key_may_stand_in_two_places():
    assert load_yaml("a: {x: 1}\nb: {x: 1}\n") == {"a": {"x": 1}, "b": {"x": 1}}


def test_as_deep_as_allowed_is_read():
    deep = DEEPEST - 1
    assert load_yaml("[" * deep + "1" + "]" * deep) is not None
    with pytest.raises(yaml.YAMLError, match="levels deep"):
        load_yaml("[" * (deep + 1) + "1" + "]" * (deep + 1))
