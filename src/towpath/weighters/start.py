"""The start of a plan: a model and an optimiser, real or pure.

`model` is an `nn.Module` with a `torch.optim` object or `tp.Stepping` of one, or a dictionary of
parameters with the state from `tp.Adam(lr=...).init(params)`. The arguments are not changed: a
model's buffers (which `functional_call` does update in train mode) are restored after every
evaluation, and their values under training are stored with the trajectory.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

from towpath.distributed.ranks import Ranks
from towpath.dynamics import OptimiserState, State, Stepping, check_uniform, read_torch
from towpath.flat import Layout
from towpath.learners.compiled import check_not_compiled
from towpath.objective import Evaluation
from towpath.objective.live import LiveModel, Values
from towpath.objective.turns import evaluating

Answer = TypeVar("Answer")
ModelLike = nn.Module | Mapping[str, Tensor]
OptimizerLike = torch.optim.Optimizer | Stepping | OptimiserState


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
        _check_no_autocast()
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


def _check_no_autocast() -> None:
    """Raise a ValueError inside `torch.autocast`, which would round the planner's own sums."""
    on = [kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]
    if on:
        raise ValueError(
            f"Found torch.autocast({on[0]!r}) around a plan, which would round the planner's own "
            f"sums to {torch.get_autocast_dtype(on[0])}; expected it around the network alone. Put "
            "it into the task function, or into the model's forward."
        )


def _read(
    model: ModelLike, optimizer: OptimizerLike
) -> tuple[Mapping[str, Tensor], OptimiserState]:
    if isinstance(model, nn.Module) and isinstance(optimizer, torch.optim.Optimizer | Stepping):
        check_not_compiled(model)
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
        f"{type(optimizer).__name__}; expected an nn.Module with a torch.optim object (or "
        "tp.Stepping of one), or a dict of parameters with a state from "
        "tp.Adam(lr=...).init(params)."
    )


def _shapes(layout: Layout) -> str:
    pairs = zip(layout.names, layout.shapes, strict=True)
    return "{" + ", ".join(f"{name}: {tuple(shape)}" for name, shape in pairs) + "}"
