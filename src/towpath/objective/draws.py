"""Random numbers of a task: a function of (seed, stage, task), wherever the model draws them.

A model draws from generators that the whole process shares: torch's (`F.dropout`,
`nn.MultiheadAttention(dropout=...)`, `nn.RReLU`, Gumbel masks), Python's and NumPy's. So the tasks
of a model that draws are evaluated one after the other, each with the generators set to its own
seed; afterwards the generators are restored. A model that draws nothing needs none of this. Which
kind a model is can be read from the generators: an evaluation that drew has changed their states.
"""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor


def derived_seed(seed: int, index: int) -> int:
    """Return the seed of one member of a family: a stage of a window, or a task of a mini-batch."""
    state: int = int(np.random.SeedSequence([seed, index]).generate_state(1, np.uint64)[0])
    return state >> 2  # torch's generators take signed 64-bit seeds


@dataclass(frozen=True, eq=False)
class Generators:
    """The states of all random generators that a model may draw from."""

    torch_cpu: Tensor
    torch_device: Tensor | None
    """state of the generator of the accelerator that has the parameters, if any"""
    python: Any
    numpy: Any
    device: torch.device

    @classmethod
    def now(cls, device: torch.device) -> "Generators":
        """Return the current states of the generators."""
        own = None if device.type == "cpu" else _backend(device).get_rng_state(device)
        numpy = np.random.get_state(legacy=True)  # noqa: NPY002  a model may use it
        return cls(torch.get_rng_state(), own, random.getstate(), numpy, device)

    def moved(self) -> bool:
        """Return whether the generators have been used or seeded since these states were read."""
        now = Generators.now(self.device)
        pairs = [(now.torch_cpu, self.torch_cpu)]
        if now.torch_device is not None and self.torch_device is not None:
            pairs.append((now.torch_device, self.torch_device))
        same = all(torch.equal(a, b) for a, b in pairs) and now.python == self.python
        return not (same and all(map(np.array_equal, now.numpy, self.numpy)))

    def put_back(self) -> None:
        """Restore every generator to its recorded state."""
        torch.set_rng_state(self.torch_cpu)
        if self.torch_device is not None:
            _backend(self.device).set_rng_state(self.torch_device, self.device)
        random.setstate(self.python)
        np.random.set_state(self.numpy)  # noqa: NPY002


def seed_generators(seed: int, device: torch.device) -> None:
    """Seed every random generator that a model may draw from."""
    if device.type == "cpu":
        # not torch.manual_seed: without an accelerator it formats a traceback for each call
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed([seed & 0xFFFFFFFF, seed >> 32])  # noqa: NPY002


def _backend(device: torch.device) -> Any:
    return getattr(torch, device.type)
