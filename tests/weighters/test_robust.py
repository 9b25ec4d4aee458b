"""CVaR, group DRO and gradient agreement against their formulas."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from towpath import CVaR, GradientAgreement, GroupDRO, MiniBatch

losses_of = st.lists(st.floats(0, 10), min_size=1, max_size=8)


def weigh(weighter, losses, gradients=None, infos=None, state=None):
    losses = torch.tensor(losses, dtype=torch.float64)
    if gradients is None:
        gradients = torch.zeros(len(losses), 2, dtype=torch.float64)
    batch = MiniBatch(losses, gradients, infos)
    return weighter.weights(batch, state or weighter.initial_state())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(losses=losses_of, tail=st.floats(0.05, 1.0))
def test_cvar_solves_its_linear_programme(losses, tail):
    w, _ = weigh(CVaR(tail), losses)
    cap = min(1.0, 1.0 / (tail * len(losses)))
    best = linprog(-np.array(losses), A_eq=np.ones((1, len(losses))), b_eq=[1.0], bounds=(0, cap))
    assert best.fun is not None
    assert float(w @ torch.tensor(losses, dtype=torch.float64)) == pytest.approx(
        -best.fun, abs=1e-9
    )
    assert float(w.sum()) == pytest.approx(1.0)
    assert float(w.max()) <= cap + 1e-12
    assert float(w.min()) >= 0


def test_cvar_of_the_whole_is_uniform():
    w, _ = weigh(CVaR(1.0), [3.0, 1.0, 2.0])
    assert torch.allclose(w, torch.full((3,), 1 / 3, dtype=torch.float64))


def test_group_dro_follows_the_exponentiated_gradient():
    rate = 0.5
    infos = [{"group": "a"}, {"group": "b"}, {"group": "a"}]
    weighter = GroupDRO(rate)
    w, state = weigh(weighter, [1.0, 4.0, 3.0], infos=infos)
    qa, qb = math.exp(rate * 2.0), math.exp(rate * 4.0)
    qa, qb = qa / (qa + qb), qb / (qa + qb)
    assert state["q"] == pytest.approx({"a": qa, "b": qb})
    assert w.tolist() == pytest.approx([qa / 2, qb, qa / 2])
    again, state = weigh(weighter, [1.0, 1.0], infos=[{"group": "a"}, {"group": "c"}], state=state)
    raw = {"a": qa * math.exp(rate), "b": qb, "c": 0.5 * math.exp(rate)}
    total = sum(raw.values())
    assert state["q"] == pytest.approx({g: v / total for g, v in raw.items()})
    assert again.tolist() == pytest.approx([raw["a"], raw["c"]] / np.array(raw["a"] + raw["c"]))


@pytest.mark.parametrize("rate", [1000.0, 1e6])
def test_group_dro_at_a_rate_beyond_exp_weighs_the_worst_group_and_can_come_back(rate):
    infos = [{"group": "a"}, {"group": "b"}]
    w, state = weigh(GroupDRO(rate), [1.0, 4.0], infos=infos)
    assert w.tolist() == pytest.approx([0.0, 1.0])
    alone, state = weigh(GroupDRO(rate), [2.0], infos=[{"group": "a"}], state=state)
    assert alone.tolist() == [1.0]
    w, state = weigh(GroupDRO(rate), [9.0, 0.0], infos=infos, state=state)
    assert w.tolist() == pytest.approx([1.0, 0.0])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), M=st.integers(1, 6))
def test_gradient_agreement_is_the_double_sum_of_inner_products(seed, M):
    g = torch.randn(M, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    w, _ = weigh(GradientAgreement(), [1.0] * M, gradients=g)
    raw = [max(0.0, sum(float(g[i] @ g[j]) for j in range(M))) for i in range(M)]
    assert w.tolist() == pytest.approx([r / sum(raw) for r in raw])


def test_vanishing_gradients_agree_uniformly():
    w, _ = weigh(GradientAgreement(), [1.0, 2.0])
    assert w.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("make", [lambda: CVaR(0.0), lambda: CVaR(1.5), lambda: GroupDRO(-1.0)])
def test_options_out_of_range_are_value_errors(make):
    with pytest.raises(ValueError, match="expected"):
        make()
