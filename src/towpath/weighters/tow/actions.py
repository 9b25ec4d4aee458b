"""The meaning of an action of the control problem: the tasks' weights, or logits of them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from towpath.control import Gradients


class Actions(ABC):
    """The map from actions `u [M]` of a mini-batch to weights `w [M]`."""

    @abstractmethod
    def weights(self, action: Tensor, held: Tensor | None = None) -> Tensor:
        """Return the weights of the step; `held [M]` (bool) marks tasks without any effect."""

    @abstractmethod
    def through(self, J: Tensor, weights: Tensor) -> Tensor:
        """Return `(dw/du)' J [M, P]`, the derivative of the step's gradient in the actions."""

    def gradients(self, J: Gradients, weights: Tensor) -> Gradients:
        """Return `(dw/du)' J` of gradients that are read at some coordinates at a time."""
        return Through(self, J, weights)


@dataclass(frozen=True)
class WeightActions(Actions):
    """Actions that are the weights of the tasks themselves."""

    def weights(self, action: Tensor, held: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Return the actions unchanged, since they are the weights."""
        return action

    def through(self, J: Tensor, weights: Tensor) -> Tensor:  # noqa: ARG002
        """Return J unchanged, since `dw/du` is the identity."""
        return J

    def gradients(self, J: Gradients, weights: Tensor) -> Gradients:  # noqa: ARG002
        """Return J unchanged."""
        return J


@dataclass(frozen=True)
class SoftmaxActions(Actions):
    """Actions that are logits: weights are positive and sum to 1 over tasks with an effect."""

    def weights(self, action: Tensor, held: Tensor | None = None) -> Tensor:
        """Return the softmax of the logits; tasks in `held` get the weight 0."""
        if held is not None:
            action = action.masked_fill(held.to(action.device), -torch.inf)
        return action.softmax(-1)

    def through(self, J: Tensor, weights: Tensor) -> Tensor:
        """Return `(diag(w) - w w') J`, the softmax's derivative applied to J."""
        return weights[:, None] * (J - (weights @ J)[None])


@dataclass(frozen=True, eq=False)
class Through:
    """The gradients in the actions, made from those in the weights where they are read."""

    actions: Actions
    J: Gradients
    weights: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """The sizes M and P."""
        return self.J.shape

    def part(self, at: slice) -> Tensor:
        """Return the gradients at some coordinates."""
        return self.actions.through(self.J.part(at), self.weights)


NormaliseKind = Literal["none", "softmax"]
ACTIONS: dict[NormaliseKind, Actions] = {"none": WeightActions(), "softmax": SoftmaxActions()}
"""The maps by the word that a recipe and `TOW(normalise=...)` give them."""
