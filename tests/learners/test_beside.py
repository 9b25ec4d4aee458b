"""Meta-parameters beside a model keep the order and the names of the model's own."""

import torch
from torch import nn

from towpath.learners.beside import ModelBeside


def test_each_group_has_the_models_order_and_names_without_dots():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    values = {name: torch.full_like(p, 0.5) for name, p in model.named_parameters()}
    beside = ModelBeside(model, rates=values, masks={"1.weight": torch.zeros(1)})
    assert [name for name, _ in beside.named_parameters()] == [
        *("model.0.weight", "model.0.bias", "model.1.weight", "model.1.bias"),
        *("rates.0/weight", "rates.0/bias", "rates.1/weight", "rates.1/bias"),
        "masks.1/weight",
    ]
    assert torch.equal(dict(beside.named_parameters())["rates.0/bias"], torch.full((3,), 0.5))
    x = torch.randn(4, 2)
    assert torch.equal(beside(x), model(x))
