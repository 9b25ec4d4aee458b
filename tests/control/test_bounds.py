"""Bounds are objects: those of the library, and one of a user's as a single class."""

import numpy as np
import pytest
import torch
from hypothesis import given
from scipy.optimize import lsq_linear, minimize

import towpath as tp
from tests.control.test_projected import programme, seeded, sizes
from tests.weighters.problems import regression
from towpath.control import BOUNDS, Bounds, Convex, bounds_of
from towpath.control.bounds import Project, Simplex


class AtMostTwice(Convex):
    """A user's bound: no task weighs more than twice the mean."""

    def project(self, weights, held=None):
        return weights.clamp(0.0, 2.0 / weights.shape[-1])


@seeded
@given(**sizes)
def test_a_box_of_the_users_is_solved_as_scipy_solves_it(seed, T, M):
    given_ = programme(seed, T, M)
    w = AtMostTwice().minimise(given_)
    assert w.finished
    # 1/2 d'Hd + g'd with H = R'R is a bounded least-squares problem in w
    R = np.linalg.cholesky(given_.H).T
    right = R @ given_.base.reshape(-1) - np.linalg.solve(R.T, given_.g)
    reference = lsq_linear(R, right, (0.0, 2.0 / M), tol=1e-14).x
    np.testing.assert_allclose(w.w, reference, atol=1e-7)


@pytest.mark.parametrize("targets", [True, False])
def test_a_plan_within_bounds_of_the_users_is_the_best_there(targets):
    problem = regression(3, 4, seed=3, samples=4)
    problem = problem if targets else problem.without_targets()
    T, M = problem.shape
    beta = 0.05

    def cost(w):
        leaf = torch.from_numpy(w.reshape(T, M)).requires_grad_()
        J = problem.cost(leaf, beta)
        (slope,) = torch.autograd.grad(J, leaf)
        return float(J.detach()), slope.numpy().reshape(-1)

    best = minimize(
        cost,
        np.full(T * M, 1.0 / M),
        jac=True,
        bounds=[(0.0, 2.0 / M)] * (T * M),
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    tow = tp.TOW(
        bounds=AtMostTwice(), beta=beta, iterations=60, adjoint="exact", acceptance="strict"
    )
    plan = problem.plan(tow)
    assert float(plan.weights.max()) == 2.0 / M, "the bound was not active"
    assert plan.cost == pytest.approx(best.fun, rel=1e-7)
    assert problem.plan(tp.TOW(beta=beta)).weights.max() > 2.0 / M


def test_a_random_nominal_outside_the_users_bounds_is_brought_inside():
    problem = regression(3, 4, seed=3)
    plan = problem.plan(tp.TOW(bounds=AtMostTwice(), nominal="random", iterations=0), seed=2)
    assert float(plan.weights.max()) == 0.5


def test_a_word_stands_for_one_object_and_an_object_for_itself():
    for word, bounds in BOUNDS.items():
        assert bounds_of(word) is bounds
        assert isinstance(bounds, Bounds)
    own = AtMostTwice()
    assert bounds_of(own) is own
    problem = regression(3, 3, seed=1)
    by_word, by_object = (problem.plan(tp.TOW(bounds=b)) for b in ("simplex", Simplex()))
    assert torch.equal(by_word.weights, by_object.weights)


@pytest.mark.parametrize("wrong", [Project, "projct", 3])
def test_what_is_neither_a_word_nor_bounds_is_refused(wrong):
    with pytest.raises(ValueError, match="bounds="):
        tp.TOW(bounds=wrong)
