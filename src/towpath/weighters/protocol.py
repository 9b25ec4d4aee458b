"""What training asks of a weighter."""

from collections.abc import Mapping
from typing import Any, Protocol

from towpath.objective import Objective
from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.plan import Plan
from towpath.weighters.start import ModelLike, OptimizerLike, Window


class Weighter(Protocol):
    """What training asks of a weighter."""

    @property
    def wants_targets(self) -> bool:
        """Whether training gives it trusted tasks as targets."""
        ...

    def plan(
        self,
        objective: Objective,
        model: ModelLike,
        optimizer: OptimizerLike,
        window: Window,
        *,
        targets: Window | None = None,
        muted: Muted = NOTHING_MUTED,
        state: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> Plan:
        """Weights of a window and the state that training with them leads to.

        Args:
            objective: losses of the tasks.
            model: an `nn.Module`, or a dict of parameters.
            optimizer: its `torch.optim` object, or a state from `tp.Adam(lr=...).init(params)`.
            window: T lists of M tasks.
            targets: T lists of trusted tasks, for a weighter that wants them.
            muted: tasks to leave out because their numbers are not finite.
            state: what the weighter remembered from the window before.
            seed: all randomness of the plan.
        """
        ...


def wants_targets(weighter: Weighter) -> bool:
    """Whether a weighter wants trusted tasks; one of the user's that does not say does not."""
    return bool(getattr(weighter, "wants_targets", False))
