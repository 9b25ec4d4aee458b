"""The start of a plan: a model and an optimiser, real or pure, and a window of tasks.

`model` is an `nn.Module` with a `torch.optim` object, or a dictionary of parameters with the state
from `tp.Adam(lr=...).init(params)`. The arguments are not changed: a model's buffers (which
`functional_call` does update in train mode) are restored after every evaluation, and their values
under training are stored with the trajectory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from towpath.distributed.ranks import Ranks
from towpath.dynamics import OptimiserState, State, check_uniform, read_torch
from towpath.flat import Layout
from towpath.objective import Evaluation, Objective
from towpath.objective.live import LiveModel, Values
from towpath.objective.turns import evaluating

Answer = TypeVar("Answer")
Window = Sequence[Sequence[Any]]
"""T mini-batches of M tasks."""
ModelLike = nn.Module | Mapping[str, Tensor]
OptimizerLike = torch.optim.Optimizer | OptimiserState


@dataclass(frozen=True, eq=False)
class Start:
    """The state of model and optimiser before the first step of a window."""

    layout: Layout
    optimizer: OptimiserState
    state: State
    live: LiveModel
    """the model itself; nothing in it for pure parameters"""
    buffers: Values
    """its buffers as they were when the plan began"""

    @classmethod
    def of(cls, model: ModelLike, optimizer: OptimizerLike) -> "Start":
        """Read the model and the optimiser; raise a ValueError for what is not modelled."""
        with evaluating():  # not in the middle of a pass that another thread's plan makes
            params, held = _read(model, optimizer)
            live = LiveModel.of(model if isinstance(model, nn.Module) else None)
            buffers = live.values()
        layout = Layout.of(params)
        if held.dynamics.layout != layout:
            raise ValueError(
                f"The optimiser's state is for parameters {_shapes(held.dynamics.layout)}; found "
                f"{_shapes(layout)}. Make it with tp.Adam(lr=...).init(params) from these params."
            )
        x = layout.flatten(list(params.values()))
        for slot in held.slots:
            if (slot.dtype, slot.device) != (x.dtype, x.device):
                raise ValueError(
                    f"The optimiser's state is {slot.dtype} on {slot.device}; found parameters of "
                    f"{x.dtype} on {x.device}. Make it with tp.Adam(lr=...).init(params) from "
                    "these params."
                )
        return cls(layout, held, held.at(x), live, buffers)

    def untouched(self, evaluate: Callable[[], Answer]) -> Answer:
        """Run an evaluation and restore the model afterwards."""
        with evaluating(), self.live.at(self.buffers):
            return evaluate()

    def training(
        self, before: Values, evaluate: Callable[[], Evaluation], ranks: Ranks
    ) -> tuple[Evaluation, Values]:
        """Evaluate tasks that are trained on; return the result and the buffers after it.

        A user's function writes to the model's buffers itself, task after task; a learner reports
        the updates of its passes. The model itself is restored.
        """
        with evaluating(), self.live.at(before):
            here = evaluate()
            after = self.live.values()
        for update in here.updates if after else ():
            update.apply_to(after)
        moved = [name for name, value in after.items() if not torch.equal(value, before[name])]
        if moved and ranks.size > 1:
            raise ValueError(
                f"Training moves the buffer {moved[0]!r} of the model, and {ranks.size} ranks "
                "share the tasks; expected no such buffer, because each rank sees its own tasks "
                "only. Use norm layers with track_running_stats=False, put them in eval(), or "
                "train in one process."
            )
        return here, after


def _read(
    model: ModelLike, optimizer: OptimizerLike
) -> tuple[Mapping[str, Tensor], OptimiserState]:
    if isinstance(model, nn.Module) and isinstance(optimizer, torch.optim.Optimizer):
        return read_torch(model, optimizer)
    if isinstance(model, Mapping) and isinstance(optimizer, OptimiserState):
        if not model or not all(isinstance(p, Tensor) for p in model.values()):
            raise ValueError(
                "The parameters are empty or not tensors; expected a dict from name to tensor, "
                "e.g. dict(model.named_parameters())."
            )
        check_uniform(model)
        return {name: p.detach() for name, p in model.items()}, optimizer
    raise ValueError(
        f"Found a model of type {type(model).__name__} with an optimiser of type "
        f"{type(optimizer).__name__}; expected an nn.Module with a torch.optim object, or a dict "
        "of parameters with a state from tp.Adam(lr=...).init(params)."
    )


def _shapes(layout: Layout) -> str:
    pairs = zip(layout.names, layout.shapes, strict=True)
    return "{" + ", ".join(f"{name}: {tuple(shape)}" for name, shape in pairs) + "}"


def check_call(objective: object, seed: object) -> None:
    """Raise a ValueError for an objective or a seed of the wrong kind."""
    if not isinstance(objective, Objective):
        raise ValueError(
            f"objective is of type {type(objective).__name__}; expected a tp.Objective. Make one "
            "with tp.Objective(learner) or tp.Objective.from_function(fn)."
        )
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed is {seed!r}; expected a whole number of at least 0.")


def checked_window(window: Window) -> list[list[Any]]:
    """Return the window as T lists of M tasks; raise a ValueError if their lengths differ."""
    batches = _lists("window", window)
    sizes = [len(batch) for batch in batches]
    if min(sizes) == 0 or len(set(sizes)) > 1:
        raise ValueError(
            f"The window's mini-batches have {sizes} tasks; expected T mini-batches of the same "
            "number M >= 1 of tasks. Cut or fill the odd ones."
        )
    return batches


def checked_targets(targets: Window | None, horizon: int) -> list[list[Any]] | None:
    """Return T lists of targets, at least one in all; raise a ValueError for anything else."""
    if targets is None:
        return None
    batches = _lists("targets", targets)
    if len(batches) != horizon or not any(batches):
        raise ValueError(
            f"targets has {len(batches)} lists with {[len(b) for b in batches]} tasks; expected "
            f"one list for each of the window's {horizon} mini-batches and at least one task in "
            "all. An empty list is allowed where a mini-batch has no target."
        )
    return batches


def _lists(name: str, batches: object) -> list[list[Any]]:
    if not isinstance(batches, Sequence) or isinstance(batches, str) or len(batches) == 0:
        empty = isinstance(batches, Sequence) and len(batches) == 0
        found = "empty" if empty else f"of type {type(batches).__name__}"
        raise ValueError(
            f"{name} is {found}; expected a list of T >= 1 mini-batches, each a list of tasks."
        )
    for t, batch in enumerate(batches):
        if not isinstance(batch, Sequence) or isinstance(batch, str):
            raise ValueError(
                f"{name}[{t}] is of type {type(batch).__name__}; expected a list of tasks. "
                "Did you pass one mini-batch instead of a list of them? Wrap it: [batch]."
            )
    return [list(batch) for batch in batches]
