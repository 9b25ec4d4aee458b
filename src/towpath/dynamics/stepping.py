"""What a training loop does around `optimizer.step()`: clip gradients, step a scheduler.

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
    stepping = tp.Stepping(optimizer, clip_norm=1.0, scheduler=scheduler)
    plan = tow.plan(objective, model, stepping, window)
    plan.apply_(model, stepping)

stands for T rounds of `backward()`, `clip_grad_norm_`, `optimizer.step()`, `scheduler.step()`. A
torch optimiser does not know of clipping and schedulers, and a plan whose steps left them out would
be a plan of other steps.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from towpath.dynamics.clipping import clip_of
from towpath.dynamics.kind import TorchKind
from towpath.dynamics.state import Clip


@dataclass(frozen=True, eq=False)
class Stepping:
    """A torch optimiser with what a loop does around its steps; takes the optimiser's place.

    Args:
        optimizer: the optimiser of the model.
        clip_norm: `max_norm` of `torch.nn.utils.clip_grad_norm_` over all parameters that the
            optimiser holds, before every step; None for no such clipping.
        clip_value: `clip_value` of `torch.nn.utils.clip_grad_value_`; None for no such clipping.
        scheduler: a scheduler of `torch.optim.lr_scheduler` that the loop steps after every step of
            the optimiser: a plan uses the rates that its steps will have, and `plan.apply_` steps
            it. One that is stepped otherwise (once an epoch, or by a metric) stays outside.
    """

    optimizer: torch.optim.Optimizer
    clip_norm: float | None = None
    clip_value: float | None = None
    scheduler: LRScheduler | None = None

    def __post_init__(self) -> None:
        clip_of(self.clip_norm, self.clip_value)
        if not isinstance(self.optimizer, torch.optim.Optimizer):
            raise ValueError(
                f"Stepping found an optimiser of type {type(self.optimizer).__name__}; expected a "
                "torch.optim object. Pass the one that the loop steps."
            )
        if self.scheduler is None:
            return
        if not isinstance(self.scheduler, LRScheduler) or isinstance(
            self.scheduler, ReduceLROnPlateau
        ):
            raise ValueError(
                f"Stepping found a scheduler of type {type(self.scheduler).__name__}; expected one "
                "of torch.optim.lr_scheduler that needs no metric. Leave it out, and step it "
                "yourself after plan.apply_."
            )
        if self.scheduler.optimizer is not self.optimizer:
            raise ValueError(
                "Stepping found a scheduler of another optimiser; expected one that was made with "
                "the optimiser itself, such as CosineAnnealingLR(optimizer, 1000)."
            )

    @classmethod
    def of(cls, optimizer: "torch.optim.Optimizer | Stepping") -> "Stepping":
        """Return the argument itself, or a torch optimiser with nothing around its steps."""
        return optimizer if isinstance(optimizer, Stepping) else cls(optimizer)

    @property
    def clip(self) -> Clip | None:
        """How gradients are clipped; None for not at all."""
        return clip_of(self.clip_norm, self.clip_value)

    def advance(self, steps: int) -> None:
        """Step the scheduler, if there is one, as after that many steps of the optimiser."""
        for _ in range(steps if self.scheduler is not None else 0):
            assert self.scheduler is not None
            self.scheduler.step()


class _StandIn:
    """What a scheduler needs of its optimiser: groups to write to, and the look of a step."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.param_groups: list[dict[str, Any]] = [
            {key: copy.deepcopy(value) for key, value in group.items() if key != "params"}
            for group in optimizer.param_groups
        ]
        self.defaults = dict(optimizer.defaults)
        self._opt_called = True

    def step(self) -> None:
        """Do nothing; a scheduler only asks whether the optimiser has this method."""

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]  # or the scheduler warns


class TorchSchedule:
    """The hyper-parameters of the coming steps, from a copy of a torch scheduler.

    Args:
        scheduler: the scheduler, which is not changed.
        kind: reads a parameter group.
        places: for each parameter, the index of its group.
    """

    def __init__(self, scheduler: LRScheduler, kind: TorchKind, places: Sequence[int]) -> None:
        optimizer = scheduler.optimizer
        self._stand_in = _StandIn(optimizer)
        # functions that a scheduler calls are shared, with the objects whose methods they are
        shared = {id(owner): owner for owner in _owners(scheduler)}
        self._copy = copy.deepcopy(scheduler, {id(optimizer): self._stand_in, **shared})
        self._kind, self._places = kind, tuple(places)
        self._known = [self._read()]

    def rules(self, base: Sequence[Any], step: int) -> Sequence[Any]:  # noqa: ARG002
        """Return the hyper-parameters of a step, one rule for each parameter.

        Args:
            base: unused, because the scheduler writes every hyper-parameter itself.
            step: the number of steps after those that the scheduler itself has seen.
        """
        while len(self._known) <= step:
            self._copy.step()
            self._known.append(self._read())
        return self._known[step]

    def _read(self) -> tuple[Any, ...]:
        rules = [self._kind.rule(group) for group in self._stand_in.param_groups]
        return tuple(rules[i] for i in self._places)


def _owners(scheduler: LRScheduler) -> list[object]:
    """Return the objects whose bound methods a scheduler, or one inside it, calls."""
    inside = getattr(scheduler, "_schedulers", ())
    functions = [value for value in vars(scheduler).values() if callable(value)]
    functions += getattr(scheduler, "lr_lambdas", [])
    owners = [
        f.__self__ for f in functions if hasattr(f, "__self__") and f.__self__ is not scheduler
    ]
    return [*owners, *(owner for each in inside for owner in _owners(each))]
