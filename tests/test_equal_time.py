"""Equal processor time: the experiments of one setting, and the page's figures by hand."""

from types import SimpleNamespace

import pytest
from benchmarks.equal_time import gains, table
from benchmarks.experiments import EQUAL_TIME, EXPERIMENTS, equal_time_experiment


def written(**means):
    """A page with the test scores of some rules, by seed."""
    runs = {
        name.replace("_", "-"): [
            {"seed": seed, "test": {"toxcast": {"mean": mean}}} for seed, mean in each.items()
        ]
        for name, each in means.items()
    }
    return SimpleNamespace(tests=["toxcast"], runs=runs)


def test_every_rule_has_an_experiment_of_its_number_of_steps_on_the_same_tasks():
    for name, steps in EQUAL_TIME.items():
        found = EXPERIMENTS[equal_time_experiment("nvs", "-noise", name)]
        base = EXPERIMENTS["trust-toxcast-nvs-noise"]
        assert found.steps == steps
        assert name in found.weighters.split(",")
        assert (found.overrides, found.recipe, found.tests) == (
            base.overrides,
            base.recipe,
            base.tests,
        )


def test_a_rule_is_compared_with_uniform_weights_of_the_same_time_on_common_seeds():
    pages = {
        "time-toxcast-nvs-1300": written(uniform={0: 0.60, 1: 0.62}, mixture={0: 0.59}),
        "trust-toxcast-nvs": written(uniform={0: 0.50}, tow_targets={0: 0.61, 1: 0.60, 2: 0.9}),
    }
    assert gains("nvs", "", "tow-targets", pages) == pytest.approx({"0": 1.0, "1": -2.0})
    assert gains("nvs", "", "mixture", pages) == pytest.approx({"0": -1.0})
    assert gains("nvs", "", "auto", pages) == {}


def test_the_table_has_every_setting_and_says_what_was_not_run():
    pages = {
        "time-toxcast-nvs-1300": written(uniform={0: 0.60, 1: 0.62}, mixture={0: 0.59, 1: 0.61}),
        "time-toxcast-atg-noise-1300": written(uniform={0: 0.60}, mixture={0: 0.63}),
    }
    lines = table(pages)
    assert len(lines) == 2 + 8 + 1
    rows = {line.split(" | ")[0].strip("| "): line for line in lines}
    assert "| -1.0 ±0.0 (2) |" in rows["NVS"]
    assert "| +3.0 (1) |" in rows["ATG, 40 per cent mislabelled"]
    assert rows["TOX21"].count(" - ") == 4
    assert "| +1.00 (2) |" in rows["mean over the settings"]
