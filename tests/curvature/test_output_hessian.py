"""The Gauss-Newton diagonal of every loss against a dense J'HJ, in float64."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import towpath as tp
from tests.curvature.test_gauss_newton import diagonals
from tests.oracles.compare import assert_close
from tests.oracles.curvature import dense_gauss_newton, hessian
from tests.oracles.training import network, parameters
from towpath.curvature.output_hessian import (
    LARGEST_BLOCK,
    LinearError,
    NotConvexError,
    NotTwiceError,
    TooCoupledError,
    output_factor,
)
from towpath.losses import loss_of

GENERATOR = torch.Generator().manual_seed(3)
INPUTS = torch.randn(6, 3, generator=GENERATOR, dtype=torch.float64)
LABELS = torch.tensor([0, 1, 1, 0, 1, 0])
NUMBERS = torch.randn(6, 2, generator=GENERATOR, dtype=torch.float64)
YES = (NUMBERS > 0).double()
WEIGHT = torch.tensor([0.3, 2.0], dtype=torch.float64)


def log_probabilities(params, task):
    return network(params, task[0]).log_softmax(1), task[1]


def scores(params, task):
    return network(params, task[0]), task[1]


def positions(params, task):
    """Class scores for two positions of each sample, `[n, C, 2]`."""
    stacked = torch.stack([network(params, task[0]), network(params, -task[0].flip(0))], -1)
    return stacked, task[1]


def contrast(f, y):
    """A convex loss that couples the samples: the log of a sum over all of them."""
    return torch.logsumexp(f.reshape(-1), 0) - (f * y).mean()


CASES = {
    "cross_entropy": ("cross_entropy", scores, LABELS, F.cross_entropy),
    "label smoothing": (
        {"name": "cross_entropy", "label_smoothing": 0.1},
        scores,
        LABELS,
        lambda f, y: F.cross_entropy(f, y, label_smoothing=0.1),
    ),
    "class weights": (
        nn.CrossEntropyLoss(WEIGHT, label_smoothing=0.1),
        scores,
        LABELS,
        lambda f, y: F.cross_entropy(f, y, WEIGHT, label_smoothing=0.1),
    ),
    "class weights of positions": (
        nn.CrossEntropyLoss(WEIGHT),
        positions,
        torch.stack([LABELS, LABELS.flip(0)], -1),
        lambda f, y: F.cross_entropy(f, y, WEIGHT),
    ),
    "ignored labels": (
        nn.CrossEntropyLoss(ignore_index=0),
        scores,
        LABELS,
        lambda f, y: F.cross_entropy(f, y, ignore_index=0),
    ),
    "probabilities": (
        "cross_entropy",
        scores,
        NUMBERS.softmax(1),
        F.cross_entropy,
    ),
    "mse": ("mse", scores, NUMBERS, F.mse_loss),
    "a sum": (nn.MSELoss(reduction="sum"), scores, NUMBERS, lambda f, y: ((f - y) ** 2).sum()),
    "huber": (
        {"name": "huber", "delta": 1.5},
        scores,
        NUMBERS,
        lambda f, y: F.huber_loss(f, y, delta=1.5),
    ),
    "smooth l1": (nn.SmoothL1Loss(), scores, NUMBERS, F.smooth_l1_loss),
    "bce": ("bce", scores, YES, F.binary_cross_entropy_with_logits),
    "bce weighted": (
        nn.BCEWithLogitsLoss(pos_weight=WEIGHT),
        scores,
        YES,
        lambda f, y: F.binary_cross_entropy_with_logits(f, y, pos_weight=WEIGHT),
    ),
    "poisson": (
        nn.PoissonNLLLoss(),
        scores,
        YES,
        lambda f, y: (f.exp() - y * f).mean(),
    ),
    "a function of vectors": (
        lambda f, y: (1 + (f - y).square().sum(1)).sqrt().mean(),
        scores,
        NUMBERS,
        lambda f, y: (1 + (f - y).square().sum(1)).sqrt().mean(),
    ),
    "a function of all samples": (contrast, scores, YES, contrast),
}


@pytest.mark.parametrize("case", CASES)
def test_the_diagonal_of_every_loss_equals_the_dense_matrix(case):
    loss, fn, targets, reference = CASES[case]
    task = (INPUTS, targets)
    dense = dense_gauss_newton(fn, parameters(), task, reference)
    (h,) = diagonals(fn, loss, [task], "gauss-newton-exact")
    assert float(h.abs().max()) > 0
    assert_close(h, dense.diagonal(), 1e-10)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_diagonal_of_nll_is_that_of_cross_entropy_in_the_scores(weight):
    """In the log-probabilities themselves the loss is linear, and its matrix would be zero."""
    task = (INPUTS, LABELS)
    dense = dense_gauss_newton(
        scores, parameters(), task, lambda f, y: F.cross_entropy(f, y, weight)
    )
    (h,) = diagonals(log_probabilities, nn.NLLLoss(weight), [task], "gauss-newton-exact")
    assert_close(h, dense.diagonal(), 1e-10)


@pytest.mark.parametrize("case", ["class weights", "bce", "a function of all samples"])
def test_the_sketch_of_a_loss_by_autograd_is_unbiased(case):
    loss, fn, targets, reference = CASES[case]
    task = (INPUTS, targets)
    dense = dense_gauss_newton(fn, parameters(), task, reference).diagonal()
    draws = torch.stack(
        [diagonals(fn, loss, [task], "gauss-newton", seed=100 * s, probes=64)[0] for s in range(32)]
    )
    assert float(draws.min()) >= 0.0
    z = (draws.mean(0) - dense) / (draws.std(0) / len(draws) ** 0.5).clamp_min(1e-14)
    assert float(z.abs().max()) < 5.0  # Student's t with 31 degrees: once in 10,000 for each
    assert float((draws.mean(0) - dense).abs().max() / dense.max()) < 0.2


def factor(function, outputs, targets):
    return output_factor(loss_of(function), outputs, targets)


def test_the_cut_is_as_fine_as_the_loss_allows():
    f = torch.randn(4, 3, 2, generator=GENERATOR, dtype=torch.float64)
    y = torch.rand(4, 3, 2, generator=GENERATOR, dtype=torch.float64)
    labels = torch.zeros(4, 2, dtype=torch.long)
    weighted = nn.CrossEntropyLoss(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    assert factor("bce", f, y).rows.shape == (24, 1)
    assert factor(weighted, f, labels).rows.shape == (8, 3)
    norms = factor(lambda f, y: (1 + (f - y).square().sum((1, 2))).sqrt().mean(), f, y)
    assert norms.rows.shape == (4, 6)
    assert factor(contrast, f, y).rows.shape == (1, 24)


def test_the_factor_is_that_of_the_dense_hessian():
    f = torch.randn(3, 2, generator=GENERATOR, dtype=torch.float64)
    found = factor(contrast, f, torch.zeros_like(f))
    R = torch.stack([found.times(e[None])[0] for e in torch.eye(6, dtype=torch.float64)], 1)
    H = hessian(lambda at: contrast(at, torch.zeros_like(f)))(f).reshape(6, 6)
    assert_close(R @ R.T, H, 1e-12)


def test_why_there_is_no_factor_is_told():
    f = torch.randn(4, 3, generator=GENERATOR, dtype=torch.float64)
    y = torch.zeros_like(f)
    with pytest.raises(NotConvexError):
        factor(lambda f, y: torch.sin(f - y).mean(), f, y)
    with pytest.raises(LinearError):
        factor(F.l1_loss, f, y)
    many = torch.randn(LARGEST_BLOCK + 1, 1, dtype=torch.float64, generator=GENERATOR)
    with pytest.raises(TooCoupledError):
        factor(contrast, many, torch.zeros_like(many))
    with pytest.raises(NotTwiceError, match="not implemented"):
        factor(nn.MultiMarginLoss(), f, torch.zeros(4, dtype=torch.long))


def test_float32_is_enough_to_see_what_a_loss_couples():
    torch.manual_seed(0)
    f = 5 * torch.randn(30, 5)
    labels = torch.randint(0, 5, (30,))
    weighted = nn.CrossEntropyLoss(torch.rand(5) + 0.1)
    assert factor(weighted, f, labels).rows.shape == (30, 5)
    assert factor("bce", f, (f > 1).float()).rows.shape == (150, 1)


def test_an_objective_of_a_loss_by_autograd_gives_the_gradient_of_torch():
    task = (INPUTS, LABELS)
    params = {name: p.requires_grad_() for name, p in parameters().items()}
    objective = tp.Objective.from_function(scores, loss=nn.CrossEntropyLoss(WEIGHT))
    here = objective.evaluate(params, [task])
    value = F.cross_entropy(scores(params, task)[0], LABELS, WEIGHT)
    pieces = torch.autograd.grad(value, list(params.values()))
    assert_close(here.gradients[0], torch.cat([p.reshape(-1) for p in pieces]), 1e-13)
    assert torch.equal(here.losses[0], value.detach())
