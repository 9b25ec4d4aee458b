"""Random draws of a task are a function of (seed, stage, task), wherever the model draws them."""

import random
import threading
import time
from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import towpath as tp
from tests.learners.tasks import classification
from towpath.data import Episode
from towpath.learners import MAML, ProtoNet
from towpath.objective import Curvature

F64 = torch.float64


class Functional(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.dropout(x, 0.5, self.training)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        said: Tensor = self.attention(x[:, None], x[:, None], x[:, None], need_weights=False)[0]
        return x + said[:, 0]


class Gumbel(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        mask = functional.gumbel_softmax(torch.stack([x, -x]), hard=True, dim=0)[0]
        return x * mask


class Python(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * (1 + random.random())


class NumPy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * float(1 + np.random.rand())  # noqa: NPY002


class Slow(nn.Module):
    """F.dropout after a pause, in which other threads draw."""

    def forward(self, x: Tensor) -> Tensor:
        time.sleep(0.001)
        return functional.dropout(x, 0.5, self.training)


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "F.dropout": Functional,
    "attention": Attention,
    "rrelu": nn.RReLU,
    "gumbel": Gumbel,
    "python": Python,
    "numpy": NumPy,
    "slow": Slow,
    "nn.Dropout": lambda: nn.Dropout(0.5),
}
TASKS = [classification((2, 2), seed=i) for i in range(5)]


def learner_with(layer: str, kind: str = "protonet"):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), LAYERS[layer](), nn.Linear(8, 2)).to(F64)
    if kind == "protonet":
        return ProtoNet(network)
    return MAML(network, adaptation_steps=2, first_order=kind == "maml")


def everything(objective, learner, seed=3) -> list[Tensor]:
    """Losses, gradients, curvature and a Hessian product, asked twice: the first evaluation of an
    objective finds out whether the learner draws."""
    params = learner.parameters()
    weights = torch.linspace(0.1, 1, len(TASKS), dtype=F64)[None]
    vector = torch.linspace(-1, 1, sum(p.numel() for p in params.values()), dtype=F64)
    said = []
    for _ in range(2):
        e = objective.evaluate(
            params, TASKS, curvature=Curvature("gauss-newton", weights), seed=seed
        )
        said += [e.losses, e.gradients, e.curvature]
        said.append(objective.product(params, TASKS, weights[0], vector, seed=seed))
    return said


def generators():
    numpy = list(np.random.get_state(legacy=True))[1]  # noqa: NPY002
    return torch.get_rng_state().tolist(), random.getstate(), list(numpy)


@pytest.mark.parametrize("kind", ["protonet", "maml", "second order"])
@pytest.mark.parametrize("layer", LAYERS)
def test_workers_change_no_draw_and_the_generators_stay_as_found(layer, kind):
    learner = learner_with(layer, kind)
    torch.manual_seed(5)
    before = generators()
    alone = everything(tp.Objective(learner, workers=1), learner)
    torch.manual_seed(6)
    together = everything(tp.Objective(learner, workers=2), learner)
    torch.manual_seed(5)
    three = everything(tp.Objective(learner, workers=3), learner)
    assert generators() == before
    assert all(map(torch.equal, together, alone))
    assert all(map(torch.equal, three, alone))
    assert all(map(torch.equal, alone[:4], alone[4:]))
    other = everything(tp.Objective(learner, workers=2), learner, seed=4)
    assert not torch.equal(other[0], alone[0]), "the seed decides"


@pytest.mark.parametrize("layer", LAYERS)
def test_each_task_of_a_mini_batch_has_draws_of_its_own(layer):
    learner = learner_with(layer)
    same = [TASKS[0]] * 3
    said = tp.Objective(learner, workers=2).evaluate(learner.parameters(), same, seed=3)
    assert len(set(said.losses.tolist())) == 3
    alone = tp.Objective(learner).evaluate(learner.parameters(), same, skip={0, 2}, seed=3)
    assert float(alone.losses[1]) == float(said.losses[1]), "whatever the others do"


def test_draws_of_a_list_do_not_depend_on_how_it_is_cut():
    learner = learner_with("F.dropout")
    objective, params = tp.Objective(learner, workers=2), learner.parameters()
    whole = objective.evaluate(params, TASKS, seed=3).losses
    cut = [objective.evaluate(params, TASKS[a : a + 2], seed=3, first=a).losses for a in (0, 2, 4)]
    assert torch.equal(torch.cat(cut), whole)


def test_a_function_that_computes_again_in_the_backward_pass_has_the_draws_of_its_task():
    """It takes its weights as arguments, so that the second pass has the same ones, too."""
    torch.manual_seed(0)
    params = {"first": torch.randn(4, 8, dtype=F64), "second": torch.randn(8, 2, dtype=F64)}

    def hidden(x: Tensor, weight: Tensor) -> Tensor:
        return functional.dropout(torch.tanh(x @ weight), 0.5, training=True)

    def outputs(params: Mapping[str, Tensor], task: Episode) -> tuple[Tensor, Tensor]:
        y: Tensor = checkpoint(hidden, task.query_x, params["first"], use_reentrant=False)
        return y @ params["second"], task.query_y

    objective = tp.Objective.from_function(outputs)
    said = objective.evaluate(params, TASKS, seed=3)
    step = 1e-6 * torch.randn(said.gradients.shape[1], dtype=F64)
    parts = step.split([32, 16])
    moved = [
        {n: p + sign * d.reshape(p.shape) for (n, p), d in zip(params.items(), parts, strict=True)}
        for sign in (1, -1)
    ]
    up, down = (objective.evaluate(p, TASKS, seed=3).losses for p in moved)
    # the gradient of the very function whose losses are compared
    torch.testing.assert_close((up - down) / 2, said.gradients @ step, rtol=1e-4, atol=1e-11)


def test_a_learner_that_begins_to_draw_is_noticed_at_once():
    """The same modes, but the network draws for some tasks only."""

    class Sometimes(nn.Module):
        on = False

        def forward(self, x: Tensor) -> Tensor:
            return functional.dropout(x) if Sometimes.on else x

    torch.manual_seed(0)
    learner = ProtoNet(nn.Sequential(nn.Linear(4, 8), Sometimes()).to(F64))
    objective, params = tp.Objective(learner, workers=2), learner.parameters()
    before = torch.get_rng_state()
    for on in (False, False, True, True, False, False):
        Sometimes.on = on
        said = objective.evaluate(params, TASKS, seed=1)
        expected = tp.Objective(learner).evaluate(params, TASKS, seed=1)
        assert torch.equal(said.losses, expected.losses)
        assert torch.equal(said.gradients, expected.gradients)
        assert torch.equal(torch.get_rng_state(), before)


def test_a_function_that_begins_to_draw_is_noticed_and_its_statistics_count_once():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    model.to(F64)[2].eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fn(params, task):
        return torch.func.functional_call(model, dict(params), (task.query_x,)), task.query_y

    known, window = tp.Objective.from_function(fn), [TASKS[:3], TASKS[2:]]
    tp.Uniform().plan(known, model, optimizer, window)
    model.train()
    before = torch.get_rng_state()
    plans = [
        tp.Uniform().plan(objective, model, optimizer, window, seed=1)
        for objective in (known, tp.Objective.from_function(fn))
    ]
    assert torch.equal(plans[0].final.x, plans[1].final.x)
    assert all(
        torch.equal(plans[0].buffers.after[name], value)
        for name, value in plans[1].buffers.after.items()
    )
    assert int(plans[0].buffers.after["1.num_batches_tracked"]) == 6
    assert torch.equal(torch.get_rng_state(), before)


def test_a_model_that_draws_nothing_is_asked_side_by_side(monkeypatch):
    names = set()
    learner = ProtoNet(nn.Sequential(nn.Linear(4, 8), nn.Tanh()).to(F64))
    real = learner.adapt

    class Seen(ProtoNet):
        def adapt(self, *what):
            names.add(threading.current_thread().name.rpartition("_")[0])
            return super().adapt(*what)

    assert real is not None
    seen = Seen(learner.model)
    objective = tp.Objective(seen, workers=2)
    for _ in range(2):
        objective.evaluate(seen.parameters(), TASKS)
    assert "towpath-task" in names


# --- two threads with one model


@pytest.mark.parametrize("layer", ["F.dropout", "nn.Dropout", None], ids=str)
@pytest.mark.parametrize("pure", [True, False], ids=["params", "module"])
@pytest.mark.parametrize("weighter", [tp.TOW(beta=0.1), tp.Uniform()], ids=["tow", "uniform"])
def test_two_threads_that_plan_with_one_model_get_what_one_gets(weighter, pure, layer):
    torch.manual_seed(0)
    parts = [nn.Linear(4, 8), nn.BatchNorm1d(8), LAYERS[layer]() if layer else nn.Tanh()]
    learner = ProtoNet(nn.Sequential(*parts, nn.Linear(8, 3)).to(F64))
    window = [TASKS[:3], TASKS[2:]]
    params = {name: p.detach().clone() for name, p in learner.parameters().items()}
    optimizer = torch.optim.Adam(learner.module.parameters(), lr=0.01)
    shared = tp.Objective(learner, workers=2)

    def plan(seed: int, objective: tp.Objective) -> Tensor:
        given = (params, tp.Adam(lr=0.01).init(params)) if pure else (learner.module, optimizer)
        return weighter.plan(objective, *given, window, seed=seed).final.x

    expected = [plan(seed, tp.Objective(learner)) for seed in range(4)]
    found: dict[int, Tensor] = {}
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            found[seed] = plan(seed, shared if seed % 2 else tp.Objective(learner))
        except BaseException as error:  # noqa: BLE001  shown by the assertion
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert all(torch.equal(found[seed], expected[seed]) for seed in range(4))
