"""A plan: the weights of a window, their cost, and the state that training with them leads to."""

import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from rich.text import Text
from torch import Tensor, nn

from towpath.control import Iteration, Status
from towpath.dynamics import OptimiserState, State, read_torch, write_torch
from towpath.flat import Layout
from towpath.objective.draws import evaluating
from towpath.weighters.muted import Muted
from towpath.weighters.race.record import RaceRecord

# What is printed of a plan: no cell is cut at WIDTH.
WIDTH, COLUMNS, ROWS = 110, 10, 20


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
    """precision of the prior that was used; infinite where uniform weights were kept on purpose"""
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

    def apply_(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Bring the model and the optimiser to the state after T weighted steps of torch.optim.

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

    def _apply(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        params, held = read_torch(model, optimizer)
        layout = Layout.of(params)
        if layout != self.layout:
            raise ValueError(
                f"The plan is for parameters {list(self.layout.names)}; found "
                f"{list(layout.names)} with other shapes or names. Apply it to the planned model."
            )
        planned = self.optimizer_state.dynamics.rules
        for name, rule, was in zip(layout.names, held.dynamics.rules, planned, strict=True):
            if rule != was:
                raise ValueError(
                    f"The plan was made for {was}; found {rule} at the parameter {name!r}. Plan "
                    "again, then apply (schedules act between windows)."
                )
        now = held.at(layout.flatten(list(params.values())))
        if not now.equals(self.initial):
            raise ValueError(
                "The model or its optimiser moved since this plan was made (was the plan applied "
                "already?); expected the state it was planned from. Plan again, then apply."
            )
        self.buffers.check(model)
        write_torch(model, optimizer, layout, self.final)
        self.buffers.write(model)

    def __str__(self) -> str:
        buffer = io.StringIO()
        console = Console(file=buffer, width=WIDTH, color_system=None, legacy_windows=False)
        for part in (*self._summary(), self._table()):
            console.print(part, highlight=False)
        return buffer.getvalue().rstrip()

    def __rich__(self) -> Table:
        return self._table()

    def _summary(self) -> list[str]:
        T, M = self.weights.shape
        lines = [
            f"Plan of {T} mini-batches x {M} tasks: {self.status.value}. {self.status.message}",
            f"cost {self.nominal_cost:.6g} -> {self.cost:.6g}   decrease: predicted "
            f"{self.predicted_decrease:.3g}, actual {self.actual_decrease:.3g}   "
            f"beta {self.beta:.4g}   curvature ratio {self.curvature_ratio:.2g}",
            f"weights moved {100 * self.spread:.3g}% from their mean at most   effective tasks "
            f"{float(self.effective_tasks.min()):.2f} to {float(self.effective_tasks.max()):.2f} "
            f"of {M}" + ("" if self.agreement is None else f"   agreement {self.agreement:.2f}"),
            f"{self.evaluations:g} mini-batch evaluations, {self.sketches:g} sketches, "
            + (f"{self.products:g} Hessian products, " if self.products else "")
            + f"{self.seconds:.2f} s",
        ]
        if self.query_share < 1:
            lines.append(
                f"planned on {100 * self.query_share:.0f}% of each query set "
                f"({self.part_evaluations:g} mini-batch evaluations there); the costs above are "
                "estimated on that part of every other task, training used all of it"
            )
        for i, line in enumerate(self.history, 1):
            lines.append(
                f"iteration {i}: cost {line.cost:.6g}, predicted {line.predicted:.3g}, actual "
                f"{line.actual:.3g}, step {line.eps:g} after {line.trials} trial(s)"
            )
        return lines

    def _table(self) -> Table:
        T, M = self.weights.shape
        title = f"Task weights (uniform is {1 / M:.3g})"
        parts = [
            f"first {shown} of {count} {what}"
            for shown, count, what in ((COLUMNS, M, "tasks"), (ROWS, T, "mini-batches"))
            if count > shown
        ]
        table = Table(title="; ".join([title, *parts]), title_justify="left")
        table.add_column("mini-batch", justify="right")
        for i in range(min(M, COLUMNS)):
            table.add_column(f"task {i}", justify="right")
        for t, row in enumerate(self.weights[:ROWS, :COLUMNS].tolist()):
            table.add_row(str(t), *(Text(f"{w:.4f}", style=_style(w * M)) for w in row))
        return table

    def _repr_html_(self) -> str:
        M = self.weights.shape[1]
        head = "".join(f"<th>task {i}</th>" for i in range(M))
        rows = "".join(
            f"<tr><th>mini-batch {t}</th>"
            + "".join(
                f'<td style="background:{_tint(float(w) * M)};color:#111">{float(w):.4f}</td>'
                for w in row
            )
            + "</tr>"
            for t, row in enumerate(self.weights)
        )
        summary = "<br>".join(html.escape(line) for line in self._summary())
        return f"<div><p>{summary}</p><table><tr><th></th>{head}</tr>{rows}</table></div>"


def _style(relative: float) -> str:
    return "green" if relative > 1.05 else "red" if relative < 0.95 else ""


def _tint(relative: float) -> str:
    """Return a colour: white at uniform, green above, red below; full at twice and at zero."""
    strength = round(100 * min(1.0, abs(relative - 1.0)))
    hue = 140 if relative >= 1 else 10
    return f"hsl({hue},70%,{100 - strength // 2}%)"
