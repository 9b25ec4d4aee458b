"""The model that a plan is for, while tasks are evaluated: what passes must not leave behind in it.

A learner of ours works on copies. A function of the user's calls the model itself, so passes write
to its buffers (running statistics), and torch's `functional_call` with tied weights leaves its own
tensors in a module that is registered twice. This module prevents both.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from towpath.learners.statistics import noted_passes

Values = Mapping[str, Tensor]
"""A model's buffers by name at one point of a trajectory; empty for pure parameters."""


@dataclass(frozen=True, eq=False)
class LiveModel:
    """The buffers of a model, and the places where each of its tensors is registered."""

    buffers: Mapping[str, Tensor]
    """the tensors themselves"""
    places: tuple[tuple[dict[str, Any], str, Tensor], ...]
    """(a module's table of tensors, name, tensor)"""

    @classmethod
    def of(cls, model: nn.Module | None) -> "LiveModel":
        """Return the live model of a module; None stands for parameters without a module."""
        if model is None:
            return cls({}, ())
        places = tuple(
            (table, name, tensor)
            for module in model.modules()
            for table in (module._parameters, module._buffers)
            for name, tensor in table.items()
            if tensor is not None
        )
        return cls(dict(model.named_buffers()), places)

    def values(self) -> dict[str, Tensor]:
        """Return copies of the current buffers by name."""
        return {name: buffer.detach().clone() for name, buffer in self.buffers.items()}

    def write(self, values: Values) -> None:
        """Copy the given values into the model's buffers, in place."""
        with torch.no_grad():
            for name, buffer in self.buffers.items():
                buffer.copy_(values[name])

    def untangle(self) -> None:
        """Restore the model's own tensors wherever a pass left others."""
        for table, name, tensor in self.places:
            table[name] = tensor

    @contextmanager
    def on_copies(self) -> Iterator[None]:
        """Make passes inside this context write to copies of the buffers.

        Writing to the buffers and restoring them would not do: a graph whose backward pass is still
        to come refers to them, and torch would refuse it.
        """
        copies = {id(buffer): buffer.detach().clone() for buffer in self.buffers.values()}
        for table, name, tensor in self.places:
            table[name] = copies.get(id(tensor), tensor)
        try:
            yield
        finally:
            self.untangle()

    @contextmanager
    def at(self, values: Values) -> Iterator[None]:
        """Set the buffers to `values` inside this context, and restore them afterwards."""
        found = self.values()
        self.write(values)
        token = _LIVE.set(self)
        try:
            yield
        finally:
            _LIVE.reset(token)
            self.untangle()
            self.write(found)


_LIVE: ContextVar[LiveModel | None] = ContextVar("live", default=None)


def untangle() -> None:
    """Restore the tensors of the model that is being evaluated, if there is one, after a pass."""
    live = _LIVE.get()
    if live is not None:
        live.untangle()


def rewinder() -> Callable[[], None]:
    """Return a function that undoes what later passes write to the model being evaluated."""
    live = _LIVE.get()
    if live is None:
        return lambda: None
    return partial(live.write, live.values())


@contextmanager
def aside() -> Iterator[None]:
    """Make passes inside this context leave the running statistics unchanged."""
    live = _LIVE.get()
    with noted_passes(), nullcontext() if live is None else live.on_copies():
        yield
