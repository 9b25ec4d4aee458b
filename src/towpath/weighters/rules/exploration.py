"""The paper's hand-made baselines: more weight on hard tasks, or on easy ones.

    exploration    u = argmin -u.l - ln p(u)
    exploitation   u = argmin  u.l - ln p(u)

p is a prior on positive weights. The problem separates over tasks (up to one multiplier), so it is
solved to machine precision by one root search, where the paper runs SLSQP.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from towpath.validation import at_least
from towpath.weighters.card import Card
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter

Array = npt.NDArray[np.float64]


class Prior(Protocol):
    """The interface of a prior: a density p on positive weights."""

    def maximise(self, scores: Array) -> Array:
        """Return the weights u `[M]` that maximise `u . scores + ln p(u)`."""
        ...


@dataclass(frozen=True)
class Dirichlet:
    """Weights on the simplex, `ln p = (concentration - 1) sum ln u`.

    Stationarity gives `u_i = 1 / (tau + (max(s) - s_i) / a)`, `a = concentration - 1`, with tau in
    `[1, M]` such that the weights sum to 1. At a concentration of 1 or below nothing holds the
    weights off the boundary and the solution is a vertex: the best task takes all (tasks that tie
    share it).
    """

    concentration: float = 1.2

    def __post_init__(self) -> None:
        at_least("Dirichlet", "concentration", self.concentration, 0.0)

    def maximise(self, scores: Array) -> Array:
        """Return the weights u `[M]` that maximise `u . scores + ln p(u)`."""
        from scipy.optimize import brentq  # here: it would slow `import towpath`

        gaps = scores.max() - scores  # >= 0
        a = self.concentration - 1.0
        if a <= 0:
            u: Array = (gaps == 0).astype(np.float64)
        else:
            with np.errstate(over="ignore"):
                distances = gaps / a  # inf where a gap is out of reach: weight 0
            # At tau = 1 the best task alone makes 1, without rounding. The other end is a hair
            # beyond M, so that rounding cannot put the root of equal losses outside.
            high = len(gaps) * (1 + 1e-9)
            tau = brentq(lambda t: float(np.sum(1.0 / (t + distances))) - 1.0, 1.0, high)
            u = 1.0 / (float(tau) + distances)
        normalised: Array = u / u.sum()
        return normalised


@dataclass(frozen=True)
class Gamma:
    """Independent Gamma priors, `ln p = (concentration - 1) ln u - rate u`; no sum constraint.

    `rate=None` puts the prior's mode at 1/M. A score at or above the rate makes the problem
    unbounded (the weight would grow for ever), which is a ValueError.
    """

    concentration: float = 1.2
    rate: float | None = None

    def __post_init__(self) -> None:
        at_least("Gamma", "concentration", self.concentration, 0.0)
        if self.concentration <= 1:
            raise ValueError(
                f"Gamma found concentration={self.concentration}; expected above 1 (otherwise the "
                "best weight is 0 for every task)."
            )

    def maximise(self, scores: Array) -> Array:
        """Return the weights u `[M]` that maximise `u . scores + ln p(u)`."""
        a = self.concentration - 1.0
        rate = a * len(scores) if self.rate is None else self.rate
        if float(scores.max()) >= rate:
            raise ValueError(
                f"Gamma(rate={rate:g}) found a task loss of {scores.max():g}; exploration needs "
                "every loss below the rate, or the weight is unbounded. Raise rate."
            )
        return a / (rate - scores)


@dataclass(frozen=True)
class _ByLoss(MiniBatchWeighter):
    """The base of both rules: a prior on the weights.

    Args:
        concentration: concentration of the Dirichlet prior (the paper tried 0.2, 1.2 and 5).
        prior: another prior object in place of the Dirichlet.
    """

    concentration: float = 1.2
    prior: Prior | None = None

    def __post_init__(self) -> None:
        Dirichlet(self.concentration)

    def _weigh(self, scores: Tensor) -> Array:
        prior = Dirichlet(self.concentration) if self.prior is None else self.prior
        return prior.maximise(scores.double().cpu().numpy())


@dataclass(frozen=True)
class Exploration(_ByLoss):
    """More weight on tasks with a high loss."""

    card = Card(
        formula="`argmin -u.l - ln p(u)`, p a Dirichlet prior",
        assumes="hard tasks are the ones to learn from",
        costs="nothing",
        fails="where tasks are hard because their labels are wrong",
        reference="the paper's baseline",
    )

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Return the weights u that minimise `-u.l - ln p(u)`."""
        return batch.losses.new_tensor(self._weigh(batch.losses)), state


@dataclass(frozen=True)
class Exploitation(_ByLoss):
    """More weight on tasks with a low loss."""

    card = Card(
        formula="`argmin u.l - ln p(u)`, p a Dirichlet prior",
        assumes="easy tasks are the ones to trust",
        costs="nothing",
        fails="where the test asks for what is hard",
        reference="the paper's baseline",
    )

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Return the weights u that minimise `u.l - ln p(u)`."""
        return batch.losses.new_tensor(self._weigh(-batch.losses)), state
