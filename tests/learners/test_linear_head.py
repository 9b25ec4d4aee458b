"""The head that a task makes for itself."""

import torch
from torch import nn

from towpath.learners.forward import Forward
from towpath.learners.linear_head import BIAS, WEIGHT, linear_head


def test_the_head_is_a_linear_layer_on_the_flattened_features():
    torch.manual_seed(0)
    body, head = nn.Conv2d(1, 2, 3), nn.Linear(8, 5)
    fast = {**dict(body.named_parameters()), WEIGHT: head.weight, BIAS: head.bias}
    x = torch.randn(3, 1, 4, 4)
    found = linear_head(Forward(body), fast, x)
    torch.testing.assert_close(found, head(body(x).flatten(1)))
