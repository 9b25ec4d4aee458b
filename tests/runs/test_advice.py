"""The advice of a comparison: which weighter, how sure, and honest about noise and seeds."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.reports import synthetic
from towpath.metrics import ACCURACY, LOSS
from towpath.reports.sections.results import finding
from towpath.runs.advice import (
    Candidate,
    Setting,
    advised,
    corrected,
    correction_words,
    holm,
)
from towpath.runs.comparing import compared
from towpath.runs.comparison import RESULT, write_comparison
from towpath.runs.differences import PairedDifference
from towpath.runs.read_studies import read_studies

SETTING = Setting("uniform", "omniglot", ACCURACY, 600)


def candidate(label: str, mean: float, p: float, seeds: int = 3, ahead: int = 3) -> Candidate:
    return Candidate(label, PairedDifference(mean, abs(mean) / 2, p), seeds, ahead)


def test_holm_is_the_step_down_procedure():
    chances = np.array([0.01, 0.04, 0.03, 0.005, 0.2])
    found = holm(chances.tolist())
    order = np.argsort(chances)
    for level in (0.02, 0.04, 0.05, 0.1, 0.15):
        rejected = set()  # as Holm states it: stop at the first that is too large
        for k, i in enumerate(order):
            if chances[i] > level / (len(chances) - k):
                break
            rejected.add(int(i))
        assert {i for i, p in enumerate(found) if p <= level} == rejected
    assert holm([]) == []
    assert holm([math.nan, 0.01]) == [1.0, 0.02]


def test_holm_keeps_its_level_where_no_weighter_differs():
    generator = np.random.default_rng(0)
    wrong = 0
    for _ in range(2000):
        tests = [stats.ttest_1samp(generator.normal(size=20), 0).pvalue for _ in range(4)]
        wrong += min(holm(tests)) <= 0.05
    assert wrong / 2000 < 0.065


def test_the_largest_gain_beyond_noise_is_advised():
    found = advised([candidate("mixture", 0.11, 1e-9), candidate("trim", 0.06, 1e-12)], SETTING)
    assert found is not None
    assert found.weighter == "mixture"
    assert found.sentence() == (
        "Use mixture for this data: +11.0 ±5.5 points of accuracy on omniglot over 600 test tasks "
        "and 3 seeds, ahead in 3 of 3, p < 0.001 after Holm's correction for 2 comparisons, "
        "compared with uniform."
    )


def test_a_gain_within_noise_is_not_advised_and_many_weighters_raise_the_bar():
    luck = candidate("lucky", 0.02, 0.02)
    alone = advised([luck], SETTING)
    assert alone is not None
    assert alone.weighter == "lucky"
    assert "Holm" not in alone.sentence()
    others = [candidate(f"w{i}", -0.01, 0.5) for i in range(4)]
    among = advised([luck, *others], SETTING)
    assert among is not None
    assert among.weighter == "uniform"
    assert among.chance == pytest.approx(0.1)
    assert "no weighter is better than it beyond noise (nearest: lucky, +2.0" in among.sentence()


def test_worse_weighters_and_the_oracle_are_never_advised():
    worse = advised([candidate("mixture", -0.1, 1e-9)], SETTING)
    assert worse is not None
    assert worse.weighter == "uniform"
    bound = [candidate("oracle", 0.2, 1e-9), candidate("trim", 0.05, 1e-5)]
    found = advised(bound, SETTING)
    assert found is not None
    assert found.weighter == "trim"
    assert found.comparisons == 1
    assert advised(bound[:1], SETTING) is None
    assert advised([candidate("uniform", -0.1, 1e-9)], replace(SETTING, baseline="oracle")) is None
    unknown = [candidate("doge", math.nan, math.nan), candidate("trim", 0.05, 1e-5)]
    for order in (unknown, unknown[::-1]):
        known = advised(order, SETTING)
        assert known is not None
        assert (known.weighter, known.comparisons) == ("trim", 1)
    lower = advised([candidate("trim", -0.1, 1e-9)], Setting("uniform", "omniglot", LOSS, 9))
    assert lower is not None
    assert lower.weighter == "trim"  # a smaller loss is better


def test_few_seeds_are_told():
    one = advised([candidate("trim", 0.1, 1e-9, 1, 1)], SETTING)
    assert one is not None
    assert "With one seed the luck of a training is not in the interval" in one.sentence()
    assert "ahead" not in one.sentence()
    two = advised([candidate("trim", 0.1, 1e-9, 2, 1)], SETTING)
    assert two is not None
    assert "2 seeds, ahead in 1 of 2" in two.sentence()
    assert "With 2 seeds" in two.sentence()


def test_terminal_file_and_report_say_the_same(tmp_path):
    made = synthetic.write_comparison(tmp_path / "c", 6, weighters=("uniform", "tow"), seeds=(0, 3))
    result = compared(made)
    write_comparison(made, result)
    assert result.advice is not None
    said = result.advice.sentence()
    assert json.loads((made / RESULT).read_text())["advice"]["sentence"] == said
    (study,) = read_studies([made])
    assert finding(study) == said


def test_the_correction_counts_the_weighters_that_may_be_chosen():
    chances = {"trim": 0.02, "cvar": 0.4, "oracle": 0.03, "doge": math.nan}
    found = corrected(
        {
            name: PairedDifference(math.nan if math.isnan(p) else 0.1, 0.05, p)
            for name, p in chances.items()
        }
    )
    assert found == {"trim": 0.04, "cvar": 0.4, "oracle": 0.03, "doge": 1.0}
    assert correction_words(["trim"]) == ""
    assert correction_words(["oracle", "trim", "cvar"]) == (
        " after Holm's correction for 2 comparisons, oracle not among them"
    )
