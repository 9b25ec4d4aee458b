"""The difference of two costs, against sums of fractions and simulated rounding."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from towpath.control import ActionPrior, Trajectory, Work
from towpath.control.difference import difference, rounding, standard_error

FREE = ActionPrior(0.0, 0.0)
F64 = torch.float64


def of(rows, actions=None):
    """A trajectory with these costs of single tasks, one row a state."""
    actions = torch.zeros(len(rows), 1, dtype=F64) if actions is None else actions
    sums = [float(row.sum()) for row in rows]
    return Trajectory(actions, sums, True, True, Work(), kept=None, task_costs=rows)


def drawn(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


class Float32:
    epsilon = torch.finfo(torch.float32).eps


def test_small_changes_of_large_costs_are_summed_exactly():
    base = [1e9 + drawn(t, 5) for t in range(3)]
    trial = [row + 1e-5 * drawn(10 + t, 5) for t, row in enumerate(base)]
    exact = sum(
        Fraction(a) - Fraction(b)
        for mine, theirs in zip(trial, base, strict=True)
        for a, b in zip(mine.tolist(), theirs.tolist(), strict=True)
    )
    found = difference(of(trial), of(base), FREE).change
    assert found == pytest.approx(float(exact), rel=1e-12)
    assert abs(of(trial).cost(FREE) - of(base).cost(FREE) - float(exact)) > 1e-8, "sums round"


def test_the_prior_is_part_of_the_change():
    rows, prior = [drawn(0, 3)], ActionPrior(4.0, 0.5)
    near, far = torch.full((1, 3), 0.5, dtype=F64), torch.full((1, 3), 0.75, dtype=F64)
    assert difference(of(rows, far), of(rows, near), prior).change == pytest.approx(
        0.5 * 4.0 * 3 * 0.25**2
    )


def test_the_error_is_the_scatter_of_sums_of_as_many_tasks():
    each = 0.3 + 0.7 * drawn(3, 4000, 40)
    sums = each.sum(1)
    errors = torch.tensor([standard_error(row) for row in each])
    assert float(errors.mean()) == pytest.approx(float(sums.std()), rel=0.03)


def test_tasks_that_did_not_change_add_nothing_to_the_error():
    base, moved = drawn(0, 10), drawn(1, 10)
    alone = difference(of([base + moved]), of([base]), FREE).error
    same = drawn(2, 30)
    beside = difference(of([same, base + moved]), of([same, base]), FREE).error
    assert beside == pytest.approx(alone, rel=1e-12)
    assert difference(of([same]), of([same]), FREE).error == 0.0


def test_without_single_tasks_each_state_counts_as_one():
    a = replace(of([]), state_costs=[1.0, 2.0, 4.0])
    b = replace(of([]), state_costs=[1.5, 2.0, 1.0])
    found = difference(a, b, FREE)
    assert found.change == 2.5
    assert found.error == pytest.approx(math.sqrt(2) * torch.tensor([-0.5, 3.0]).std().item())


def test_the_rounding_of_a_difference_grows_with_the_root_of_the_number_of_tasks():
    few, many = of([torch.ones(25, dtype=F64)]), of([torch.ones(10_000, dtype=F64)])
    ratio = rounding(Float32(), many, FREE) / rounding(Float32(), few, FREE)
    assert ratio == pytest.approx(20.0, rel=1e-3)


def test_losses_rounded_one_by_one_stay_within_the_rounding():
    exact = 1.0 + drawn(5, 2000, 50).abs()
    # each loss off by as much as losses of a network are: 43 units, see docs/decisions.md
    noise = 43 * Float32.epsilon * exact * drawn(6, 2000, 50)
    wrong = (noise.sum(1)).abs()
    bounds = torch.tensor([rounding(Float32(), of([row]), FREE) for row in exact])
    within = float((wrong < 3 * bounds).double().mean())
    assert within > 0.95
    worst_case = Float32.epsilon * 43 * exact.sum(1)
    assert float((bounds / worst_case).max()) < 0.15
