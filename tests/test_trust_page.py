"""The page of what `auto` must reach: requirements met and missed, by hand-made figures."""

import pytest
from benchmarks.experiments import EXPERIMENTS
from benchmarks.trust_page import ROWS, Outcome, Row, assays, table
from benchmarks.written import DOCS, Written, over_trainings

SEEDS = ("0", "1")


def outcome(ours, oracle=(), **rules):
    """An outcome of figures by seed."""

    def by_seed(values):
        return dict(zip(SEEDS, values, strict=False))

    return Outcome(by_seed(ours), by_seed(oracle), {n: by_seed(v) for n, v in rules.items()})


def test_every_row_is_an_experiment_whose_command_has_auto():
    for row in ROWS:
        weighters = EXPERIMENTS[row.page].weighters.split(",")
        assert {"uniform", "auto"} <= set(weighters)
        assert row.share is None or "oracle" in weighters


def test_a_share_of_the_oracles_gain_is_taken_over_common_seeds():
    row = Row("", "", share=0.95)
    assert outcome([9.6, 9.6], [10, 10]).misses(row) == []
    assert outcome([9.6, 8.0], [10]).misses(row) == []  # only the first seed has an oracle
    assert outcome([9.0, 9.0], [10, 10]).misses(row) == ["less of the oracle's gain"]
    assert outcome([9.0, 9.0]).misses(row) == ["oracle not run"]


def test_a_row_must_not_be_below_uniform():
    assert outcome([-0.4, -0.5]).misses(Row("", "")) == []
    assert outcome([-0.4, -0.8]).misses(Row("", "")) == ["below -0.5"]


def test_the_best_rule_is_compared_on_the_seeds_that_both_have():
    row = Row("", "", below_best=1.0)
    found = outcome([1.0, 3.0], exploitation=[1.5], trim=[0.0, 3.2])
    assert found.behind() == ("exploitation", pytest.approx(0.5))
    assert found.misses(row) == []
    assert outcome([1.0, 1.0], trim=[2.5, 2.5]).misses(row) == ["1.5 below trim"]
    assert outcome([1.0, 1.0]).misses(row) == ["no rule was run"]


def test_one_rule_for_all_assays_is_compared_on_common_seeds():
    found = assays(
        [outcome([1.0, 2.0], trim=[3.0], opus=[0.0, 0.0]), outcome([0.0, 0.0], trim=[-2.0])]
    )
    assert found[0].startswith("ToxCast on average over 2 settings: +0.75")
    assert "holds" in found[0]
    assert [line for line in found if line.startswith("| `")] == ["| `trim` | +0.50 | +0.50 |"]
    assert "does **not** hold" in assays([outcome([0.4, 0.4])])[0]
    assert assays([outcome([])]) == []


def test_intervals_are_over_trainings():
    assert over_trainings([1.0]) == "+1.0"
    assert over_trainings([1.0, 3.0]) == "+2.0 ±12.7"  # t = 12.7 with one degree of freedom


def test_what_was_not_run_is_said():
    lines = table({})
    assert len(lines) == 2 + len(ROWS)
    assert all("not run" in line for line in lines[2:])


def test_the_page_is_that_of_the_pages():
    names = {row.page for row in ROWS}
    pages = {name: Written(name) for name in names if (DOCS / f"{name}.json").is_file()}
    assert "\n".join(table(pages)) in (DOCS / "trust.md").read_text()
