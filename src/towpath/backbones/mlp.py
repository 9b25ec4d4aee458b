"""A multi-layer perceptron, for regression (Finn et al. 2017 use two layers of 40 for sinusoids).

`[N, inputs] -> [N, outputs]`, or the last hidden layer `[N, hidden[-1]]` when `outputs=None`.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from towpath.backbones.norms import NORM_POLICIES, Norm
from towpath.validation import Range

Activation = Literal["relu", "tanh"]


class MLP(nn.Module):
    """Linear layers with an activation between them and a linear head, without normalisation.

    Args:
        inputs: numbers per sample; inputs of more dimensions are flattened.
        outputs: outputs of the linear head; None for the last hidden layer itself.
        hidden: widths of the hidden layers.
        activation: `'relu'`, or `'tanh'` where derivatives of second order must be smooth.
    """

    norm: Norm = "none"

    def __init__(
        self,
        inputs: int = 1,
        outputs: int | None = 1,
        hidden: Annotated[Sequence[int], Range(1, 1_000_000)] = (40, 40),
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        if not hidden or min(hidden) < 1:
            raise ValueError(
                f"Found hidden={tuple(hidden)}; expected one positive width a hidden layer, at "
                "least one layer. Pass for example hidden=(40, 40)."
            )
        if activation not in ("relu", "tanh"):
            raise ValueError(
                f"Found activation={activation!r}; expected 'relu' or 'tanh'. Pass one of them."
            )
        self.activation = activation
        self.inputs = inputs
        self.features = hidden[-1]
        widths = (inputs, *hidden)
        self.layers = nn.ModuleList(
            nn.Linear(before, after) for before, after in zip(widths, hidden, strict=False)
        )
        self.head = nn.Identity() if outputs is None else nn.Linear(self.features, outputs)

    @property
    def norm_policy(self) -> str:
        """How activations are normalised, as a phrase to print beside results."""
        return NORM_POLICIES[self.norm]

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs `[N, outputs]` of samples `[N, ...]`, or the last hidden layer."""
        x = x.flatten(1)
        if x.shape[1] != self.inputs:
            raise ValueError(
                f"Found inputs of {x.shape[1]} numbers a sample; expected {self.inputs}. "
                "Build the MLP with the inputs of the data."
            )
        activate = functional.relu if self.activation == "relu" else torch.tanh
        for layer in self.layers:
            x = activate(layer(x))
        outputs: Tensor = self.head(x)
        return outputs
