"""Meta-parameters beside a model keep the order and the names of the model's own."""

import pytest
import torch
from torch import Tensor, nn

from tests.learners.tasks import classification
from towpath.learners import ABML, MetaSGD
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


NAMES = ("keys", "values", "items", "pop", "get", "update", "copy", "clear")


class Attention(nn.Module):
    """Weights with the names of a dict's methods, as those of attention have."""

    def __init__(self) -> None:
        super().__init__()
        for name in NAMES:
            self.register_parameter(name, nn.Parameter(torch.randn(4, 3, dtype=torch.float64)))

    def forward(self, x: Tensor) -> Tensor:
        return x @ torch.stack([getattr(self, name) for name in NAMES]).sum(0)


@pytest.mark.parametrize(("learner", "group"), [(ABML, "log_sigmas"), (MetaSGD, "rates")])
def test_a_parameter_may_be_called_like_a_method_of_a_dict(learner, group):
    made = learner(Attention())
    own, beside = ([f"{part}.{name}" for name in NAMES] for part in ("model", group))
    assert list(made.parameters()) == [*own, *beside]
    outputs = made(made.parameters(), classification((1, 3, 2)))
    gradients = torch.autograd.grad(outputs.square().sum(), list(made.parameters().values()))
    assert all(gradient.abs().max() > 0 for gradient in gradients)
