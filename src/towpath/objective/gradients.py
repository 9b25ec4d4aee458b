"""The gradients J [M, P] of a mini-batch's tasks, distributed over the ranks.

    Rows     [m, P]  every coordinate of the rank's own tasks: as they are computed
    Columns  [M, c]  the rank's own coordinates of every task: as the planner needs them

In one process both are J itself. The results that every rank knows of every task (`Known`) are a
few numbers per task.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.curvature.choice import CurvatureUsed
from towpath.distributed.ranks import Ranks
from towpath.learners.statistics import LayerPass
from towpath.objective.task import Params, TaskOutputs, TaskSaid


@dataclass(frozen=True, eq=False)
class Rows:
    """The gradients J stored by task: each rank has the rows of its own tasks."""

    values: Tensor
    count: int
    """M, the number of tasks of all ranks"""
    ranks: Ranks

    def weighted(self, weights: Tensor) -> Tensor:
        """Return the complete `weights . J  [P]`; 2 P numbers are sent, R - 1 of R of them."""
        own = self.ranks.own(self.count)
        mine = weights if self.ranks.size == 1 else weights[own.start : own.stop : own.step]
        return self.ranks.summed(mine @ self.values)

    def along(self, direction: Tensor) -> Tensor:
        """Return `J . direction  [M]`; M numbers are sent, whatever P is."""
        return self.ranks.gathered((self.values @ direction)[:, None], self.count)[:, 0]

    def whole(self) -> Tensor:
        """Return the complete J `[M, P]`; every rank's rows are sent to every other rank."""
        return self.ranks.gathered(self.values, self.count)

    def columns(self) -> "Columns":
        """Return J stored by coordinate; each row's parts are sent to the ranks that own them."""
        P = self.values.shape[1]
        return Columns(self.ranks.columns(self.values, self.count), P, self.ranks)


@dataclass(frozen=True, eq=False)
class Columns:
    """The gradients J stored by coordinate: each rank has its own coordinates of every task."""

    values: Tensor
    P: int
    ranks: Ranks

    def weighted_part(self, weights: Tensor) -> Tensor:
        """Return `weights . J` at the rank's own coordinates; nothing is sent."""
        return weights @ self.values

    def weighted(self, weights: Tensor) -> Tensor:
        """Return the complete `weights . J  [P]`; P numbers are sent, R - 1 of R of them."""
        return self.ranks.joined(self.weighted_part(weights), self.P)

    def along(self, direction: Tensor) -> Tensor:
        """Return `J . direction  [M]`; M numbers are sent, whatever P is."""
        if self.ranks.size == 1:
            return self.values @ direction
        part = (self.values @ self.ranks.part(direction)).double()
        return self.ranks.total(part).to(self.values)

    def whole(self) -> Tensor:
        """Return the complete J `[M, P]`; every rank's columns are sent to every other rank."""
        if self.ranks.size == 1:
            return self.values
        return torch.stack([self.ranks.joined(row, self.P) for row in self.values])


@dataclass(frozen=True, eq=False)
class Known:
    """Losses and other numbers of the rank's own tasks; `shared` combines those of all ranks."""

    losses: Tensor
    accuracies: Tensor
    finite: Tensor
    watched: Tensor | None
    has_accuracy: bool
    used: Sequence[bool]
    """for each parameter, whether a task's loss depends on it"""

    def shared(self, ranks: Ranks, count: int) -> "Known":
        """Return these numbers for all `count` tasks of all ranks, after one exchange."""
        most = -(-count // ranks.size)
        padding = most - len(self.losses)
        rows = [self.losses, self.accuracies, self.finite]
        rows += [] if self.watched is None else [self.watched]
        n = len(rows)
        table = torch.stack([row.double() for row in rows])
        few = torch.tensor([self.has_accuracy, *self.used], dtype=table.dtype, device=table.device)
        padded = torch.nn.functional.pad(table, (0, padding)).reshape(-1)
        all_said = ranks.gathered(torch.cat([padded, few])[None], ranks.size)  # [R, n most + ...]
        # task i lies at [i % R, i // R]
        tasks = all_said[:, : n * most].reshape(ranks.size, n, most)
        losses, accuracies, finite, *watched = tasks.permute(1, 2, 0).reshape(n, -1)[:, :count]
        flags = all_said[:, n * most :] > 0
        return Known(
            losses.to(self.losses),
            accuracies.to(self.accuracies),
            finite > 0,
            watched[0].to(self.losses) if watched else None,
            bool(flags[:, 0].all()),
            flags[:, 1:].any(0).tolist(),
        )


class Answers:
    """Collects the results of the rank's own tasks, row by row."""

    def __init__(
        self,
        *,
        rows: int,
        leaves: Params,
        gradients: int,
        sums_of: Tensor | None,
        watched: bool,
        unused: set[str],
    ) -> None:
        like = next(iter(leaves.values()))
        self.J = like.new_zeros(rows, gradients)
        self.losses = like.new_zeros(rows)
        self.accuracies = torch.zeros_like(self.losses)
        self.has_accuracy = True
        self.outputs: list[TaskOutputs | None] = [None] * rows
        self.seen = torch.zeros_like(self.losses) if watched else None
        self.sums: Tensor | None = None
        self.sums_of = sums_of
        """`[j, M]`: weights of the requested sums of the tasks' curvatures"""
        if sums_of is not None:
            P = sum(leaf.numel() for leaf in leaves.values())
            self.sums = like.new_zeros(len(sums_of), P)
        self.unused = unused
        """parameters that no task has used so far"""
        self.passes: list[LayerPass] = []
        self.kinds: set[CurvatureUsed] = set()
        """the kinds of curvature that the tasks' losses allowed"""

    def filled(self, asked: Sequence[int], said: Iterator[TaskSaid], ranks: int) -> "Answers":
        """Collect the results `said` of the tasks `asked`, of which each rank has every R-th."""
        for i, answer in zip(asked, said, strict=True):
            self.take(i, i // ranks, answer)
        return self

    def take(self, i: int, row: int, said: TaskSaid) -> None:
        """Store the result of task i of the mini-batch, which is the `row`-th task of this rank."""
        self.losses[row] = said.loss
        if said.accuracy is None:
            self.has_accuracy = False
        else:
            self.accuracies[row] = said.accuracy
        self.outputs[row] = said.outputs
        if said.gradient is not None:
            self.J[row] = said.gradient
        if self.seen is not None and said.watched is not None:
            self.seen[row] = said.watched
        self.unused -= said.used
        if self.sums is not None and self.sums_of is not None:
            self.kinds.add(said.curvature)
            if said.h is not None:
                self.sums.addr_(self.sums_of[:, i].to(self.sums), said.h)
        self.passes.extend(said.passes)
