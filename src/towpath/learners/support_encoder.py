"""What a support set looks like, as numbers that a task's balances are computed from.

    samples   x       -> features [N, 64]
    classes   mean, variance over the class's samples, (N_c - 1)/49  -> s_c [C, 256]
    the set   mean, variance over the classes, mean of (N_c - 1)/49  -> v [1, 128]

Both poolings end with a dense layer 3 -> 4 and ReLU for each feature. From s_c comes the posterior
of omega (one number a class), from v those of gamma (one a layer) and z.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from towpath.learners.gaussians import divergence, reparameterised
from towpath.learners.prototypes import memberships, prototypes

FILTERS, FEATURES, CLASS_HIDDEN, CLASS_FEATURES, POSTERIOR_HIDDEN = 10, 64, 128, 32, 64
STATISTICS, MIXED = 3, 4
SMALLEST_SIDE = 4
"""height or width of which two halvings leave 1"""
MOST_SHOTS = 50
"""shots that the number of samples is scaled by: 1 to 50 become 0 to 1"""


@dataclass(frozen=True)
class Posterior:
    """A diagonal Gaussian, whose prior is N(0, 1)."""

    mean: Tensor
    std: Tensor

    def drawn(self) -> Tensor:
        """Return a draw."""
        return reparameterised(self.mean, self.std)

    def divergence(self) -> Tensor:
        """Return the divergence from the prior, summed over all entries."""
        zero = torch.zeros_like(self.mean)
        return divergence(self.mean, self.std.log(), zero, zero)


@dataclass(frozen=True)
class Balance:
    """One value of a task's balances: omega `[C]`, gamma `[layers]`, z `[numbers]`."""

    omega: Tensor
    gamma: Tensor
    z: Tensor


@dataclass(frozen=True)
class Balances:
    """The posteriors of a task's balances."""

    omega: Posterior
    gamma: Posterior
    z: Posterior

    def drawn(self) -> Balance:
        """Return a draw of all balances."""
        return Balance(self.omega.drawn(), self.gamma.drawn(), self.z.drawn())

    def means(self) -> Balance:
        """Return the means in place of a draw."""
        return Balance(self.omega.mean, self.gamma.mean, self.z.mean)

    def divergence(self) -> Tensor:
        """Return the divergence of all balances from their prior."""
        return self.omega.divergence() + self.gamma.divergence() + self.z.divergence()


class StatisticsPooling(nn.Module):
    """From mean, variance and number of a set to its features: `[n, D]` each `-> [n, 4 D]`."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(STATISTICS, MIXED)

    def forward(self, mean: Tensor, variance: Tensor, number: Tensor) -> Tensor:
        """Return the features of n sets with means, variances `[n, D]` and numbers `[n]`."""
        together = torch.stack([mean, variance, number[:, None].expand_as(mean)], -1)  # [n, D, 3]
        return functional.relu(self.mix(together)).flatten(1)


class PosteriorHead(nn.Module):
    """From features to a diagonal Gaussian: `[n, inputs] -> [n, outputs]`."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(inputs, POSTERIOR_HIDDEN)
        self.mean = nn.Linear(POSTERIOR_HIDDEN, outputs)
        self.std = nn.Linear(POSTERIOR_HIDDEN, outputs)

    def forward(self, features: Tensor) -> Posterior:
        """Return the Gaussian of each row, all in one vector."""
        hidden = functional.relu(self.hidden(features))
        mean, std = self.mean(hidden), functional.softplus(self.std(hidden))
        return Posterior(mean.reshape(-1), std.reshape(-1))


class SupportEncoder(nn.Module):
    """From a labelled support set to the posteriors of its balances.

    Images pass two blocks of a 3x3 convolution with 10 filters, ReLU and 2x2 max-pooling; samples
    of another shape a dense layer of 64 with ReLU instead.

    Args:
        inputs: shape of one sample.
        layers: number of entries of gamma.
        numbers: number of entries of z.

    Raises:
        ValueError: if images are too small for the two poolings.
    """

    def __init__(self, inputs: Sequence[int], layers: int, numbers: int) -> None:
        super().__init__()
        if len(inputs) == 3:
            channels, height, width = inputs
            if min(height, width) < SMALLEST_SIDE:
                raise ValueError(
                    f"Found inputs of the shape {tuple(inputs)}; expected images of at least "
                    f"{SMALLEST_SIDE} x {SMALLEST_SIDE}, because the encoder of Bayesian TAML "
                    "halves them twice. Enlarge the images, or hand them over as vectors."
                )
            self.body = nn.Sequential(
                *(nn.Conv2d(channels, FILTERS, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
                *(nn.Conv2d(FILTERS, FILTERS, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
                nn.Flatten(),
                nn.Linear(FILTERS * (height // SMALLEST_SIDE) * (width // SMALLEST_SIDE), FEATURES),
            )
        else:
            self.body = nn.Sequential(
                nn.Flatten(),
                nn.Linear(math.prod(inputs), FEATURES),
                nn.ReLU(),
                nn.Linear(FEATURES, FEATURES),
            )
        self.class_pooling = StatisticsPooling()
        self.classes = nn.Sequential(
            nn.Linear(MIXED * FEATURES, CLASS_HIDDEN),
            nn.ReLU(),
            nn.Linear(CLASS_HIDDEN, CLASS_FEATURES),
        )
        self.set_pooling = StatisticsPooling()
        self.omega = PosteriorHead(MIXED * FEATURES, 1)
        self.gamma = PosteriorHead(MIXED * CLASS_FEATURES, layers)
        self.z = PosteriorHead(MIXED * CLASS_FEATURES, numbers)

    def forward(self, x: Tensor, y: Tensor) -> Balances:
        """Return the posteriors for a support set of samples `[N, ...]` with labels `[N]`."""
        features = self.body(x)  # [N, 64]
        mean = prototypes(features, y)  # [C, 64]
        variance = prototypes((features - mean[y]).square(), y)
        number = (memberships(y).sum(0).to(features) - 1) / (MOST_SHOTS - 1)  # [C]
        s = self.class_pooling(mean, variance, number)  # [C, 256]
        of_classes = self.classes(s)  # [C, 32]
        v = self.set_pooling(
            of_classes.mean(0, keepdim=True),
            of_classes.var(0, correction=0, keepdim=True),
            number.mean(0, keepdim=True),
        )  # [1, 128]
        return Balances(self.omega(s), self.gamma(v), self.z(v))
