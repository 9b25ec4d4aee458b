"""The loss, gradient and curvature of one task at given parameters, from one graph.

The loss on a part of the task's query set can be monitored as well: it is computed after the same
adaptation and costs one more forward pass of the part.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from towpath.curvature.choice import CurvatureKind, CurvatureUsed, choose
from towpath.curvature.gauss_newton import backward_to, exact, sketch
from towpath.curvature.hutchinson import hutchinson
from towpath.data.episode import Episode
from towpath.learners import Learner
from towpath.learners.compiled import compiled_graphs_told
from towpath.learners.statistics import LayerPass, noted_passes
from towpath.losses import Loss, Losses, Result
from towpath.metrics import hits
from towpath.objective.draws import seed_generators
from towpath.objective.live import aside, untangle
from towpath.objective.predicted import Predicted

Params = Mapping[str, Tensor]
TaskFunction = Callable[[Params, Any], Any]
"""(params, task) -> what `towpath.losses.Losses` reads: (outputs, targets), or the loss itself."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A task's outputs and loss, with the autograd graph that leads to the parameters."""

    leaves: Params
    result: Result
    """the outputs and targets with the loss function between them: a row for each query sample and,
    of a learner that samples, for each draw"""
    predictions: Tensor
    """`[Q, ...]`, a row for each query sample, without a graph; where there are several draws, the
    logarithm of their mean probabilities"""
    targets: Tensor | None
    """targets of the predictions; None where the function computed the loss itself"""
    counted: "Counted | None"
    """the predictions `[Q, ways]` and targets that metrics are computed of, if any are known"""
    loss: Tensor
    accuracy: Tensor | None
    watched: Tensor | None = None
    """loss on the monitored part of the query set, if any; without a graph"""
    passes: Sequence[LayerPass] = ()
    """what the task's passes did to running statistics, in their order"""


Counted = tuple[Tensor, Tensor]
"""predictions `[n, ways]` and the targets of the same samples"""


def counted(kind: Loss | None, predictions: Tensor, targets: Tensor | None) -> Counted | None:
    """Return the predictions and targets that metrics are computed of; None if none are known.

    Samples of classes that do not count, such as those with an ignored label, are left out. The
    targets of a classification may be class probabilities, of which no metric is known, and those
    of a loss of the user's may be anything.

    Args:
        kind: the loss between outputs and targets, if it is known.
        predictions: one row for each query sample.
        targets: their targets, if there are any.
    """
    if kind is None or targets is None or not (kind.classifies or kind.regresses):
        return None
    if kind.classifies == targets.is_floating_point():
        return None
    if kind.classifies:
        return kind.counted(predictions, targets)
    rows = kind.rows(predictions)
    # a loss may have more outputs than targets, such as a mean and a variance
    return (rows, targets) if rows.numel() == targets.numel() else None


@dataclass(frozen=True)
class EpisodeFunction:
    """The task function of a learner, from parameters and an episode to outputs and targets."""

    learner: Learner
    shares: bool = True
    """whether a part of the episode shares its adaptation: not where random numbers are drawn,
    which must equal those of the part as a task of its own"""

    def __call__(self, params: Params, episode: Any) -> tuple[Tensor, Tensor]:
        return self.learner(params, episode), episode.query_y

    def predicted(self, params: Params, episode: Any) -> Predicted:
        """Return the predictions for the query set, with what the predictor adds to the loss."""
        predictor = self.learner.adapt(params, episode.support_x, episode.support_y)
        return Predicted.by(predictor, episode)

    def with_part(self, params: Params, episode: Any, part: Any) -> tuple[Predicted, Predicted]:
        """Return the predictions for the episode and, without a graph, those for its part."""
        predictor = self.learner.adapt(params, episode.support_x, episode.support_y)
        predicted = Predicted.by(predictor, episode)
        # monitoring must not train anything, running statistics included
        with torch.no_grad(), aside():
            return predicted, Predicted.by(predictor, part)


@dataclass(frozen=True, eq=False)
class TaskSaid:
    """The results of one task's evaluation, detached from its graph."""

    loss: Tensor
    accuracy: Tensor | None
    gradient: Tensor | None
    """`[P]`"""
    h: Tensor | None
    """`[P]`, diagonal of the curvature"""
    used: frozenset[str]
    """names of the parameters that enter the loss"""
    curvature: CurvatureUsed = CurvatureUsed.NONE
    """the kind of curvature that `h` is, and why"""
    watched: Tensor | None = None
    passes: Sequence[LayerPass] = ()
    outputs: "TaskOutputs | None" = None
    """what the evidence of the task's labels is computed of, if somebody asks for it"""


@dataclass(frozen=True, eq=False)
class TaskOutputs:
    """The predictions of a task and their targets, without a graph."""

    kind: Loss | None
    predictions: Tensor
    targets: Tensor | None
    counted: Counted | None
    """those that metrics are computed of"""

    @classmethod
    def of(cls, graph: Graph) -> "TaskOutputs":
        """Return those of a forward pass."""
        return cls(graph.result.loss, graph.predictions, graph.targets, graph.counted)

    def telling(self) -> Counted | None:
        """Return what evidence is computed of; None where nothing is known."""
        if self.kind is not None and self.targets is not None:
            found = self.kind.natural(self.predictions, self.targets)
            if found is not None:
                return found
        return self.counted


def forward(
    function: TaskFunction,
    losses: Losses,
    leaves: Params,
    task: Any,
    index: int,
    seed: int | None,
    part: Any = None,
) -> Graph:
    """Run the forward pass of a task and return its graph.

    Args:
        function: the task function.
        losses: finds the loss between its outputs and targets.
        leaves: the parameters, with gradients required.
        task: the task.
        index: its number in the mini-batch, for error messages.
        seed: the seed of the generators; None if the model is known to draw nothing.
        part: the task with a part of its query set, whose loss is monitored as well, or None.
    """
    watched = None
    try:
        if part is not None and isinstance(function, EpisodeFunction) and function.shares:
            with noted_passes() as passes:
                predicted, seen = function.with_part(leaves, task, part)
            watched = seen.in_precision_of(leaves).loss()
        else:
            with noted_passes() as passes:
                predicted = _predicted(function, losses, leaves, task)
            untangle()
            if part is not None:
                if seed is not None:
                    seed_generators(seed, predicted.outputs.device)
                with torch.no_grad(), aside():
                    seen = _predicted(function, losses, leaves, part)
                    watched = seen.in_precision_of(leaves).loss()
                untangle()
        predicted = predicted.in_precision_of(leaves)
        loss = predicted.loss()
    except Exception as error:
        error.add_note(f"towpath: raised by task {index} of the mini-batch")
        raise
    result, predictions = predicted.rows_of_draws(), predicted.predictions()
    known = counted(predicted.kind, predictions, predicted.targets)
    return Graph(
        leaves,
        result,
        predictions,
        predicted.targets,
        known,
        loss,
        _accuracy(predicted.kind, known, loss.dtype),
        watched,
        passes,
    )


def _accuracy(kind: Loss | None, known: Counted | None, dtype: torch.dtype) -> Tensor | None:
    """Return the accuracy of a task with labels, NaN if none counts; None for any other task."""
    if kind is None or known is None or not kind.classifies:
        return None
    return hits(*known).to(dtype).mean()


@torch.no_grad()
def features(function: TaskFunction, params: Params, task: Any) -> Tensor:
    """Return the query inputs as vectors `[Q, D]`: the learner's embedding, or flattened inputs."""
    if not isinstance(task, Episode):
        raise ValueError(
            f"The features of a task were asked for and found one of type {type(task).__name__}; "
            "expected a tp.Episode, whose query inputs are known. Wrap the tasks in tp.Episode."
        )
    if not isinstance(function, EpisodeFunction):
        return task.query_x.flatten(1)
    with aside():  # no training here, not even of running statistics
        return function.learner.features(params, task.query_x)


@compiled_graphs_told()
def derivatives(
    graph: Graph,
    curvature: CurvatureKind,
    probes: int,
    seed: int,
    without: Collection[str] = (),
) -> TaskSaid:
    """Compute gradient and curvature from the graph of the forward pass.

    Args:
        graph: the graph of the forward pass.
        curvature: the kind of diagonal that is asked for, or "none".
        probes: the number of random draws of a sketched diagonal.
        seed: the seed of these draws.
        without: parameters whose gradient is left out, and 0.
    """
    choice = choose(curvature, graph.result)
    twice = choice.kind == "hutchinson"
    pieces = gradient_pieces(graph, keep=choice.kind != "none", twice=twice, without=without)
    gradient = joined(pieces, graph.leaves)
    h: Tensor | None = None
    used = choice.used
    if choice.kind == "hutchinson":
        try:
            h = hutchinson(
                lambda e: hessian_product(gradient, graph.leaves, e, keep=True),
                gradient.detach(),
                probes=probes,
                seed=seed,
            )
        except RuntimeError as error:
            # asked for, it is the user's to know; chosen by us, a plan without curvature is better
            if used.as_asked or "not implemented" not in str(error):
                raise
            used = CurvatureUsed.NONE_NOT_TWICE
    elif choice.kind != "none" and not graph.result.outputs.requires_grad:
        h = torch.zeros_like(gradient)
    elif choice.factor is not None:
        backward = backward_to(list(graph.leaves.values()))
        if choice.kind == "gauss-newton-exact":
            h = exact(choice.factor, backward)
        else:
            h = sketch(choice.factor, backward, probes=probes, seed=seed)
    names = zip(graph.leaves, pieces, strict=True)
    return TaskSaid(
        loss=graph.loss.detach(),
        accuracy=graph.accuracy,
        gradient=gradient.detach(),
        h=h,
        used=frozenset(name for name, piece in names if piece is not None),
        curvature=used,
        watched=graph.watched,
        passes=graph.passes,
        outputs=TaskOutputs.of(graph),
    )


def losses_alone(graph: Graph) -> TaskSaid:
    """Return the results of a forward pass without gradient and curvature."""
    nothing: frozenset[str] = frozenset()
    return TaskSaid(
        graph.loss.detach(),
        graph.accuracy,
        None,
        None,
        nothing,
        watched=graph.watched,
        outputs=TaskOutputs.of(graph),
    )


@compiled_graphs_told()
def gradient_pieces(
    graph: Graph, *, keep: bool, twice: bool, without: Collection[str] = ()
) -> Sequence[Tensor | None]:
    """Return the loss's gradient in each leaf, or None for a leaf that it does not depend on.

    Args:
        graph: the graph of the forward pass.
        keep: whether the graph will be used again.
        twice: whether the gradient will be differentiated.
        without: leaves whose gradient is not computed: None.
    """
    wanted = [name for name in graph.leaves if name not in without]
    if not graph.loss.requires_grad or not wanted:
        return [None] * len(graph.leaves)
    pieces = torch.autograd.grad(
        graph.loss,
        [graph.leaves[name] for name in wanted],
        retain_graph=keep or twice,
        create_graph=twice,
        allow_unused=True,
    )
    found = dict(zip(wanted, pieces, strict=True))
    return [found.get(name) for name in graph.leaves]


def joined(pieces: Sequence[Tensor | None], leaves: Params) -> Tensor:
    """Concatenate the pieces into one vector `[P]`, with zeros for pieces that are None."""
    return torch.cat(
        [
            (torch.zeros_like(leaf) if piece is None else piece).reshape(-1)
            for piece, leaf in zip(pieces, leaves.values(), strict=True)
        ]
    )


@compiled_graphs_told()
def hessian_product(
    gradient: Tensor, leaves: Params, vector: Tensor, *, keep: bool = False
) -> Tensor:
    """Return `(d gradient / d leaves)' vector`; zero where the gradient is constant.

    Args:
        gradient: `[P]`, with its graph.
        leaves: the parameters.
        vector: `[P]`, the vector to multiply.
        keep: whether the graph will be used again.
    """
    if not gradient.requires_grad:
        return torch.zeros_like(vector)
    pieces = torch.autograd.grad(
        gradient, list(leaves.values()), vector, retain_graph=keep, allow_unused=True
    )
    return joined(pieces, leaves)


def _predicted(function: TaskFunction, losses: Losses, params: Params, task: Any) -> Predicted:
    """Return what the task function predicts for the task's query set."""
    if isinstance(function, EpisodeFunction):
        return function.predicted(params, task)
    result = losses.read(function(params, task))
    return Predicted(result.outputs, result.targets, result.loss)
