"""A plan: the weights of a window, their cost, and the state that training with them leads to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from rich.table import Table
from torch import Tensor, nn

from towpath.control import Iteration, Status
from towpath.dynamics import OptimiserState, State, Stepping, read_torch, write_torch
from towpath.flat import Layout
from towpath.objective import CurvatureUsed
from towpath.objective.turns import evaluating
from towpath.weighters.muted import Muted
from towpath.weighters.plan_text import plan_html, plan_text, weights_table
from towpath.weighters.race.record import RaceRecord


@dataclass(frozen=True, eq=False)
class BuffersMoved:
    """The buffers of a model that training changes (running statistics), before and after."""

    before: Mapping[str, Tensor] = field(default_factory=dict)
    after: Mapping[str, Tensor] = field(default_factory=dict)

    @classmethod
    def between(cls, before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> "BuffersMoved":
        """Return the buffers whose values differ before and after training."""
        names = [name for name in before if not torch.equal(before[name], after[name])]
        return cls({name: before[name] for name in names}, {name: after[name] for name in names})

    def check(self, model: nn.Module) -> None:
        """Raise a ValueError unless the model's buffers still have their values from before."""
        held = dict(model.named_buffers())
        for name, value in self.before.items():
            if name not in held or not torch.equal(held[name], value):
                raise ValueError(
                    f"The buffer {name!r} of the model moved since this plan was made (a forward "
                    "pass in train mode moves running statistics); expected the model as it was "
                    "planned from. Plan again, then apply; look at the model in eval() meanwhile."
                )

    def write(self, model: nn.Module) -> None:
        """Set the model's buffers to their values after training."""
        held = dict(model.named_buffers())
        with torch.no_grad():
            for name, value in self.after.items():
                held[name].copy_(value)


@dataclass(frozen=True, eq=False)
class Plan:
    """What a weighter decided for T mini-batches of M tasks.

    `print(plan)` shows it; `plan.apply_(model, optimizer)` trains by it.
    """

    # the decision
    weights: Tensor
    """`[T, M]`, >= 0"""
    status: Status
    # what it is worth
    nominal_cost: float
    cost: float
    predicted_decrease: float
    history: Sequence[Iteration]
    beta: float
    """precision of the prior that was used; infinite where the nominal was kept on purpose"""
    agreement: float | None
    """cosine of the deviations that two halves of the targets suggest; None without targets"""
    curvature_ratio: float
    """largest eigenvalue of F_u' V F_u over beta; 0 where planning is a plain gradient step"""
    # losses and accuracies along the way
    losses: Tensor
    """`[T, M]`, before each step; as far as training got where the nominal is not finite"""
    accuracies: Tensor | None
    bad: Muted
    """tasks and targets whose loss or gradient is not finite: leave them out, and plan again"""
    # the work it took
    evaluations: float
    """mini-batch evaluations of losses and gradients"""
    sketches: float
    seconds: float
    # where it leads
    layout: Layout = field(repr=False)
    initial: State = field(repr=False)
    final: State = field(repr=False)
    optimizer_state: OptimiserState = field(repr=False)
    """the pure optimiser state after the window"""
    weighter_state: dict[str, Any] = field(default_factory=dict)
    """the weighter's state for the next window: plain numbers, strings and lists, and tensors by
    name under the key `tensors` only"""
    products: float = 0.0
    """mini-batches of Hessian products, one per task: what `adjoint="exact"` takes"""
    query_share: float = 1.0
    """share of each query set that was planned on; below 1 the costs are estimates from it, of
    every other task of the mini-batches that were evaluated"""
    part_evaluations: float = 0.0
    """mini-batch evaluations on that share of the query sets"""
    buffers: BuffersMoved = field(default_factory=BuffersMoved, repr=False)
    curvature_used: frozenset[CurvatureUsed] = frozenset()
    """the curvature that the losses of the tasks allowed: each says why in its `message`; empty for
    a plan that asked for none. Of several ranks each knows its own tasks'."""
    """running statistics that `apply_` writes"""
    race: RaceRecord | None = None
    """who leads and how the arms stand, of a plan of `Race`"""

    @property
    def params(self) -> dict[str, Tensor]:
        """The parameters after the window, by name."""
        return self.layout.unflatten(self.final.x)

    @property
    def actual_decrease(self) -> float:
        """By how much the true cost is below the nominal's.

        It is never negative, except by chance where the plan was made on a part of the query sets.
        """
        return self.nominal_cost - self.cost

    @property
    def spread(self) -> float:
        """The largest distance of a weight from its mini-batch's mean, relative to that mean.

        It is 0 for uniform weights.
        """
        mean = self.weights.double().mean(1, keepdim=True)
        return float(((self.weights.double() - mean).abs() / mean.clamp_min(1e-300)).max())

    @property
    def effective_tasks(self) -> Tensor:
        """The effective number of tasks `(sum w)^2 / sum w^2` of each mini-batch, `[T]`."""
        w = self.weights.double()
        return w.sum(1).square() / w.square().sum(1).clamp_min(1e-300)

    def apply_(self, model: nn.Module, optimizer: torch.optim.Optimizer | Stepping) -> None:
        """Bring the model and the optimiser to the state after T weighted steps of torch.optim.

        A `tp.Stepping` clips as it says, and its scheduler is stepped T times.

        Running statistics that are in use (norm layers in train mode) are updated as by one
        evaluation of each task, in task order, along the planned steps: every forward pass of it
        counts.

        Raises:
            ValueError: if there is nothing to apply, or the model has changed since the plan.
        """
        if not self.status.usable:
            raise ValueError(f"This plan cannot be applied. {self.status.message}")
        with evaluating():  # another thread may be in the middle of a pass with this model
            self._apply(model, optimizer)

    def _apply(self, model: nn.Module, optimizer: torch.optim.Optimizer | Stepping) -> None:
        stepping = Stepping.of(optimizer)
        params, held = read_torch(model, stepping)
        layout = Layout.of(params)
        if layout != self.layout:
            raise ValueError(
                f"The plan is for parameters {list(self.layout.names)}; found "
                f"{list(layout.names)} with other shapes or names. Apply it to the planned model."
            )
        self._check_steps(held)
        now = held.at(layout.flatten(list(params.values())))
        if not now.equals(self.initial):
            raise ValueError(
                "The model or its optimiser moved since this plan was made (was the plan applied "
                "already?); expected the state it was planned from. Plan again, then apply."
            )
        self.buffers.check(model)
        write_torch(model, stepping.optimizer, held.dynamics, self.final)
        self.buffers.write(model)
        stepping.advance(len(self.weights))

    def _check_steps(self, held: OptimiserState) -> None:
        """Raise a ValueError unless the optimiser's first step is the one that was planned."""
        planned = self.optimizer_state
        if (held.schedule is None) != (planned.schedule is None):
            raise ValueError(
                "The plan and apply_ differ in whether they have a scheduler; expected the same "
                "tp.Stepping(optimizer, scheduler=...) in both."
            )
        if held.dynamics.clip != planned.dynamics.clip:
            raise ValueError(
                f"The plan was made with clipping {planned.dynamics.clip}; found "
                f"{held.dynamics.clip}. Give the same tp.Stepping to plan and to apply_."
            )
        rules = zip(self.layout.names, held.dynamics.rules, planned.dynamics.rules, strict=True)
        for name, rule, was in rules:
            if rule != was:
                raise ValueError(
                    f"The plan was made for {was}; found {rule} at the parameter {name!r}. Plan "
                    "again, then apply (a scheduler acts between windows, or within them as "
                    "tp.Stepping(optimizer, scheduler=...))."
                )

    def __str__(self) -> str:
        return plan_text(self)

    def __rich__(self) -> Table:
        return weights_table(self)

    def _repr_html_(self) -> str:
        return plan_html(self)
