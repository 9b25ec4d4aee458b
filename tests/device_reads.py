"""Counts what would be a read from an accelerator: an operation whose result Python, or the shape
of another tensor, waits for.

On the CPU nothing tells such a read from any other operation, so it is found by its name. Modes see
the operations of their own thread only: evaluate with a single worker.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

WAITING = {
    "_local_scalar_dense",  # bool(), int(), float() and item() of a tensor; one_hot's largest label
    "_unique2",
    "bincount",
    "equal",
    "is_nonzero",
    "masked_select",
    "nonzero",
    "repeat_interleave",
}
COPYING = {"tolist", "numpy", "cpu"}
"""methods that read a whole tensor, which no operation shows on the CPU"""


class _Operations(TorchDispatchMode):
    def __init__(self, found: list[str]) -> None:
        super().__init__()
        self.found = found

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = func.overloadpacket.__name__
        if name in WAITING or (name in ("index", "index_put_") and _by_mask(args[1])):
            self.found.append(name)
        return func(*args, **(kwargs or {}))


class _Methods(TorchFunctionMode):
    def __init__(self, found: list[str]) -> None:
        super().__init__()
        self.found = found

    def __torch_function__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in COPYING:
            self.found.append(name)
        return func(*args, **(kwargs or {}))


def reads_of(work: Callable[[], object]) -> list[str]:
    """The names of the reads that a piece of work makes in this thread."""
    found: list[str] = []
    with _Operations(found), _Methods(found):
        work()
    return found


def _by_mask(indices: Sequence[Tensor | None]) -> bool:
    """Whether an index is a mask, whose number of true entries decides the shape of the result."""
    return any(each is not None and each.dtype in (torch.bool, torch.uint8) for each in indices)
