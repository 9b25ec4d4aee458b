"""ABML against its formulas written out, with the divergences of torch.distributions."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.distributions import Gamma, Normal, kl_divergence
from torch.func import functional_call, grad
from torch.nn import functional

import towpath as tp
from tests.learners.tasks import classification, regression
from tests.oracles.compare import assert_close
from towpath.backbones import MLP, Conv4
from towpath.learners import ABML
from towpath.objective.draws import derived_seed

RATE, STEPS, SAMPLES, W, M, SEED = 0.05, 3, 4, 0.2, 500, 5
SETTINGS = {
    "mlp": (lambda: MLP(4, 3, (5,), "tanh"), classification((1, 3, 2)), "cross_entropy"),
    "conv4": (
        lambda: Conv4(1, 3, 16, filters=2),
        classification((1, 3, 2), shape=(1, 16, 16)),
        "cross_entropy",
    ),
    "regression": (lambda: MLP(4, 2, (5,), "tanh"), regression(), "mse"),
}
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross_entropy": functional.cross_entropy,
    "mse": functional.mse_loss,
}
Weights = dict[str, Tensor]


def learner_and_params(setting: str, first_order: bool = False) -> tuple[ABML, Weights]:
    torch.manual_seed(0)
    make, _, loss = SETTINGS[setting]
    learner = ABML(make().double(), RATE, STEPS, first_order, loss, SAMPLES, W, M, 0.1)
    params = {name: p.detach().clone() for name, p in learner.parameters().items()}
    for name, value in params.items():
        if name.startswith("log_sigmas"):
            value.add_(0.3 * torch.randn_like(value))
    return learner, params


class ByHand:
    """The outer loss of one task as a function of mu and log sigma, draws given in advance."""

    def __init__(self, learner: ABML, setting: str, first_order: bool, seed: int) -> None:
        self.model, self.first_order = learner.model, first_order
        _, self.task, loss = SETTINGS[setting]
        self.loss = LOSSES[loss]
        torch.manual_seed(seed)
        self.noise = [
            [
                {n: torch.randn(p.shape, dtype=p.dtype) for n, p in self.model.named_parameters()}
                for _ in range(SAMPLES)
            ]
            for _ in range(STEPS + 1)
        ]

    def outputs(self, mu: Weights, rho: Weights, noise: Weights, x: Tensor) -> Tensor:
        weights = {name: mu[name] + rho[name].exp() * noise[name] for name in mu}
        return functional_call(self.model, weights, (x,))

    @staticmethod
    def divergence(q: tuple[Weights, Weights], p: tuple[Weights, Weights]) -> Tensor:
        pairs = [[Normal(mu[n], rho[n].exp()) for n in mu] for mu, rho in (q, p)]
        return torch.stack([kl_divergence(a, b).sum() for a, b in zip(*pairs, strict=True)]).sum()

    def posterior(self, params: Weights) -> tuple[Weights, Weights]:
        names = [name for name, _ in self.model.named_parameters()]
        mu_0 = {n: params[f"model.{n}"] for n in names}
        rho_0 = {n: params[f"log_sigmas.{n.replace('.', '/')}"] for n in names}

        def support_loss(q: tuple[Weights, Weights], noise: list[Weights]) -> Tensor:
            losses = [
                self.loss(self.outputs(q[0], q[1], each, self.task.support_x), self.task.support_y)
                for each in noise
            ]
            return sum(losses) / SAMPLES + W * self.divergence(q, (mu_0, rho_0))

        q = (dict(mu_0), dict(rho_0))
        for step in range(STEPS):
            slopes = grad(support_loss)(q, self.noise[step])
            for part, slope in zip(q, slopes, strict=True):
                for n in part:
                    s = slope[n].detach() if self.first_order else slope[n]
                    part[n] = part[n] - RATE * s
        self.prior = (mu_0, rho_0)
        return q

    def __call__(self, params: Weights) -> Tensor:
        q = self.posterior(params)
        losses = [
            self.loss(self.outputs(q[0], q[1], each, self.task.query_x), self.task.query_y)
            for each in self.noise[STEPS]
        ]
        mu, rho = self.prior
        P = sum(m.numel() for m in mu.values())
        gamma = Gamma(*torch.tensor([1.0, 0.01], dtype=torch.float64))
        hyper = sum(
            -Normal(0.0, 1.0).log_prob(mu[n]).sum() - gamma.log_prob((-2 * rho[n]).exp()).sum()
            for n in mu
        )
        constant = P * (0.5 * math.log(2 * math.pi) - math.log(0.01))
        return (
            sum(losses) / SAMPLES + W * self.divergence(q, self.prior) + W / M * (hyper - constant)
        )


@pytest.mark.parametrize("first_order", [True, False])
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_outer_loss_and_its_gradient_equal_the_formulas(setting, first_order):
    learner, params = learner_and_params(setting, first_order)
    by_hand = ByHand(learner, setting, first_order, derived_seed(SEED, 0))
    task = SETTINGS[setting][1]
    said = tp.Objective(learner).evaluate(params, [task], seed=SEED)
    assert_close(said.losses[0], by_hand(params), 1e-9)
    theirs = grad(by_hand)(params)
    assert_close(said.gradients[0], torch.cat([theirs[n].reshape(-1) for n in params]), 1e-9)
    pieces = said.gradients[0].split([p.numel() for p in params.values()])
    assert all(piece.abs().max() > 0 for piece in pieces)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_prediction_is_the_mean_over_draws_from_the_posterior(setting):
    learner, params = learner_and_params(setting)
    by_hand = ByHand(learner, setting, False, SEED)
    task = SETTINGS[setting][1]
    q = by_hand.posterior(params)
    rows = torch.stack([by_hand.outputs(*q, n, task.query_x) for n in by_hand.noise[STEPS]])
    expected = (rows if learner.loss.regresses else rows.softmax(-1)).mean(0)
    torch.manual_seed(SEED)
    predictor = learner.adapt(params, task.support_x, task.support_y)
    assert_close(predictor.predict(task.query_x), expected.detach(), 1e-9)
    assert predictor(task.query_x).shape == (*expected.shape, SAMPLES)


def test_a_narrow_prior_is_maml():
    """Without a divergence and with sigma near zero, mu adapts as the weights of MAML do."""
    torch.manual_seed(0)
    model, task = MLP(4, 3, (5,), "tanh").double(), classification((1, 3, 2))
    learner = ABML(model, 0.1, 3, kl_weight=0.0, samples=1, initial_sigma=1e-6)
    maml = tp.learners.MAML(model, 0.1, 3)
    found = learner(learner.parameters(), task)[..., 0]
    torch.testing.assert_close(found, maml(maml.parameters(), task), rtol=0, atol=1e-4)


def test_the_posterior_starts_at_the_prior():
    learner, params = learner_and_params("mlp")
    still = ABML(learner.model, adaptation_steps=0, kl_weight=W, tasks=10**12)
    task = SETTINGS["mlp"][1]
    predictor = still.adapt(params, task.support_x, task.support_y)
    assert predictor.penalty is not None
    assert float(predictor.penalty(1)) < 1e-8, "no divergence before the first step"


@pytest.mark.parametrize(
    "option", [{"samples": 0}, {"kl_weight": -1}, {"tasks": 0}, {"initial_sigma": 0}], ids=str
)
def test_impossible_settings_are_refused(option):
    with pytest.raises(ValueError, match=next(iter(option))):
        ABML(MLP(4, 3), **option)


@pytest.mark.parametrize("samples", [2.5, 2.0, True], ids=str)
def test_draws_are_a_whole_number(samples):
    with pytest.raises(ValueError, match=rf"samples={samples}; expected a whole number"):
        ABML(MLP(4, 3), samples=samples)
