"""The encoder of a support set against loops over classes and samples."""

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence
from torch.nn import functional

from tests.learners.tasks import classification, regression
from tests.oracles.compare import assert_close
from towpath.learners.support_encoder import Posterior, SupportEncoder

SHOTS = (1, 5, 2)


def made(shape: tuple[int, ...]) -> SupportEncoder:
    torch.manual_seed(0)
    return SupportEncoder(shape, layers=3, numbers=7).double()


def dense(p: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def pooled(p: dict[str, Tensor], name: str, members: Tensor, number: float) -> Tensor:
    """[mean, variance, number] of each feature -> 4, ReLU, flattened."""
    columns = []
    for feature in members.T:
        mean = feature.sum() / len(feature)
        variance = ((feature - mean) ** 2).sum() / len(feature)
        three = torch.stack([mean, variance, torch.full_like(mean, number)])
        columns.append(dense(p, f"{name}.mix", three).clamp(min=0))
    return torch.cat(columns)


def head(p: dict[str, Tensor], name: str, x: Tensor) -> tuple[Tensor, Tensor]:
    hidden = dense(p, f"{name}.hidden", x).clamp(min=0)
    return dense(p, f"{name}.mean", hidden), dense(p, f"{name}.std", hidden).exp().log1p()


def by_hand(p: dict[str, Tensor], x: Tensor, y: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
    """Means and standard deviations of omega, gamma and z."""
    if x.ndim == 4:
        for i in (0, 3):
            x = functional.conv2d(x, p[f"body.{i}.weight"], p[f"body.{i}.bias"], padding=1)
            x = functional.max_pool2d(x.clamp(min=0), 2)
        features = dense(p, "body.7", x.flatten(1))
    else:
        features = dense(p, "body.3", dense(p, "body.1", x).clamp(min=0))
    counts = [int((y == c).sum()) for c in range(int(y.max()) + 1)]
    scaled = [(count - 1) / 49 for count in counts]
    s = torch.stack([pooled(p, "class_pooling", features[y == c], n) for c, n in enumerate(scaled)])
    classes = dense(p, "classes.2", dense(p, "classes.0", s).clamp(min=0))
    v = pooled(p, "set_pooling", classes, sum(scaled) / len(scaled))
    omega = head(p, "omega", s)
    return {
        "omega": (omega[0][:, 0], omega[1][:, 0]),
        "gamma": head(p, "gamma", v),
        "z": head(p, "z", v),
    }


@pytest.mark.parametrize("shape", [(2, 16, 20), (6,)], ids=str)
def test_the_posteriors_equal_the_formulas(shape):
    encoder, task = made(shape), classification(SHOTS, shape=shape)
    balances = encoder(task.support_x, task.support_y)
    expected = by_hand(dict(encoder.named_parameters()), task.support_x, task.support_y)
    for name, (mean, std) in expected.items():
        found: Posterior = getattr(balances, name)
        assert_close(found.mean.detach(), mean.detach(), 1e-9)
        assert_close(found.std.detach(), std.detach(), 1e-9)
    assert [len(expected[name][0]) for name in ("omega", "gamma", "z")] == [3, 3, 7]
    divergence = torch.stack(
        [kl_divergence(Normal(m, std), Normal(0.0, 1.0)).sum() for m, std in expected.values()]
    ).sum()
    assert_close(balances.divergence().detach(), divergence.detach(), 1e-9)


def test_the_order_of_samples_is_of_no_matter():
    encoder, task = made((6,)), classification(SHOTS, shape=(6,))
    back = torch.arange(len(task.support_y) - 1, -1, -1)
    one = encoder(task.support_x, task.support_y)
    other = encoder(task.support_x[back], task.support_y[back])
    assert_close(one.z.mean.detach(), other.z.mean.detach(), 1e-12)


def test_draws_are_of_omega_then_gamma_then_z():
    task = classification(SHOTS, shape=(6,))
    balances = made((6,))(task.support_x, task.support_y)
    torch.manual_seed(3)
    found = balances.drawn()
    torch.manual_seed(3)
    for name in ("omega", "gamma", "z"):
        of: Posterior = getattr(balances, name)
        expected = of.mean + of.std * torch.randn(of.mean.shape, dtype=torch.float64)
        assert_close(getattr(found, name).detach(), expected.detach(), 1e-12)
    assert torch.equal(balances.means().omega, balances.omega.mean)


def test_targets_that_are_no_classes_are_refused():
    task = regression(inputs=6)
    with pytest.raises(ValueError, match="expected integer labels"):
        made((6,))(task.support_x, task.support_y)
