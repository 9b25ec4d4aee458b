"""Tensors in a weighter's state: a weighter that keeps trainings of its own remembers more than
plain values.

They stand by name under the key `tensors` of the state, and nowhere else in it. A checkpoint stores
them beside the model's own; all the rest of a state is plain numbers, strings and lists.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from towpath.weighters.rules.memory import Memory

TENSORS = "tensors"
"""the entry of a weighter's state that holds tensors by name"""


def parted(
    state: Mapping[str, Any] | None,
) -> tuple[Memory | None, Mapping[str, Tensor]]:
    """Return the plain part of a state, with an empty entry for its tensors, and the tensors."""
    if state is None or TENSORS not in state:
        return None if state is None else dict(state), {}
    return {**state, TENSORS: {}}, state[TENSORS]
