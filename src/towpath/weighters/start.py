"""Where a plan begins: a model and an optimiser, real or pure, and a window of tasks.

`model` is an `nn.Module` with a `torch.optim` object, or a dictionary of parameters with the state
that `tp.Adam(lr=...).init(params)` gives. Nothing that comes in is changed; a model's buffers
(which `functional_call` does update in train mode) are put back after every evaluation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from towpath.curvature import Objective
from towpath.dynamics import OptimiserState, State, check_uniform, read_torch
from towpath.flat import Layout

Window = Sequence[Sequence[Any]]
"""T mini-batches of M tasks."""
ModelLike = nn.Module | Mapping[str, Tensor]
OptimizerLike = torch.optim.Optimizer | OptimiserState


@dataclass(frozen=True, eq=False)
class Buffers:
    """A model's buffers as they were; `restore` puts them back."""

    saved: tuple[tuple[Tensor, Tensor], ...]

    @classmethod
    def of(cls, model: ModelLike) -> "Buffers":
        """Copies of all buffers of a module; none for a dictionary of parameters."""
        if not isinstance(model, nn.Module):
            return cls(())
        return cls(tuple((buffer, buffer.detach().clone()) for buffer in model.buffers()))

    def restore(self) -> None:
        """Write the copies back into the same tensors."""
        with torch.no_grad():
            for buffer, copy in self.saved:
                buffer.copy_(copy)


@dataclass(frozen=True, eq=False)
class Start:
    """The state before the first step of a window."""

    layout: Layout
    optimizer: OptimiserState
    state: State
    buffers: Buffers

    @classmethod
    def of(cls, model: ModelLike, optimizer: OptimizerLike) -> "Start":
        """Read the model and the optimiser; ValueError for what is not modelled."""
        params, held = _read(model, optimizer)
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
        return cls(layout, held, held.at(x), Buffers.of(model))


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
    """ValueError for an objective or a seed of the wrong kind."""
    if not isinstance(objective, Objective):
        raise ValueError(
            f"objective is of type {type(objective).__name__}; expected a tp.Objective. Make one "
            "with tp.Objective(learner) or tp.Objective.from_function(fn)."
        )
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed is {seed!r}; expected a whole number of at least 0.")


def checked_window(window: Window) -> list[list[Any]]:
    """T lists of M tasks, all of one length, or a ValueError."""
    batches = _lists("window", window)
    sizes = [len(batch) for batch in batches]
    if min(sizes) == 0 or len(set(sizes)) > 1:
        raise ValueError(
            f"The window's mini-batches have {sizes} tasks; expected T mini-batches of the same "
            "number M >= 1 of tasks. Cut or fill the odd ones."
        )
    return batches


def checked_targets(targets: Window | None, horizon: int) -> list[list[Any]] | None:
    """T lists of any number of target tasks, at least one in all, or a ValueError."""
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
