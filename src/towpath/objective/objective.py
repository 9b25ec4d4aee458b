"""What a mini-batch of tasks says at given parameters: losses, gradients, curvature.

    losses     l    [M]     query loss of each task after adaptation
    gradients  J    [M, P]  one row a task
    curvature  W h  [j, P]  rows of weights times the tasks' diagonals h_i, never all h_i at once

All three come from one graph per task: one forward pass, one backward pass for the gradient and
one for each probe of the curvature. A task's random draws are a function of the seed and of the
task's number (`towpath.objective.draws`), however many workers there are. Under torchrun each rank
asks its own tasks; losses and the like are known to all, gradients stay where they are until the
caller says what is wanted of them.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from towpath.data.episode import Episode
from towpath.distributed.ranks import ALONE, Ranks
from towpath.distributed.torchrun import ranks_of_this_machine
from towpath.flat import Layout
from towpath.learners import Learner
from towpath.learners.statistics import StatisticsUpdate
from towpath.losses import Loss, loss_named
from towpath.machine import available_cores
from towpath.objective.draws import Generators, derived_seed, evaluating, seed_generators
from towpath.objective.gradients import Answers, Columns, Known, Rows
from towpath.objective.live import rewinder
from towpath.objective.task import (
    CurvatureKind,
    EpisodeFunction,
    Params,
    TaskFunction,
    TaskSaid,
    derivatives,
    features,
    forward,
    gradient_pieces,
    hessian_product,
    joined,
)
from towpath.objective.workers import Workers

Result = TypeVar("Result")
Total = TypeVar("Total")
Ask = Callable[[TaskFunction, int, int | None], Result]
"""(task function, index, what the generators were set to, if they were) -> what a task says"""


@dataclass(frozen=True)
class Curvature:
    """Which diagonal to compute, and the weights `[j, M]` of the sums of it that are wanted."""

    kind: CurvatureKind
    weights: Tensor
    probes: int = 1


@dataclass(frozen=True)
class Evaluation:
    """Losses `[M]`, accuracies `[M]` if any, losses `[M]` of the parts that were watched, and what
    the derivatives are held as.

    Curvatures `[j, P]` are held at the rank's own coordinates: all of them in one process.
    """

    losses: Tensor
    finite: Tensor
    """`[M]`, whether a task's loss and gradient are"""
    held: Rows | Columns
    accuracies: Tensor | None
    curvature: Tensor | None
    watched: Tensor | None = None
    updates: Sequence[StatisticsUpdate] = ()
    """what the passes of the rank's own tasks add to running statistics, in task order"""

    @property
    def gradients(self) -> Tensor:
        """`[M, P]`, one row a task; gathered from all ranks where there are several."""
        return self.held.whole()

    def bad_indices(self) -> list[int]:
        """Tasks with a loss or a gradient that is not finite."""
        return [int(i) for i in (~self.finite).nonzero()[:, 0]]


class Objective:
    """The loss of a task as a function of the meta-parameters.

    Example:
        >>> import torch, towpath as tp
        >>> def fn(params, task):
        ...     x, y = task
        ...     return x @ params["w"], y
        >>> objective = tp.Objective.from_function(fn, loss="mse")
        >>> task = (torch.ones(3, 2), torch.zeros(3))
        >>> objective.evaluate({"w": torch.ones(2)}, [task]).losses
        tensor([4.])
    """

    def __init__(self, learner: Learner, workers: int | None = None, ranks: Ranks = ALONE) -> None:
        """The loss of episodes under a learner.

        Args:
            learner: one of ours.
            workers: tasks that are evaluated side by side in this process, each on one core with
                a graph of its own in memory; the number changes no bit (a single worker leaves
                torch its own threads). The default is the cores that the process may use, shared
                with the other ranks of the machine, and one for a learner on a GPU.
            ranks: the processes that share the tasks, from `tp.distributed.launched()`.
        """
        if not isinstance(learner, Learner):
            raise ValueError(
                f"tp.Objective found {type(learner).__name__}; expected a learner such as "
                "tp.learners.MAML(model). For a function of your own use "
                "tp.Objective.from_function(fn, loss='cross_entropy')."
            )
        self._loss = loss_named(learner.loss)
        self._workers: Workers | None = Workers(
            learner, _default_workers(learner) if workers is None else workers
        )
        self._function: TaskFunction = EpisodeFunction(learner)
        self._part: Callable[[Any, float], Any] | None = None
        self._drew: bool | None = None
        self.ranks = ranks

    @classmethod
    def from_function(
        cls,
        fn: TaskFunction,
        loss: str = "cross_entropy",
        part: Callable[[Any, float], Any] | None = None,
        ranks: Ranks = ALONE,
    ) -> "Objective":
        """An objective from `fn(params, task) -> (output, target)`; tasks are any objects.

        `part(task, share)` gives a task with a share of the query samples, for plans that look
        at a part of them (`TOW.fast()`); episodes know by themselves.
        """
        if not callable(fn):
            raise ValueError(
                f"from_function found {type(fn).__name__}; expected a function "
                "fn(params, task) -> (output, target)."
            )
        objective = cls.__new__(cls)
        objective._loss = loss_named(loss)
        objective._workers = None
        objective._function = fn
        objective._part = part
        objective._drew = None
        objective.ranks = ranks
        return objective

    def part(self, task: Any, share: float) -> Any:
        """The task with a share of its query set."""
        if self._part is not None:
            return self._part(task, share)
        if isinstance(task, Episode):
            return task.part(share)
        raise ValueError(
            f"Planning on a part of the query set found a task of type {type(task).__name__}; "
            "expected a tp.Episode, or an objective that knows its parts. Pass "
            "tp.Objective.from_function(fn, part=...) or plan with query_share=1."
        )

    @property
    def loss(self) -> Loss:
        """The loss between outputs and targets."""
        return self._loss

    def evaluate(
        self,
        params: Params,
        tasks: Sequence[Any],
        *,
        curvature: Curvature | None = None,
        gradients: bool = True,
        columns: bool = False,
        skip: Collection[int] = (),
        all_used: bool = True,
        watched: Sequence[Any] | None = None,
        seed: int = 0,
        first: int = 0,
    ) -> Evaluation:
        """Losses, gradients and curvature of the tasks from one graph each.

        Args:
            params: the parameters by name.
            tasks: any number of tasks, at least one.
            curvature: which weighted sums of the tasks' diagonals to return as well.
            gradients: False for the losses alone (gradients `[M, 0]`).
            columns: with several ranks, hold the gradients of all tasks at the rank's own
                coordinates, not those of its own tasks at all coordinates.
            skip: indices of tasks that are left out: loss, gradient and curvature zero.
            all_used: whether a parameter that no task uses is an error. It is where the optimiser
                steps on these gradients (torch would skip the parameter), not in a cost.
            watched: for each task a part whose loss is wanted too, for one forward pass more, or
                None (its loss there counts as 0).
            seed: random draws of the tasks, each its own, and sketch signs, the same for each.
            first: number of the first task, where the mini-batch is a part of a longer list: the
                draws of a task then do not depend on how the list is cut.
        """
        leaves = _leaves(params)
        layout = Layout.of(leaves)
        like = next(iter(leaves.values()))
        kind = "none" if curvature is None else curvature.kind
        probes = 1 if curvature is None else curvature.probes

        def ask(function: TaskFunction, i: int, drawn_from: int | None) -> TaskSaid:
            part = None if watched is None else watched[i]
            graph = forward(function, self._loss, leaves, tasks[i], i, drawn_from, part)
            if gradients:
                return derivatives(graph, self._loss, kind, probes, seed)
            nothing: frozenset[str] = frozenset()
            return TaskSaid(graph.loss.detach(), graph.accuracy, None, None, nothing, graph.watched)

        M, own = len(tasks), self.ranks.own(len(tasks))
        asked = [i for i in own if i not in skip]

        def gather(said: Iterator[TaskSaid]) -> Answers:
            answers = Answers(
                rows=len(own),
                leaves=leaves,
                gradients=layout.total if gradients else 0,
                sums_of=None if curvature is None or kind == "none" else curvature.weights,
                watched=watched is not None,
                unused=set(leaves) if gradients and all_used else set(),
            )
            for i, answer in zip(asked, said, strict=True):
                answers.take(i, i // self.ranks.size, answer)
            return answers

        answers = self._told(ask, asked, (seed, first), like.device, gather)
        J, losses, accuracies, seen = answers.J, answers.losses, answers.accuracies, answers.seen
        sums, unused = answers.sums, answers.unused
        has_accuracy = answers.has_accuracy and len(skip) < M
        finite = torch.isfinite(losses) & torch.isfinite(J).all(1)
        if self.ranks.size > 1:
            used = [name not in unused for name in leaves]
            known = Known(losses, accuracies, finite, seen, has_accuracy, used)
            known = known.shared(self.ranks, M)
            losses, accuracies, finite = known.losses, known.accuracies, known.finite
            seen, has_accuracy = known.watched, known.has_accuracy
            unused = {name for name, used in zip(leaves, known.used, strict=True) if not used}
            if sums is not None:
                sums = self.ranks.summed_part(sums)
        if unused and len(skip) < M:
            raise ValueError(
                f"No task of the mini-batch uses the parameter {min(unused)!r}: its gradient is "
                "undefined; expected every optimised parameter to enter a loss. Freeze it with "
                "requires_grad_(False) or leave it out of the optimiser."
            )
        rows = Rows(J, M, self.ranks)
        held = rows.columns() if columns and gradients else rows
        shown = accuracies if has_accuracy else None
        return Evaluation(losses, finite, held, shown, sums, seen, answers.updates)

    def product(
        self,
        params: Params,
        tasks: Sequence[Any],
        weights: Tensor,
        vector: Tensor,
        *,
        skip: Collection[int] = (),
        seed: int = 0,
    ) -> Tensor:
        """`(d/dx [weights . gradients])' vector [P]`: the Hessian product of the weighted loss.

        Of several ranks each gives and gets its own coordinates only.
        """
        leaves = _leaves(params)
        vector = self.ranks.joined(vector, Layout.of(leaves).total)

        def ask(function: TaskFunction, i: int, drawn_from: int | None) -> Tensor:
            graph = forward(function, self._loss, leaves, tasks[i], i, drawn_from)
            gradient = joined(gradient_pieces(graph, keep=True, twice=True), leaves)
            return hessian_product(gradient, leaves, vector)

        asked = [i for i in self.ranks.own(len(tasks)) if i not in skip]

        def weighted(pieces: Iterator[Tensor]) -> Tensor:
            total = torch.zeros_like(vector)
            for i, piece in zip(asked, pieces, strict=True):
                total.add_(piece, alpha=float(weights[i]))
            return total

        total = self._told(ask, asked, (seed, 0), vector.device, weighted)
        return self.ranks.summed_part(total)

    @property
    def embeds(self) -> bool:
        """Whether the features of a task are those of a learned embedding."""
        function = self._function
        return isinstance(function, EpisodeFunction) and function.learner.wants_embedding

    @property
    def adapts(self) -> bool:
        """Whether tasks are episodes that a learner adapts to by steps of an inner loop."""
        function = self._function
        return isinstance(function, EpisodeFunction) and bool(
            getattr(function.learner, "adaptation_steps", 0)
        )

    def features(self, params: Params, tasks: Sequence[Any], *, seed: int = 0) -> list[Tensor]:
        """`[Q, D]` for each task: its query inputs in the learner's embedding, or flattened where
        it has none. Every rank computes those of all tasks."""
        device = next(iter(params.values())).device

        def ask(function: TaskFunction, i: int, own: int | None) -> Tensor:  # noqa: ARG001
            return features(function, params, tasks[i])

        return self._told(ask, range(len(tasks)), (seed, 0), device, list)

    def _told(
        self,
        ask: Ask[Result],
        indices: Sequence[int],
        seed: tuple[int, int],
        device: torch.device,
        collect: Callable[[Iterator[Result]], Total],
    ) -> Total:
        """`collect` of what the tasks say, in their order; the generators are left as found.

        A model that drew nothing when last seen is asked freely, and side by side. If it draws all
        the same, those answers are thrown away and the tasks asked again, one by one, each with its
        own seed.
        """
        with evaluating():
            found = Generators.now(device)
            try:
                if self._known_to_draw() is False:
                    rewind = rewinder()
                    total = collect(self._freely(ask, indices))
                    if not found.moved():
                        return total
                    rewind()
                drew: list[bool] = []
                total = collect(self._one_by_one(ask, indices, seed, device, drew))
            except BaseException:
                found.put_back()
                raise
            found.put_back()
            if drew:
                self._saw(any(drew))
            return total

    def _known_to_draw(self) -> bool | None:
        """Whether the model drew random numbers when last seen; None where it never was."""
        return self._drew if self._workers is None else self._workers.draws

    def _saw(self, drew: bool) -> None:
        if self._workers is None:
            self._drew = drew
        else:
            self._workers.saw(drew)

    def _freely(self, ask: Ask[Result], indices: Sequence[int]) -> Iterator[Result]:
        """The tasks of a model that draws nothing."""
        if self._workers is None:
            return (ask(self._function, i, None) for i in indices)
        return self._workers.map(lambda own, i: ask(EpisodeFunction(own), i, None), indices)

    def _one_by_one(
        self,
        ask: Ask[Result],
        indices: Sequence[int],
        seed: tuple[int, int],
        device: torch.device,
        drew: list[bool],
    ) -> Iterator[Result]:
        """Each task with the generators at its own seed; `drew` is told whether it moved them."""
        function = self._function
        if isinstance(function, EpisodeFunction):
            function = EpisodeFunction(function.learner, shares=False)
        for i in indices:
            own = derived_seed(seed[0], seed[1] + i)
            seed_generators(own, device)
            fresh = Generators.now(device)
            yield ask(function, i, own)
            drew.append(fresh.moved())


def _default_workers(learner: Learner) -> int:
    if any(p.device.type != "cpu" for p in learner.module.parameters()):
        return 1  # a GPU works on all its cores at one task
    return max(1, available_cores() // ranks_of_this_machine())


def _leaves(params: Params) -> dict[str, Tensor]:
    return {name: p.detach().requires_grad_() for name, p in params.items()}
