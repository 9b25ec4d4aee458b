"""Rules that keep the tasks of low loss: wrong labels make a loss high.

They cannot tell a wrong task from a hard one; where hard tasks are what the test asks for, they do
harm.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from towpath.data.episode import ROUNDING
from towpath.validation import at_least, between
from towpath.weighters.card import Card
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter

Array = npt.NDArray[np.float64]
ITERATIONS = 50
LEAST_DEVIATION = 1e-3


def share_of(share: float, count: int) -> int:
    """Return how many of `count` tasks a share of them is: rounded up, and at least one."""
    return max(1, math.ceil(share * count - ROUNDING))


def equal(batch: MiniBatch) -> Tensor:
    """Return the weights 1/M for each of the M tasks."""
    return torch.full_like(batch.losses, 1.0 / len(batch))


@dataclass(frozen=True)
class Trim(MiniBatchWeighter):
    """Small-loss selection (Co-teaching and others): the tasks of lowest loss share the weight.

    Args:
        keep: the share of a mini-batch's tasks that is kept, rounded up; the others get 0.
        warmup: mini-batches with equal weights first, until losses say something.
    """

    card = Card(
        formula="the `ceil(0.7 M)` tasks of lowest loss share the weight, after 20 mini-batches",
        assumes="wrong tasks have the highest losses, and their share is known",
        costs="nothing",
        fails="where the test asks for hard tasks; where nothing is wrong it drops as many",
        reference="small-loss selection: Co-teaching and others",
    )

    keep: float = 0.7
    warmup: int = 20

    def __post_init__(self) -> None:
        between("Trim", "keep", self.keep, 0.0, 1.0)
        if self.keep == 0:
            raise ValueError("Trim found keep=0; expected a share above 0, such as 0.7.")
        at_least("Trim", "warmup", self.warmup, 0)

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Give each of the k tasks of lowest loss the weight 1/k."""
        if batch.step < self.warmup:
            return equal(batch), state
        k = share_of(self.keep, len(batch))
        lowest = torch.argsort(batch.losses, stable=True)[:k]
        w = torch.zeros_like(batch.losses)
        w[lowest] = 1.0 / k
        return w, state


@dataclass(frozen=True)
class Mixture(MiniBatchWeighter):
    """Two Gaussians on the latest losses (DivideMix's idea, on tasks): weight to the lower one.

    A task's weight is in proportion to the posterior probability that its loss belongs to the
    component with the lower mean. Below that mean the posterior counts as 1, and where the lower
    component is the wider one it does not rise again far above the upper mean: so the weight never
    grows with the loss. While the means lie closer together than the mean of the two standard
    deviations, there is only one kind of task, and the weights are equal.

    Args:
        window: how many of the latest task losses are fitted, those of the mini-batch included.
        warmup: mini-batches with equal weights first; their losses are remembered.
    """

    card = Card(
        formula="`u_i` proportional to the posterior of the lower of two Gaussians fitted to the "
        "last 200 losses; equal while the two are not apart",
        assumes="wrong tasks have a mode of losses of their own",
        costs="a small fit",
        fails="where the two modes are easy and hard, not right and wrong: it then trains on what "
        "is easy only",
        reference="DivideMix's idea, on tasks",
    )

    window: int = 200
    warmup: int = 20

    def __post_init__(self) -> None:
        at_least("Mixture", "window", self.window, 2)
        at_least("Mixture", "warmup", self.warmup, 0)

    def initial_state(self) -> Memory:
        """Return a state without any loss yet."""
        return {"losses": []}

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Return the posterior of the lower component, normalised over the tasks."""
        remembered = self.watch(batch, state)
        if batch.step < self.warmup:
            return equal(batch), remembered
        pair = components_apart(np.array(remembered["losses"]))
        if pair is None:
            return equal(batch), remembered
        # in logarithms: far above both means every posterior is 0 in floating point
        chances = torch.tensor(lower_log_posterior(*pair, batch.losses.double().cpu().numpy()))
        return chances.softmax(0), remembered

    def watch(self, batch: MiniBatch, state: Memory) -> Memory:
        """Remember the losses, without the fit: it takes a hundredth of training's time."""
        losses = batch.losses.double().cpu().tolist()
        return {"losses": [*state["losses"], *losses][-self.window :]}


@dataclass(frozen=True)
class Gaussian:
    """One component of a mixture: its share, mean and standard deviation."""

    share: float
    mean: float
    deviation: float

    def log_density(self, values: Array) -> Array:
        """Return the logarithm of share times density, without the common constant."""
        scaled = (values - self.mean) / self.deviation
        found: Array = np.log(self.share) - np.log(self.deviation) - 0.5 * scaled**2
        return found


def components_apart(values: Array) -> tuple[Gaussian, Gaussian] | None:
    """Fit two Gaussians to the values `[n]`; None if they are one kind of value, or too few.

    That is where the means lie closer together than the mean of the two standard deviations.
    """
    if len(values) < 2:
        return None
    low, high = two_gaussians(values)
    # not "less than": a fit that is not a number counts as one kind of task, too
    apart = high.mean - low.mean >= 0.5 * (low.deviation + high.deviation)
    return (low, high) if apart else None


def two_gaussians(values: Array) -> tuple[Gaussian, Gaussian]:
    """Fit a mixture to the values `[n]` by expectation maximisation; the lower mean comes first.

    It starts from the quartiles as means, equal shares and the standard deviation of all values.
    """
    deviation = max(float(values.std()), LEAST_DEVIATION)
    pair = [Gaussian(0.5, float(q), deviation) for q in np.quantile(values, [0.25, 0.75])]
    for _ in range(ITERATIONS):
        odds = pair[1].log_density(values) - pair[0].log_density(values)
        upper = np.exp(-np.logaddexp(0.0, -odds))
        members = [1.0 - upper, upper]
        if min(float(m.sum()) for m in members) == 0.0:
            break  # one component took every value: there is nothing left to fit the other to
        pair = [_fitted(values, m) for m in members]
    low, high = sorted(pair, key=lambda component: component.mean)
    return low, high


def _fitted(values: Array, members: Array) -> Gaussian:
    total = float(members.sum())
    mean = float(members @ values) / total
    variance = float(members @ (values - mean) ** 2) / total
    return Gaussian(total / len(values), mean, max(math.sqrt(variance), LEAST_DEVIATION))


def lower_log_posterior(low: Gaussian, high: Gaussian, values: Array) -> Array:
    """Return log P(lower component | value), made non-increasing in the value."""
    at = values
    if low.deviation > high.deviation:
        # the log odds are a parabola; beyond its vertex the wider component is likelier again
        a, b = low.deviation**-2, high.deviation**-2
        at = np.minimum(values, (b * high.mean - a * low.mean) / (b - a))
    posterior: Array = -np.logaddexp(0.0, high.log_density(at) - low.log_density(at))
    posterior[values < low.mean] = 0.0
    return posterior
