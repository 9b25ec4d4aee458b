"""What an action of the control problem is to the tasks: their weights, or logits of them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor


class Actions(ABC):
    """The map from actions `u [M]` of a mini-batch to weights `w [M]`."""

    @abstractmethod
    def weights(self, action: Tensor, held: Tensor | None = None) -> Tensor:
        """The weights that enter the step; `held [M]` (bool) are tasks without any effect."""

    @abstractmethod
    def through(self, J: Tensor, weights: Tensor) -> Tensor:
        """`(dw/du)' J [M, P]`: how the step's gradient changes with the actions."""


@dataclass(frozen=True)
class WeightActions(Actions):
    """The actions are the weights."""

    def weights(self, action: Tensor, held: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """The actions themselves."""
        return action

    def through(self, J: Tensor, weights: Tensor) -> Tensor:  # noqa: ARG002
        """J itself."""
        return J


@dataclass(frozen=True)
class SoftmaxActions(Actions):
    """The actions are logits: weights are positive and sum to 1 over the tasks with an effect."""

    def weights(self, action: Tensor, held: Tensor | None = None) -> Tensor:
        """The softmax of the logits, held tasks left out."""
        if held is not None:
            action = action.masked_fill(held.to(action.device), -torch.inf)
        return action.softmax(-1)

    def through(self, J: Tensor, weights: Tensor) -> Tensor:
        """`(diag(w) - w w') J`."""
        return weights[:, None] * (J - (weights @ J)[None])


NormaliseKind = Literal["none", "softmax"]
ACTIONS: dict[NormaliseKind, Actions] = {"none": WeightActions(), "softmax": SoftmaxActions()}
"""The maps by the word that a recipe and `TOW(normalise=...)` give them."""
