"""The expected work of a race: heats that fall into the run, and nothing else."""

import pytest

import towpath as tp
from towpath.weighters.race.race import Race
from towpath.weighters.work import WindowWork, run_work, window_work

T = 5
ARMS = {"uniform": tp.Uniform(), "mixture": tp.Mixture(), "trim": tp.Trim()}
RACE = Race(ARMS, first=40, length=50, spacing=4.0, looks=5, deals=8)


def work(steps: range, judges: float = 0.5) -> WindowWork:
    return run_work(RACE, T, steps, judges=judges)


def test_before_the_first_heat_and_without_judges_a_race_costs_what_its_baseline_does():
    assert work(range(40)) == window_work(tp.Uniform(), T).times(8)
    assert work(range(400), judges=0.0) == window_work(tp.Uniform(), T).times(80)


def test_the_first_heat_trains_all_arms_to_half_time_and_half_of_them_to_the_end():
    # two other arms for 25 mini-batches and one for 25; three and then two arms are judged
    found = work(range(90))
    assert found.evaluations == pytest.approx(90 + 2 * 25 + 1 * 25)
    assert found.forwards == pytest.approx(5 * 8 * 0.5 * (1 + 1.5))


def test_a_later_heat_trains_the_best_of_the_others_beside_the_baseline():
    found = work(range(160, 210))
    assert found.evaluations == pytest.approx(50 + 50)
    assert found.forwards == pytest.approx(5 * 8 * 0.5 * 2)


def test_a_stretch_counts_the_part_of_a_heat_that_falls_into_it():
    rest = work(range(65, 90))
    assert rest.evaluations == pytest.approx(25 + 0.5 * 75)
    assert work(range(90, 160)).evaluations == pytest.approx(70)


def test_judging_is_ever_rarer():
    def share(steps: int) -> float:
        return work(range(steps)).evaluations / steps - 1

    assert share(400) > share(1000) > share(5000)
    assert share(5000) < 0.1


def test_arms_that_plan_on_a_part_are_counted_as_that_part():
    arms = {"uniform": tp.Uniform(), "a": tp.TOW.fast(), "b": tp.TOW.fast(query_share=0.5)}
    assert run_work(Race(arms), T, range(90), judges=0.5).parts == 0


def test_a_race_counts_what_it_is_expected_to_count():
    from tests.weighters.race.test_race import JUDGES, M, race, training, window
    from tests.weighters.race.test_race import T as SHORT

    weighter = race(rules={"uniform": tp.Uniform(), "trim": tp.Trim(), "mixture": tp.Mixture()})
    made = training(weighter)
    counted = sum(made.step(window(i)).evaluations for i in range(6))  # the heat and no more
    expected = run_work(weighter, SHORT, range(6 * SHORT), judges=len(JUDGES) / M)
    assert counted == pytest.approx(expected.evaluations + expected.forwards / 3, rel=0.15)
