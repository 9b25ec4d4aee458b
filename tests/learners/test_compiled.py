"""Compiled models are refused with the reason, wherever they are handed in."""

from typing import Any

import pytest
import torch
from torch import nn

import towpath as tp
from towpath.learners.compiled import check_not_compiled


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def compiled(model: nn.Module) -> Any:
    return torch.compile(model, backend="eager")


def compiled_parts() -> dict[str, Any]:
    in_place, part = net(), net()
    in_place.compile(backend="eager")
    part.add_module("0", compiled(part[0]))
    return {"whole": compiled(net()), "in place": in_place, "part": part}


def test_a_compiled_model_is_refused_and_the_reason_told():
    check_not_compiled(net())
    for what, model in compiled_parts().items():
        said = r"its part '0' is compiled" if what == "part" else "the model is compiled"
        with pytest.raises(ValueError, match=rf"{said}.*twice.*before torch.compile"):
            tp.learners.MAML(model)


def test_a_plan_refuses_a_compiled_model_too():
    model = compiled(net())
    objective = tp.Objective.from_function(lambda params, task: task, loss="mse")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ValueError, match=r"compiled by torch\.compile"):
        tp.Uniform().plan(objective, model, optimizer, [[1, 2]])
