"""The expected work of a window: what the weighter says, or one evaluation of every mini-batch.

That plans really do this work is shown in tests/training (test_estimate, test_rules_with_targets).
"""

from dataclasses import replace

import pytest

import towpath as tp
from towpath.weighters import WEIGHTERS
from towpath.weighters.tow.work import TRIALS
from towpath.weighters.work import WindowWork, plans_windows, window_work


class Own:
    """A user's weighter that says nothing of its work."""

    wants_targets = False

    def plan(self, *arguments, **options):
        raise NotImplementedError


def test_a_class_that_says_nothing_evaluates_every_mini_batch_once():
    assert window_work(Own(), 5, targets=0.5) == WindowWork(5)
    assert not plans_windows(Own())


def test_a_class_may_say_itself_what_it_expects():
    class Twice(Own):
        plans_windows = True

        def expected_work(self, T, targets, inertia):
            return WindowWork(2 * T + targets, forwards=inertia)

    assert window_work(Twice(), 5, 0.5, 0.8) == WindowWork(10.5, forwards=0.8)
    assert plans_windows(Twice())


@pytest.mark.parametrize("name", WEIGHTERS)
def test_only_plans_and_races_with_a_plan_hold_a_whole_window(name):
    weighter = WEIGHTERS[name].make()
    assert plans_windows(weighter) == isinstance(weighter, tp.TOW | tp.PDS | tp.Kinds | tp.Race)
    if isinstance(weighter, tp.Race):
        arms = {"uniform": tp.Uniform(), "trim": tp.Trim()}
        assert not plans_windows(tp.Race(arms))


def test_trials_sketches_and_targets_of_a_plan_are_counted():
    strict = tp.TOW(iterations=2, acceptance="strict")
    plain = replace(strict, curvature="none")
    assert window_work(plain, 5).evaluations == pytest.approx(5 + 2 * TRIALS * 4)
    aimed = window_work(plain, 5, targets=0.5).evaluations
    assert aimed == pytest.approx(5 + 2 * TRIALS * 4 + (1 + 2 * TRIALS) * 5 * 0.5)
    sketched = window_work(replace(strict, probes=3), 5)
    assert sketched.sketches == pytest.approx(3 * (1 + TRIALS) * 4)
    assert window_work(tp.TOW(iterations=0), 5) == WindowWork(5)
    # a plan that knows of chance is expected to end after one iteration, and prepares no second one
    by_chance = window_work(tp.TOW(iterations=2), 5)
    assert by_chance.evaluations == pytest.approx(5 + TRIALS * 4)
    assert by_chance.sketches == pytest.approx(4)


@pytest.mark.parametrize(("targets", "share"), [(0.0, 0.45), (0.5, 0.25)])
def test_a_plan_on_a_part_says_how_large_the_part_is(targets, share):
    work = window_work(tp.TOW.fast(), 5, targets, inertia=0.0)
    assert (work.parts, work.part_share) == (4, share)
