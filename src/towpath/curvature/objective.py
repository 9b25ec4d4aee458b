"""What a mini-batch of tasks says at given parameters: losses, gradients, curvature.

    losses     l    [M]     query loss of each task after adaptation
    gradients  J    [M, P]  one row a task
    curvature  W h  [j, P]  rows of weights times the tasks' diagonals h_i, never all h_i at once

All three come from one graph per task: one forward pass, one backward pass for the gradient and
one for each probe of the curvature.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from towpath.curvature.gauss_newton import backward_to, exact, sketch
from towpath.curvature.hutchinson import hutchinson
from towpath.curvature.losses import Loss, loss_named
from towpath.flat import Layout

Params = Mapping[str, Tensor]
TaskFunction = Callable[[Params, Any], tuple[Tensor, Tensor]]
CurvatureKind = Literal["gauss-newton", "gauss-newton-exact", "hutchinson", "none"]
CURVATURES: tuple[CurvatureKind, ...] = ("gauss-newton", "gauss-newton-exact", "hutchinson", "none")


class Learner(Protocol):
    """A meta-learner of ours: a pure function from (params, episode) to query outputs."""

    loss: str

    def __call__(self, params: dict[str, Tensor], episode: Any) -> Tensor: ...


@dataclass(frozen=True)
class Curvature:
    """Which diagonal to compute, and the weights `[j, M]` of the sums of it that are wanted."""

    kind: CurvatureKind
    weights: Tensor
    probes: int = 1


@dataclass(frozen=True)
class Evaluation:
    """Losses `[M]`, gradients `[M, P]`, accuracies `[M]` if any, weighted curvatures `[j, P]`."""

    losses: Tensor
    gradients: Tensor
    accuracies: Tensor | None
    curvature: Tensor | None


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

    def __init__(self, learner: Learner) -> None:
        if not callable(learner) or not hasattr(learner, "loss"):
            raise ValueError(
                f"tp.Objective found {type(learner).__name__}; expected a learner such as "
                "tp.learners.MAML(model). For a function of your own use "
                "tp.Objective.from_function(fn, loss='cross_entropy')."
            )
        self._loss = loss_named(learner.loss)
        self._function: TaskFunction = lambda params, task: (
            learner(dict(params), task),
            task.query_y,
        )

    @classmethod
    def from_function(cls, fn: TaskFunction, loss: str = "cross_entropy") -> "Objective":
        """An objective from `fn(params, task) -> (output, target)`; tasks are any objects."""
        if not callable(fn):
            raise ValueError(
                f"from_function found {type(fn).__name__}; expected a function "
                "fn(params, task) -> (output, target)."
            )
        objective = cls.__new__(cls)
        objective._loss = loss_named(loss)
        objective._function = fn
        return objective

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
        all_used: bool = True,
        seed: int = 0,
    ) -> Evaluation:
        """Losses, gradients and curvature of the tasks from one graph each.

        Args:
            params: the parameters by name.
            tasks: any number of tasks, at least one.
            curvature: which weighted sums of the tasks' diagonals to return as well.
            gradients: False for the losses alone (gradients `[M, 0]`).
            all_used: whether a parameter that no task uses is an error. It is where the optimiser
                steps on these gradients (torch would skip the parameter), not in a cost.
            seed: dropout masks and sketch signs, the same for each task.
        """
        leaves = {name: p.detach().requires_grad_() for name, p in params.items()}
        layout = Layout.of(leaves)
        like = next(iter(leaves.values()))
        kind = "none" if curvature is None else curvature.kind
        J = like.new_empty(len(tasks), layout.total if gradients else 0)
        sums: Tensor | None = None
        if curvature is not None and kind != "none":
            sums = like.new_zeros(len(curvature.weights), layout.total)
        losses: list[Tensor] = []
        accuracies: list[Tensor] = []
        unused = set(leaves) if gradients and all_used else set()
        for i, task in enumerate(tasks):
            outputs, targets, loss = self._forward(leaves, task, i, seed)
            losses.append(loss.detach())
            if self._loss.name == "cross_entropy" and not targets.is_floating_point():
                hits = self._loss.rows(outputs.detach()).argmax(-1) == targets.reshape(-1)
                accuracies.append(hits.to(like.dtype).mean())
            if not gradients:
                continue
            pieces = self._gradient(loss, leaves, retain=kind != "none", graph=kind == "hutchinson")
            unused -= {n for n, piece in zip(leaves, pieces, strict=True) if piece is not None}
            gradient = layout.flatten(_filled(pieces, leaves))
            J[i] = gradient.detach()
            if sums is not None and curvature is not None:
                h = self._diagonal(curvature, outputs, gradient, leaves, seed)
                sums.addr_(curvature.weights[:, i].to(sums), h)
        if unused:
            raise ValueError(
                f"No task of the mini-batch uses the parameter {min(unused)!r}: its gradient is "
                "undefined; expected every optimised parameter to enter a loss. Freeze it with "
                "requires_grad_(False) or leave it out of the optimiser."
            )
        return Evaluation(
            losses=torch.stack(losses),
            gradients=J,
            accuracies=torch.stack(accuracies) if accuracies else None,
            curvature=sums,
        )

    def product(
        self,
        params: Params,
        tasks: Sequence[Any],
        weights: Tensor,
        vector: Tensor,
        *,
        seed: int = 0,
    ) -> Tensor:
        """`(d/dx [weights . gradients])' vector [P]`: the Hessian product of the weighted loss."""
        leaves = {name: p.detach().requires_grad_() for name, p in params.items()}
        layout = Layout.of(leaves)
        total = torch.zeros_like(vector)
        for i, task in enumerate(tasks):
            _, _, loss = self._forward(leaves, task, i, seed)
            pieces = self._gradient(loss, leaves, retain=True, graph=True)
            gradient = layout.flatten(_filled(pieces, leaves))
            total.add_(_hessian_product(gradient, leaves, vector), alpha=float(weights[i]))
        return total

    def _forward(
        self, leaves: Params, task: Any, index: int, seed: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        try:
            with _seeded(seed, leaves):
                result = self._function(leaves, task)
            outputs, targets = _checked(result)
            return outputs, targets, self._loss.value(outputs, targets)
        except Exception as error:
            error.add_note(f"towpath: raised by task {index} of the mini-batch")
            raise

    @staticmethod
    def _gradient(
        loss: Tensor, leaves: Params, *, retain: bool, graph: bool
    ) -> Sequence[Tensor | None]:
        if not loss.requires_grad:
            return [None] * len(leaves)
        return torch.autograd.grad(
            loss,
            list(leaves.values()),
            retain_graph=retain or graph,
            create_graph=graph,
            allow_unused=True,
        )

    def _diagonal(
        self, curvature: Curvature, outputs: Tensor, gradient: Tensor, leaves: Params, seed: int
    ) -> Tensor:
        tensors = list(leaves.values())
        if curvature.kind == "hutchinson":
            return hutchinson(
                lambda e: _hessian_product(gradient, leaves, e, retain=True),
                gradient.detach(),
                probes=curvature.probes,
                seed=seed,
            )
        if not outputs.requires_grad:
            return torch.zeros_like(gradient)
        backward = backward_to(tensors)
        if curvature.kind == "gauss-newton-exact":
            return exact(outputs, self._loss, backward)
        return sketch(outputs, self._loss, backward, probes=curvature.probes, seed=seed)


def _checked(result: object) -> tuple[Tensor, Tensor]:
    if (
        not isinstance(result, tuple)
        or len(result) != 2
        or not all(isinstance(part, Tensor) for part in result)
    ):
        raise ValueError(
            f"The task function returned {type(result).__name__}; expected a pair of tensors "
            "(output, target). Return e.g. `return model_output, labels`."
        )
    return result


def _filled(pieces: Sequence[Tensor | None], leaves: Params) -> list[Tensor]:
    return [
        torch.zeros_like(leaf) if piece is None else piece
        for piece, leaf in zip(pieces, leaves.values(), strict=True)
    ]


def _hessian_product(
    gradient: Tensor, leaves: Params, vector: Tensor, *, retain: bool = False
) -> Tensor:
    """`(d gradient / d leaves)' vector`; zero where the gradient is constant."""
    if not gradient.requires_grad:
        return torch.zeros_like(vector)
    pieces = torch.autograd.grad(
        gradient, list(leaves.values()), vector, retain_graph=retain, allow_unused=True
    )
    return torch.cat([piece.reshape(-1) for piece in _filled(pieces, leaves)])


@contextmanager
def _seeded(seed: int, params: Params) -> Iterator[None]:
    """Dropout draws from torch's global generators: fork them, so that nobody notices."""
    devices = {p.device for p in params.values() if p.device.type not in ("cpu", "meta")}
    kind = next(iter(devices)).type if devices else "cuda"
    with torch.random.fork_rng(devices=[d.index or 0 for d in devices], device_type=kind):
        torch.manual_seed(seed)
        yield
