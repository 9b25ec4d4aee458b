"""Every tensor of a plan has the device and dtype of the parameters.

Planned here with another default device (`meta`, whose tensors hold no numbers) and with another
default dtype: a factory call in the library that names neither breaks the plan or changes it. So
accelerators, where the default device is not the parameters', work unseen.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

import towpath as tp
from tests.weighters.problems import EVERY_OPTIMISER, F64, Problem, classification, start_of

OPTIONS: dict[str, dict[str, Any]] = {
    "project": {},
    "simplex": {"bounds": "simplex"},
    "backtrack": {"bounds": "backtrack"},
    "exact value": {"bounds": "backtrack", "value": "exact"},
    "exact adjoint": {"adjoint": "exact"},
    "softmax": {"normalise": "softmax", "bounds": "none"},
    "random nominal": {"nominal": "random"},
    "replay": {"terminal": "replay"},
    "hutchinson": {"curvature": "hutchinson", "probes": 2},
    "exact curvature": {"curvature": "gauss-newton-exact"},
    "no curvature": {"curvature": "none"},
    "frozen moments": {"moments": "frozen", "bounds": "backtrack"},
    "auto": {"beta": "auto"},
    "auto, one a mini-batch": {"beta": "auto", "scale": "mini-batch", "bounds": "simplex"},
}


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def check(problem: Problem, plan_of: Any) -> None:
    """The same plan to the bit, whatever the defaults of torch."""
    dtype = problem.params["w1"].dtype
    usual = plan_of()
    with torch.device("meta"):
        elsewhere = plan_of()
    with default_dtype(F64 if dtype == torch.float32 else torch.float32):
        otherwise = plan_of()
    for plan in (elsewhere, otherwise):
        for name in ("weights", "losses"):
            mine, theirs = getattr(plan, name), getattr(usual, name)
            assert mine.dtype == theirs.dtype == dtype
            assert mine.device == theirs.device
            assert torch.equal(mine, theirs), name
        for mine, theirs in zip(
            (plan.final.x, *plan.final.slots), (usual.final.x, *usual.final.slots), strict=True
        ):
            assert mine.dtype == dtype
            assert torch.equal(mine, theirs)
        assert plan.cost == usual.cost


@pytest.mark.parametrize("dtype", [torch.float32, F64], ids=["float32", "float64"])
@pytest.mark.parametrize("options", OPTIONS)
def test_every_option_plans_where_and_how_the_parameters_are(options, dtype):
    problem = classification(2, 3, seed=1, samples=3)
    if OPTIONS[options].get("terminal") == "replay":
        problem = problem.without_targets()
    problem = start_of(problem, "adam", groups=True).in_dtype(dtype)
    state = problem.state
    tow = tp.TOW(**{"beta": 0.1, "tolerance": 0.0, **OPTIONS[options]})

    def plan_of() -> tp.Plan:
        return tow.plan(
            problem.objective, problem.params, state, problem.window, targets=problem.targets
        )

    check(problem, plan_of)


@pytest.mark.parametrize("dtype", [torch.float32, F64], ids=["float32", "float64"])
@pytest.mark.parametrize("optimiser", EVERY_OPTIMISER)
def test_every_optimiser_does_too_and_is_written_back(optimiser, dtype):
    problem = classification(2, 3, seed=1, samples=3)
    problem = start_of(problem, optimiser, groups=True).in_dtype(dtype)

    def plan_of() -> tp.Plan:
        return tp.TOW(beta=0.1).plan(problem.objective, model, optimizer, problem.window)

    model, optimizer = problem.module()
    check(problem, plan_of)
    with torch.device("meta"):
        plan_of().apply_(model, optimizer)
    held = [*model.parameters()]
    held += [v for entry in optimizer.state.values() for v in entry.values()]
    assert {tensor.device.type for tensor in held if isinstance(tensor, Tensor)} == {"cpu"}


@pytest.mark.parametrize(
    "weighter",
    [tp.Uniform(), tp.Random(), tp.Exploration(), tp.Exploitation()],
    ids=lambda weighter: type(weighter).__name__,
)
def test_the_other_weighters_do_too(weighter):
    problem = classification(2, 3, seed=1, samples=3).in_dtype(torch.float32)
    state = problem.state

    def plan_of() -> tp.Plan:
        return weighter.plan(problem.objective, problem.params, state, problem.window)

    check(problem, plan_of)
