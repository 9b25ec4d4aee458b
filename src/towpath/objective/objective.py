"""The losses, gradients and curvature of a mini-batch of tasks at given parameters.

    losses     l    [M]     query loss of each task after adaptation
    gradients  J    [M, P]  one row per task
    curvature  W h  [j, P]  rows of weights times the tasks' diagonals h_i, never all h_i at once

All three come from one graph per task: one forward pass, one backward pass for the gradient and
one for each probe of the curvature. A task's random draws are a function of the seed and of the
task's number (`towpath.objective.draws`), however many workers there are. Under torchrun each rank
evaluates its own tasks; losses and other small results are known to all ranks, and gradients are
only sent when the caller requests a product with them.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from towpath.distributed.ranks import ALONE, Ranks
from towpath.flat import Layout
from towpath.learners import Learner
from towpath.learners.statistics import read_updates
from towpath.losses import Losses, LossLike
from towpath.metrics import Metric
from towpath.objective.asking import Draws, collected
from towpath.objective.evaluation import Curvature, Evaluation, KnownOutputs
from towpath.objective.gradients import Answers, Known, Rows
from towpath.objective.labels import knowing_labels
from towpath.objective.measuring import Measured, TaskMeasured, measured, shared
from towpath.objective.source import FunctionTasks, LearnerTasks, Part, TaskSource
from towpath.objective.task import (
    Params,
    TaskFunction,
    TaskSaid,
    derivatives,
    features,
    forward,
    gradient_pieces,
    hessian_product,
    joined,
    losses_alone,
)
from towpath.objective.unused import check_gradients_on, unused_error


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

    def __init__(
        self, learner: Learner | FunctionTasks, workers: int | None = None, ranks: Ranks = ALONE
    ) -> None:
        """Define the loss of episodes under a learner.

        Args:
            learner: a learner of the library (or, from `from_function`, a function of the user's).
            workers: the number of tasks that are evaluated in parallel in this process, each on one
                core with a graph of its own in memory; it does not change the results (a single
                worker leaves torch its own threads). A model that draws random numbers is evaluated
                one task after the other, whatever the number. The default is the cores that the
                process may use, shared with the other ranks of the machine, and one for a learner
                on a GPU.
            ranks: the processes that share the tasks, from `tp.distributed.launched()`.
        """
        self.source: TaskSource
        if isinstance(learner, FunctionTasks):
            self.source = learner
        else:
            self.source = LearnerTasks(learner, workers)
        self.ranks = ranks

    @classmethod
    def from_function(
        cls,
        fn: TaskFunction,
        loss: LossLike | None = "cross_entropy",
        part: Part | None = None,
        ranks: Ranks = ALONE,
    ) -> "Objective":
        """Make an objective from a function of your own, for tasks that are any objects.

        Args:
            fn: `fn(params, task) -> (output, target)`.
            loss: the loss between output and target: a name ("cross_entropy", "mse", "bce",
                "huber", "nll"), a name with options (`{"name": "huber", "delta": 0.5}`), an
                `nn.Module`, or a function of (output, target). For tasks of several kinds, a
                mapping from names of your own to these, where `fn` returns `(output, target,
                name)`. None for an `fn` that returns the loss itself.
            part: `part(task, share)` returns the task with a share of its query samples, for plans
                that use only a part of them (`TOW.fast()`); for episodes it is not needed.
            ranks: the processes that share the tasks.
        """
        return cls(FunctionTasks(fn, loss, part), ranks=ranks)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickled objective needs; raise for one of several processes."""
        if self.ranks.size > 1:
            raise TypeError(
                f"This objective is shared by {self.ranks.size} processes, to which a copy would "
                "not belong. Make a new one in each process: tp.Objective(..., ranks=ranks)."
            )
        return self.__dict__

    def part(self, task: Any, share: float) -> Any:
        """Return the task with a share of its query set."""
        return self.parts([task], share)[0]

    def parts(self, tasks: Sequence[Any], share: float) -> list[Any]:
        """Return each task with a share of its query set."""
        return self.source.parts(tasks, share)

    @property
    def losses(self) -> Losses:
        """The losses between the outputs and the targets of the tasks."""
        return self.source.losses

    # Eleven parameters because each is a question of its own, which most callers leave out.
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
        without: Collection[str] = (),
        watched: Sequence[Any] | None = None,
        seed: int = 0,
        first: int = 0,
    ) -> Evaluation:
        """Compute losses, gradients and curvature of the tasks from one graph each.

        Args:
            params: the parameters by name.
            tasks: any number of tasks, at least one.
            curvature: the weighted sums of the tasks' diagonals to compute as well.
            gradients: False for the losses alone (gradients `[M, 0]`).
            columns: with several ranks, store all tasks' gradients at the rank's own coordinates.
            skip: indices of tasks that are left out: loss, gradient and curvature zero.
            all_used: whether a parameter that no task uses is an error (torch would skip it).
            without: parameters in which no gradient is computed, so that it is 0 there.
            watched: for each task a part whose loss is monitored (one more pass), or None for 0.
            seed: seed of the tasks' own random draws, and of the sketch signs they share.
            first: number of the first task where these are a part of a list, for their draws.
        """
        if gradients:
            check_gradients_on()
        leaves = _leaves(params)
        kind = "none" if curvature is None else curvature.kind
        probes = 1 if curvature is None else curvature.probes
        own = self.ranks.own(len(tasks))
        asked = [i for i in own if i not in skip]

        def ask(function: TaskFunction, i: int, drawn_from: int | None) -> TaskSaid:
            """Evaluate task i, with its derivatives if they are requested."""
            part = None if watched is None else watched[i]
            graph = forward(function, self.losses, leaves, tasks[i], i, drawn_from, part)
            wanted = (kind, probes, seed, without)
            return derivatives(graph, *wanted) if gradients else losses_alone(graph)

        def gather(said: Iterator[TaskSaid]) -> Answers:
            """Collect the results of this rank's tasks."""
            return Answers(
                rows=len(own),
                leaves=leaves,
                gradients=Layout.of(leaves).total if gradients else 0,
                sums_of=None if curvature is None or kind == "none" else curvature.weights,
                watched=watched is not None,
                unused=set(leaves) - set(without) if gradients and all_used else set(),
            ).filled(asked, said, self.ranks.size)

        known = knowing_labels(ask, _asked_of(asked, tasks, watched), _device(leaves))
        answers = collected(self.source, known, asked, Draws(seed, first), _device(leaves), gather)
        return self._evaluation(answers, leaves, tasks, skip, columns=columns and gradients)

    def _evaluation(
        self,
        answers: Answers,
        leaves: Params,
        tasks: Sequence[Any],
        skip: Collection[int],
        *,
        columns: bool,
    ) -> Evaluation:
        """Combine the results of all ranks.

        Args:
            answers: the results of the rank's own tasks.
            leaves: the parameters by name.
            tasks: the M tasks of all ranks.
            skip: indices of tasks that were left out.
            columns: whether the gradients are to be stored by coordinate.
        """
        M, any_asked, names = len(tasks), len(skip) < len(tasks), list(leaves)
        J, unused, sums = answers.J, answers.unused, answers.sums
        known = Known(
            answers.losses,
            answers.accuracies,
            torch.isfinite(answers.losses) & torch.isfinite(J).all(1),
            answers.seen,
            answers.has_accuracy and any_asked,
            [name not in unused for name in names],
        )
        if self.ranks.size > 1:
            known = known.shared(self.ranks, M)
            unused = {name for name, used in zip(names, known.used, strict=True) if not used}
            if sums is not None:
                sums = self.ranks.summed_part(sums)
        if unused and any_asked:
            own = [i for i in self.ranks.own(M) if i not in skip]
            # a forward pass once more, because the graphs are gone
            loss = self._loss(leaves, tasks[own[0]], own[0]) if own else None
            raise unused_error(unused, leaves, loss)
        rows = Rows(J, M, self.ranks)
        return Evaluation(
            known.losses,
            known.finite,
            rows.columns() if columns else rows,
            known.accuracies if known.has_accuracy else None,
            sums,
            known.watched,
            read_updates(answers.passes),
            frozenset(answers.kinds),
            KnownOutputs(tuple(answers.outputs), known.losses, self.ranks),
        )

    def _loss(self, leaves: Params, task: Any, index: int) -> Tensor:
        """Return the loss of a task with its graph."""
        return forward(self.source.function_alone(), self.losses, leaves, task, index, None).loss

    def measure(
        self,
        params: Params,
        tasks: Sequence[Any],
        metrics: Sequence[Metric],
        *,
        seed: int = 0,
        first: int = 0,
    ) -> dict[Metric, list[float]]:
        """Compute metrics of the tasks after adaptation, without gradients.

        Args:
            params: the parameters by name.
            tasks: any number of tasks, at least one.
            metrics: the metrics to compute.
            seed: seed of the tasks' own random draws.
            first: number of the first task where these are a part of a list, for their draws.

        Returns:
            the metrics that suit all of the tasks, each with its value on every task; NaN where it
            is undefined.
        """
        return self.measure_classes(params, tasks, metrics, seed=seed, first=first).metrics

    def measure_classes(
        self,
        params: Params,
        tasks: Sequence[Any],
        metrics: Sequence[Metric],
        *,
        seed: int = 0,
        first: int = 0,
    ) -> Measured:
        """Compute metrics as `measure` does, and count which labels were taken for which.

        Args:
            params, tasks, metrics, seed, first: as for `measure`.
        """
        leaves = _leaves(params)

        def ask(function: TaskFunction, i: int, drawn_from: int | None) -> TaskMeasured:
            """Return what is measured of task i."""
            graph = forward(function, self.losses, leaves, tasks[i], i, drawn_from)
            return measured(graph, metrics)

        own, device = self.ranks.own(len(tasks)), _device(leaves)
        known = knowing_labels(ask, _asked_of(own, tasks), device)
        rows = collected(self.source, known, own, Draws(seed, first), device, list)
        return shared(rows, metrics, len(tasks), self.ranks, device)

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
        """Return the Hessian product `(d/dx [weights . gradients])' vector [P]` of the weighted
        loss.

        With several ranks, each passes and receives its own coordinates only.

        Args:
            params: the parameters by name.
            tasks: M tasks.
            weights: `[M]`, the weights of the tasks' losses.
            vector: `[P]`, at the rank's own coordinates.
            skip: indices of tasks that are left out.
            seed: seed of the tasks' random draws.
        """
        check_gradients_on()
        leaves = _leaves(params)
        vector = self.ranks.joined(vector, Layout.of(leaves).total)

        def ask(function: TaskFunction, i: int, drawn_from: int | None) -> Tensor:
            """Return the Hessian product of the loss of task i."""
            graph = forward(function, self.losses, leaves, tasks[i], i, drawn_from)
            gradient = joined(gradient_pieces(graph, keep=True, twice=True), leaves)
            return hessian_product(gradient, leaves, vector)

        asked = [i for i in self.ranks.own(len(tasks)) if i not in skip]

        def weighted(pieces: Iterator[Tensor]) -> Tensor:
            """Return the sum of the products, weighted by task."""
            total, w = torch.zeros_like(vector), weights.tolist()
            for i, piece in zip(asked, pieces, strict=True):
                total.add_(piece, alpha=w[i])
            return total

        known = knowing_labels(ask, _asked_of(asked, tasks), vector.device)
        total = collected(self.source, known, asked, Draws(seed), vector.device, weighted)
        return self.ranks.summed_part(total)

    @property
    def embeds(self) -> bool:
        """Whether the features of a task are those of a learned embedding."""
        return self.source.embeds

    @property
    def adapts(self) -> bool:
        """Whether tasks are episodes that a learner adapts to by steps of an inner loop."""
        return self.source.adapts

    def features(self, params: Params, tasks: Sequence[Any], *, seed: int = 0) -> list[Tensor]:
        """Return the features `[Q, D]` of each task's query inputs.

        They are the learner's embedding, or the flattened inputs for a learner without one. Every
        rank computes those of all tasks.
        """

        def ask(function: TaskFunction, i: int, own: int | None) -> Tensor:  # noqa: ARG001
            """Return the features `[Q, D]` of task i."""
            return features(function, params, tasks[i])

        return collected(self.source, ask, range(len(tasks)), Draws(seed), _device(params), list)


def _asked_of(
    indices: Sequence[int], tasks: Sequence[Any], watched: Sequence[Any] | None = None
) -> list[Any]:
    """Return the tasks of these numbers and, if there are some, their monitored parts."""
    parts = [] if watched is None else [watched[i] for i in indices if watched[i] is not None]
    return [*(tasks[i] for i in indices), *parts]


def _device(params: Params) -> torch.device:
    """Return the device of the parameters, which is the same for all of them."""
    return next(iter(params.values())).device


def _leaves(params: Params) -> dict[str, Tensor]:
    return {name: p.detach().requires_grad_() for name, p in params.items()}
