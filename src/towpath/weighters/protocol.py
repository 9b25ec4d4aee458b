"""The interface between training and a weighter."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeGuard

from towpath.objective import Objective
from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.plan import Plan
from towpath.weighters.start import ModelLike, OptimizerLike
from towpath.weighters.window import Window


class Weighter(Protocol):
    """The interface that training requires of a weighter."""

    @property
    def wants_targets(self) -> bool:
        """Whether training passes trusted tasks as targets to this weighter."""
        ...

    @property
    def wants_judges(self) -> bool:
        """Whether training keeps trusted tasks apart for this weighter to judge by.

        It then passes them to `plan` as `judges` (`JudgingWeighter`), and neither trains on them
        nor gives them as targets.
        """
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
        """Return the weights of a window and the state that training with them leads to.

        Args:
            objective: evaluates the tasks' losses and gradients.
            model: an `nn.Module`, or a dict of parameters.
            optimizer: its `torch.optim` object, or a state from `tp.Adam(lr=...).init(params)`.
            window: T lists of M tasks.
            targets: T lists of trusted tasks, for a weighter that wants them.
            muted: tasks to leave out because their loss or gradient is not finite.
            state: the weighter's state after the previous window.
            seed: the seed of all randomness of the plan.
        """
        ...


def wants_targets(weighter: Weighter) -> bool:
    """Return whether a weighter wants trusted tasks; the default for a user's class is False."""
    return bool(getattr(weighter, "wants_targets", False))


def needs_trusted(weighter: Weighter) -> bool:
    """Return whether a weighter trains on trusted tasks and hardly on others; by default False."""
    return bool(getattr(weighter, "needs_trusted", False))


def uses_trusted(weighter: Weighter) -> bool:
    """Return whether a weighter cannot be what it is without trusted tasks.

    It aims at them, judges by them, or trains on little else.
    """
    return wants_targets(weighter) or wants_judges(weighter) or needs_trusted(weighter)


def believes_trusted(weighter: Weighter) -> bool:
    """Return whether wrong trusted tasks would mislead a weighter, so that they are checked."""
    return uses_trusted(weighter) or bool(getattr(weighter, "believes_trusted", False))


def check_targets(weighter: Weighter) -> None:
    """Raise a ValueError if options of a weighter do not go with the targets that it will get.

    A weighter says so in its method `check_targets`, which a user's class need not have.
    """
    check = getattr(weighter, "check_targets", None)
    if check is not None:
        check(wants_targets(weighter))


class JudgingWeighter(Weighter, Protocol):
    """A weighter with `wants_judges`, to which training passes tasks to judge by."""

    def plan(
        self,
        objective: Objective,
        model: ModelLike,
        optimizer: OptimizerLike,
        window: Window,
        *,
        targets: Window | None = None,
        judges: Sequence[Any] = (),
        muted: Muted = NOTHING_MUTED,
        state: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> Plan:
        """Return the weights of a window and the state that training with them leads to.

        It has nine parameters because they are those of `Weighter.plan` and the judges.

        Args:
            objective: evaluates the tasks' losses and gradients.
            model: an `nn.Module`, or a dict of parameters.
            optimizer: its `torch.optim` object, or a state from `tp.Adam(lr=...).init(params)`.
            window: T lists of M tasks.
            targets: T lists of trusted tasks, for a weighter that wants them.
            judges: trusted tasks that are neither in the window nor among the targets.
            muted: tasks to leave out because their loss or gradient is not finite.
            state: the weighter's state after the previous window.
            seed: the seed of all randomness of the plan.
        """
        ...


def without_judges(weighter: Weighter) -> Weighter | None:
    """Return what a weighter that judges amounts to where nothing can judge.

    It says so by its attribute `unjudged`; None for a weighter that has none, such as a user's.
    """
    found: Weighter | None = getattr(weighter, "unjudged", None)
    return found


def wants_judges(weighter: Weighter) -> TypeGuard[JudgingWeighter]:
    """Return whether a weighter judges; the default for a user's class is False."""
    return bool(getattr(weighter, "wants_judges", False))
