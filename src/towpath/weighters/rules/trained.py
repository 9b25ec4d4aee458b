"""A few numbers of a rule's own that Adam trains, kept in the rule's state as plain lists.

    values   what is trained
    m, v     Adam's moments
    steps    how many steps it took, for the bias corrections

The step is that of `towpath.dynamics.Adam`, in float64.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from towpath.dynamics import Adam, AdamDynamics, State
from towpath.flat import Layout
from towpath.weighters.rules.memory import Memory

Group = list[float]
"""value, m, v and steps of one group's number"""


def column(numbers: Sequence[float]) -> Tensor:
    """Return plain numbers as a vector in float64."""
    return torch.tensor(numbers, dtype=torch.float64, device="cpu")


def untrained(values: Sequence[float]) -> Memory:
    """Return a vector before its first step, in the form of a rule's state."""
    zeros = [0.0] * len(values)
    return {"values": list(values), "m": zeros, "v": list(zeros), "steps": 0}


def step_vector(adam: Adam, held: Mapping[str, Any], gradient: Tensor) -> Memory:
    """Take one step of Adam on a vector that is trained as a whole."""
    layout = Layout(("values",), (gradient.shape,))
    x, m, v = (column(held[name]) for name in ("values", "m", "v"))
    after = AdamDynamics(layout, (adam,)).step(State(x, (m, v), (held["steps"],)), gradient)
    m, v = after.slots
    return {"values": after.x.tolist(), "m": m.tolist(), "v": v.tolist(), "steps": after.steps[0]}


def step_groups(
    adam: Adam, held: Mapping[str, Group], gradients: Mapping[str, float]
) -> dict[str, Group]:
    """Take one step of Adam on the numbers of the groups that have a gradient.

    The other groups keep their numbers and moments.
    """
    names = list(gradients)
    if not names:
        return dict(held)
    layout = Layout(tuple(names), (torch.Size([]),) * len(names))
    x, m, v, steps = (column([held[name][k] for name in names]) for k in range(4))
    before = State(x, (m, v), tuple(int(n) for n in steps.tolist()))
    after = AdamDynamics(layout, (adam,) * len(names)).step(
        before, column(list(gradients.values()))
    )
    rows = torch.stack([after.x, *after.slots, column(after.steps)]).T.tolist()
    return {**held, **dict(zip(names, rows, strict=True))}


def with_groups(held: Mapping[str, Group], groups: Sequence[str], start: float) -> dict[str, Group]:
    """Add an untrained number for each group that is new."""
    return {**held, **{group: [start, 0.0, 0.0, 0] for group in groups if group not in held}}
