"""The model that a plan is for, while tasks are evaluated: what passes must not leave behind in it.

A learner of ours works on copies. A function of the user's calls the model itself, so passes write
to its buffers (running statistics), and torch's `functional_call` with tied weights leaves its own
tensors in a module that is registered twice. Both are seen to here.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from towpath.learners.statistics import noted_updates

Values = Mapping[str, Tensor]
"""A model's buffers by name at one point of a trajectory; empty for pure parameters."""


@dataclass(frozen=True, eq=False)
class LiveModel:
    """A model's buffers, and where each of its tensors is registered."""

    buffers: Mapping[str, Tensor]
    """the tensors themselves"""
    places: tuple[tuple[dict[str, Any], str, Tensor], ...]
    """(a module's table of tensors, name, tensor)"""

    @classmethod
    def of(cls, model: nn.Module | None) -> "LiveModel":
        """Of a module; None for parameters without one."""
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
        """Copies of the buffers as they are."""
        return {name: buffer.detach().clone() for name, buffer in self.buffers.items()}

    def write(self, values: Values) -> None:
        """Set the buffers, in place."""
        with torch.no_grad():
            for name, buffer in self.buffers.items():
                buffer.copy_(values[name])

    def untangle(self) -> None:
        """Put the model's own tensors back where a pass left others."""
        for table, name, tensor in self.places:
            table[name] = tensor

    @contextmanager
    def on_copies(self) -> Iterator[None]:
        """Passes in here write to copies of the buffers.

        The buffers themselves may not be written to and restored: a graph that still waits for its
        backward pass holds them, and torch would refuse it.
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
        """The buffers hold `values` in here, and afterwards what they held before."""
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
    """After a pass: the model of the current evaluation, if there is one, is whole again."""
    live = _LIVE.get()
    if live is not None:
        live.untangle()


def rewinder() -> Callable[[], None]:
    """A call that undoes what passes from now on write to the model of the current evaluation."""
    live = _LIVE.get()
    if live is None:
        return lambda: None
    return partial(live.write, live.values())


@contextmanager
def aside() -> Iterator[None]:
    """Passes in here are only looked at: they add nothing to running statistics."""
    live = _LIVE.get()
    with noted_updates(), nullcontext() if live is None else live.on_copies():
        yield
