"""A backbone of a user's that draws random numbers without any module that says so."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class DrawingMLP(nn.Module):
    """One hidden layer with `F.dropout` in train mode."""

    def __init__(self, inputs: int, outputs: int | None = None, hidden: int = 6) -> None:
        super().__init__()
        self.hidden, self.head = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs or hidden)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.hidden(x.flatten(1)))
        outputs: Tensor = self.head(functional.dropout(h, 0.3, self.training))
        return outputs
