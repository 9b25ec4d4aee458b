"""The rules of a race in a recipe."""

import pytest
import yaml

from towpath.recipes.component import Component
from towpath.recipes.components import component_wants_targets, make_weighter, weighter_options
from towpath.recipes.rules import RULES, as_sections, rules_of
from towpath.recipes.typed import RecipeError
from towpath.runs.identity import differences
from towpath.weighters import FineTune, Race, Trim

ASKED = ["uniform", "mixture", "trim:keep=0.5"]


def test_words_and_sections_are_the_same_rules():
    by_word = rules_of(ASKED, "rules")
    by_section = rules_of(["uniform", "mixture", {"name": "trim", "keep": 0.5}], "rules")
    assert by_word == by_section
    assert list(by_word) == ASKED
    assert rules_of(as_sections(by_word), "rules") == by_word


def test_rules_may_have_names_of_the_users():
    found = rules_of({"plain": "uniform", "half": "trim:keep=0.5"}, "rules")
    assert found == {"plain": Component("uniform"), "half": Component("trim", {"keep": 0.5})}


def test_all_options_of_every_rule_are_filled_in_and_stay_as_they_are():
    once = weighter_options(Component("race", {RULES: ASKED}))
    assert once[RULES]["trim:keep=0.5"] == {"name": "trim", "keep": 0.5, "warmup": 20}
    assert once["level"] == 0.2
    written = yaml.safe_load(yaml.safe_dump(dict(once), sort_keys=False))
    assert weighter_options(Component("race", written)) == once
    assert list(written[RULES]) == ASKED, "the baseline is the first, through a file as well"


def test_a_race_is_made_of_its_rules():
    asked = [*ASKED, "fine-tune"]
    made = make_weighter(Component("race", {RULES: asked, "first": 10}), steps=100)
    assert isinstance(made, Race)
    assert list(made.rules) == asked
    assert made.rules["trim:keep=0.5"] == Trim(keep=0.5)
    assert made.rules["fine-tune"] == FineTune(after=80)
    assert made.first == 10


def test_a_race_wants_targets_where_one_of_its_rules_does():
    assert component_wants_targets(Component("auto"))
    assert component_wants_targets(Component("race", {RULES: ["uniform", "opus"]}))
    assert not component_wants_targets(Component("race", {RULES: ASKED}))
    made = make_weighter(Component("race", {RULES: ASKED}))
    assert not made.wants_targets


def test_a_run_folder_that_lists_the_rules_in_full_is_the_run_that_was_asked_for():
    asked = {"weighter": {"name": "race", RULES: ASKED}}
    found = {"weighter": {"name": "race", **weighter_options(Component("race", {RULES: ASKED}))}}
    assert differences(asked, found) == []
    other = {"weighter": {"name": "race", RULES: ["uniform", "mixture", "trim:keep=0.6"]}}
    assert differences(other, found) == ["weighter.rules"]
    named = {"weighter": {RULES: {"uniform": "uniform", "trim:keep=0.5": "trim:keep=0.5"}}}
    assert differences(named, found) == []
    named = {"weighter": {RULES: {"uniform": "uniform", "trim:keep=0.5": "trim:keep=0.7"}}}
    assert differences(named, found) == ["weighter.rules.trim:keep=0.5"]


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        (["uniform", "mixtur"], r"'mixtur'; expected one of .*Did you mean 'mixture'"),
        (["uniform", "trim:kep=1"], r"has no option 'kep'; .*Did you mean 'keep'"),
        (["uniform"], "expected at least two rules"),
        ([], "expected at least two rules"),
        (["uniform", "uniform"], "expected each rule once"),
        (["uniform", "auto"], "is the race 'auto'; expected a weighter that does not race"),
        ({"a": "uniform", "b": {"name": "race"}}, r"weighter\.rules\.b is the race 'race'"),
        (["uniform", 3], r"weighter\.rules\.1 is 3; expected a section"),
        ("uniform", "expected a list of weighters"),
    ],
)
def test_rules_that_make_no_race_are_refused_in_one_sentence(rules, sentence):
    with pytest.raises(RecipeError, match=sentence) as refused:
        weighter_options(Component("race", {RULES: rules}))
    assert "\n" not in str(refused.value)


def test_a_misspelt_option_of_a_race_gets_the_right_one():
    with pytest.raises(RecipeError, match="Did you mean 'rules'"):
        weighter_options(Component("race", {"rulez": ASKED}))
