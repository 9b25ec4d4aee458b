"""Compiled models are refused with the reason, wherever they are handed in."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.func import functional_call

import towpath as tp
from towpath.learners.compiled import check_not_compiled, compiled_graphs_told


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
        said = "whose part '0' is compiled" if what == "part" else "a model that is compiled"
        with pytest.raises(ValueError, match=rf"{said}.*twice.*before torch.compile"):
            tp.learners.MAML(model)


def test_a_plan_refuses_a_compiled_model_too():
    model = compiled(net())
    objective = tp.Objective.from_function(lambda params, task: task, loss="mse")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ValueError, match=r"compiled by torch\.compile"):
        tp.Uniform().plan(objective, model, optimizer, [[1, 2]])


@pytest.mark.parametrize("curvature", ["gauss-newton", "gauss-newton-exact", "hutchinson"])
def test_a_compiled_model_inside_a_task_function_is_told_when_a_plan_needs_it_twice(curvature):
    """A plan cannot see what a function calls; torch's own words speak of donated buffers."""
    torch.manual_seed(0)
    model = net()
    inside = torch.compile(model, backend="aot_eager")

    def answer(params, task):
        return functional_call(inside, params, (task,)), torch.zeros(5, 2)

    window = [[torch.randn(5, 3) for _ in range(2)] for _ in range(2)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    objective = tp.Objective.from_function(answer, loss="mse")
    with pytest.raises(
        ValueError, match=r"task function calls .* compiled .*before torch\.compile"
    ):
        tp.TOW(curvature=curvature).plan(objective, model, optimizer, window)
    # a rule differentiates once, so it may
    plan = tp.Uniform().plan(objective, model, optimizer, window)
    assert plan.status is tp.Status.RULE


def test_another_error_of_torch_stays_what_it_is():
    with pytest.raises(RuntimeError, match="shapes"), compiled_graphs_told():
        raise RuntimeError("shapes cannot be multiplied")
