"""Bayesian TAML against its formulas written out: start, class weights, steps, divergence."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.func import functional_call, grad
from torch.nn import functional

import towpath as tp
from tests.learners.tasks import classification
from tests.learners.test_support_encoder import by_hand as posteriors_of
from tests.oracles.compare import assert_close
from towpath.backbones import MLP, Conv4
from towpath.learners import BayesianTAML
from towpath.objective.draws import derived_seed

STEPS, SAMPLES, SEED = 3, 2, 5
SHOTS = (1, 4, 2)
CONVOLUTIONS: list[tuple[str, ...]] = [
    (f"blocks.{i}.conv.weight", f"blocks.{i}.norm.weight", f"blocks.{i}.norm.bias")
    for i in range(4)
]
DENSE: list[tuple[str, ...]] = [
    ("layers.0.weight", "layers.0.bias"),
    ("layers.1.weight", "layers.1.bias"),
]
SETTINGS: dict[str, Any] = {
    "conv4": (
        lambda: Conv4(1, None, 16, filters=4),
        classification(SHOTS, shape=(1, 16, 16)),
        CONVOLUTIONS,
    ),
    "mlp": (lambda: MLP(6, None, (5, 4), "tanh"), classification(SHOTS, shape=(6,)), DENSE),
}


def learner_and_params(setting: str, first_order: bool = False):
    torch.manual_seed(0)
    model = SETTINGS[setting][0]().double()
    learner = BayesianTAML(model, 0.2, STEPS, first_order, samples=SAMPLES)
    params = {name: p.detach().clone() for name, p in learner.parameters().items()}
    for name, value in params.items():
        if "rates" in name:
            value.add_(0.1 * torch.randn_like(value))
    return learner, params


class ByHand:
    """The outer loss of one task as a function of all meta-parameters, with draws in advance."""

    def __init__(self, learner, setting, first_order, seed, steps=STEPS, samples=SAMPLES) -> None:
        self.model, self.first_order = learner.model, first_order
        _, self.task, self.layers = SETTINGS[setting]
        self.steps, self.samples, self.seed = steps, samples, seed

    def balances(self, params):
        own = {n.removeprefix("encoder."): p for n, p in params.items() if n.startswith("encoder.")}
        return posteriors_of(own, self.task.support_x, self.task.support_y)

    def draws(self, balances) -> list[dict[str, Tensor]]:
        if not self.samples:
            return [{name: mean for name, (mean, _) in balances.items()}]
        torch.manual_seed(self.seed)
        return [
            {
                name: mean + std * torch.randn(mean.shape, dtype=torch.float64)
                for name, (mean, std) in balances.items()
            }
            for _ in range(self.samples)
        ]

    def logits(self, theta, head, x):
        return functional_call(self.model, theta, (x,)) @ head["weight"].T + head["bias"]

    def adapted(self, params, drawn):
        """Theta and head after the steps."""
        theta: dict[str, Tensor] = {}
        alpha: dict[str, Tensor] = {}
        gamma: dict[str, Tensor] = {}
        place = 0
        for layer, names in enumerate(self.layers):
            for name in names:
                theta[name] = params[f"model.{name}"]
                alpha[name] = params[f"rates.{name.replace('.', '/')}"]
                gamma[name] = drawn["gamma"][layer]
            n = len(theta[names[0]])
            z_w, z_b = drawn["z"][place : place + n], drawn["z"][place + n : place + 2 * n]
            place += 2 * n
            W = theta[names[0]]
            theta[names[0]] = torch.stack([W[i] * (1 + z_w[i]) for i in range(n)])
            theta[names[-1]] = theta[names[-1]] + z_b
        assert place == len(drawn["z"])
        y, C = self.task.support_y, len(drawn["omega"])
        rate = {name: params[f"head_rates.{name}"] for name in ("weight", "bias")}
        head = {
            "weight": torch.zeros(C, rate["weight"].shape[1], dtype=torch.float64),
            "bias": torch.zeros(C, dtype=torch.float64),
        }
        share = drawn["omega"].exp() / drawn["omega"].exp().sum()

        def support_loss(both):
            theta, head = both
            log_p = self.logits(theta, head, self.task.support_x).log_softmax(1)
            total = 0
            for c in range(C):
                of_class = -sum(log_p[j, c] for j in range(len(y)) if y[j] == c)
                total = total + share[c] * C / len(y) * of_class
            return total

        for _ in range(self.steps):
            slopes = grad(support_loss)((theta, head))
            if self.first_order:
                slopes = tuple({n: s.detach() for n, s in part.items()} for part in slopes)
            theta = {n: w - gamma[n].exp() * alpha[n] * slopes[0][n] for n, w in theta.items()}
            head = {
                n: w - drawn["gamma"][-1].exp() * rate[n] * slopes[1][n] for n, w in head.items()
            }
        return theta, head

    def outputs(self, params) -> list[Tensor]:
        draws = self.draws(self.balances(params))
        adapted = [self.adapted(params, drawn) for drawn in draws]
        return [self.logits(theta, head, self.task.query_x) for theta, head in adapted]

    def __call__(self, params) -> Tensor:
        outputs = self.outputs(params)
        losses = [functional.cross_entropy(each, self.task.query_y) for each in outputs]
        divergence = sum(
            kl_divergence(Normal(mean, std), Normal(0.0, 1.0)).sum()
            for mean, std in self.balances(params).values()
        )
        samples = len(self.task.support_y) + len(self.task.query_y)
        return torch.stack(losses).mean() + divergence / samples


@pytest.mark.parametrize("first_order", [True, False])
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_outer_loss_and_its_gradient_equal_the_formulas(setting, first_order):
    learner, params = learner_and_params(setting, first_order)
    by_hand = ByHand(learner, setting, first_order, derived_seed(SEED, 0))
    said = tp.Objective(learner).evaluate(params, [SETTINGS[setting][1]], seed=SEED)
    assert_close(said.losses[0], by_hand(params), 1e-9)
    theirs = grad(by_hand)(params)
    pieces = said.gradients[0].split([p.numel() for p in params.values()])
    for (name, p), mine in zip(params.items(), pieces, strict=True):
        assert_close(mine.reshape(p.shape), theirs[name], 1e-9)
        assert mine.abs().max() > 0, f"{name} has no part in the loss"


@pytest.mark.parametrize("test_samples", [0, 3])
def test_evaluation_takes_its_own_steps_and_averages_its_own_draws_or_takes_the_means(test_samples):
    learner, params = learner_and_params("conv4")
    learner.test_steps, learner.test_samples = 6, test_samples
    learner.module.eval()
    task = SETTINGS["conv4"][1]
    by_hand = ByHand(learner, "conv4", False, SEED, steps=6, samples=test_samples)
    outputs = by_hand.outputs(params)
    assert len(outputs) == max(1, test_samples)
    torch.manual_seed(SEED)
    predictor = learner.adapt(params, task.support_x, task.support_y)
    expected = torch.stack([each.softmax(1) for each in outputs]).mean(0)
    assert_close(predictor.predict(task.query_x), expected.detach(), 1e-9)


def test_a_conv4_of_32_filters_has_256_numbers_z_and_five_layers():
    learner = BayesianTAML(Conv4(3, None, 84))
    shapes = {name: tuple(p.shape) for name, p in learner.parameters().items()}
    assert shapes["encoder.z.mean.weight"] == (256, 64)
    assert shapes["encoder.gamma.mean.weight"] == (5, 64)
    assert shapes["encoder.omega.hidden.weight"] == (64, 256)
    assert shapes["encoder.body.7.weight"] == (64, 10 * 21 * 21)
    assert shapes["head_rates.weight"] == (1, 32 * 5 * 5)
    assert (learner.parameters()["rates.blocks/0/conv/weight"] == 0.01).all()


def test_tasks_of_any_ways_are_taken():
    learner = BayesianTAML(MLP(6, None, (5,)).double(), 0.1, 2)
    for shots in ((1, 2), (1, 2, 3, 1)):
        task = classification(shots, shape=(6,))
        assert learner(learner.parameters(), task).shape == (2 * len(shots), len(shots), 1)


def test_a_network_of_images_that_does_not_tell_their_size_is_told_it():
    def network() -> nn.Module:
        return nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten())

    with pytest.raises(ValueError, match=r"does not say their size.*Pass inputs="):
        BayesianTAML(network())
    learner = BayesianTAML(network(), inputs=(1, 8, 8))
    task = classification((1, 2), shape=(1, 8, 8), dtype=torch.float32)
    assert learner(learner.parameters(), task).shape == (4, 2, 1)


@pytest.mark.parametrize("option", ["test_steps", "samples", "test_samples"])
def test_impossible_settings_are_refused(option):
    with pytest.raises(ValueError, match=option):
        BayesianTAML(MLP(6, None, (5,)), **{option: -1})


@pytest.mark.parametrize("option", ["samples", "test_samples"])
def test_draws_are_a_whole_number(option):
    with pytest.raises(ValueError, match=rf"{option}=1.5; expected a whole number"):
        BayesianTAML(MLP(6, None, (5,)), **{option: 1.5})


def test_images_that_the_encoder_cannot_halve_twice_are_refused_at_once():
    def network() -> nn.Module:
        return nn.Sequential(nn.Conv2d(1, 2, 2), nn.Flatten())

    for shape in ((1, 3, 3), (1, 8, 3), (1, 3, 8)):
        with pytest.raises(ValueError, match=r"expected images of at least 4 x 4.*Enlarge"):
            BayesianTAML(network(), inputs=shape)
    learner = BayesianTAML(network(), inputs=(1, 4, 4))
    task = classification((1, 2), shape=(1, 4, 4), dtype=torch.float32)
    assert learner(learner.parameters(), task).shape == (4, 2, 1)
