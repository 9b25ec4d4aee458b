"""Losses, gradients, randomness and the number of forward passes of an objective."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad

import towpath as tp
from tests.curvature.tasks import functions, images, plain
from tests.curvature.test_gauss_newton import KINDS, LOSSES
from tests.oracles.compare import assert_close
from tests.oracles.curvature import hessian
from tests.oracles.torch_training import network, objective_of, with_optimiser
from tests.oracles.training import flat, parameters, random_tasks
from towpath.label_evidence import LABEL_EVIDENCE
from towpath.objective import CURVATURES, Curvature

ONES = torch.ones(1, 3, dtype=torch.float64)
TORCH: dict[str, Callable[..., Tensor]] = {"cross_entropy": F.cross_entropy, "mse": F.mse_loss}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_losses_and_gradients_are_those_of_torch(kind, loss):
    fn = functions(loss)[kind]
    (tasks,) = random_tasks(0, 3, loss=loss)
    ours = tp.Objective.from_function(fn, loss=loss).evaluate(parameters(), tasks)

    def value(params, task):
        return TORCH[loss](*fn(params, task))

    for i, task in enumerate(tasks):
        assert float(ours.losses[i]) == pytest.approx(float(value(parameters(), task)), rel=1e-14)
        assert_close(ours.gradients[i], flat(grad(value)(parameters(), task)), 1e-13)


@pytest.mark.parametrize("inner", KINDS)
def test_gradients_that_are_not_asked_for_are_zero_and_the_others_as_ever(inner):
    objective = tp.Objective.from_function(functions("mse")[inner], loss="mse")
    (tasks,) = random_tasks(0, 3)
    params = parameters()
    first, *others = params
    whole = objective.evaluate(params, tasks)
    part = objective.evaluate(params, tasks, without={first})
    few = params[first].numel()
    assert torch.equal(part.losses, whole.losses)
    assert not part.gradients[:, :few].any()
    assert_close(part.gradients[:, few:], whole.gradients[:, few:], 1e-14)
    assert whole.gradients[:, :few].any()
    assert not objective.evaluate(params, tasks, without={first, *others}).gradients.any()


@pytest.mark.parametrize("kind", CURVATURES)
@pytest.mark.parametrize("inner", KINDS)
def test_asking_for_curvature_changes_neither_losses_nor_gradients(kind, inner):
    objective = tp.Objective.from_function(functions("mse")[inner], loss="mse")
    (tasks,) = random_tasks(0, 3)
    alone = objective.evaluate(parameters(), tasks)
    both = objective.evaluate(parameters(), tasks, curvature=Curvature(kind, ONES))
    assert torch.equal(alone.losses, both.losses)
    assert_close(both.gradients, alone.gradients, 1e-14)
    assert (both.curvature is None) == (kind == "none")
    losses_only = objective.evaluate(parameters(), tasks, gradients=False)
    assert torch.equal(losses_only.losses, alone.losses)


@pytest.mark.parametrize(
    ("loss", "shape", "targets"),
    [
        ("cross_entropy", (2,), lambda g: torch.tensor(1)),
        ("cross_entropy", (5, 2), lambda g: torch.randint(2, (5,), generator=g)),
        ("cross_entropy", (5, 2), lambda g: torch.rand(5, 2, generator=g).double().softmax(1)),
        ("cross_entropy", (5, 2, 3), lambda g: torch.randint(2, (5, 3), generator=g)),
        ("cross_entropy", (5, 2, 3, 2), lambda g: torch.randint(2, (5, 3, 2), generator=g)),
        ("mse", (), lambda g: torch.rand((), generator=g).double()),
        ("mse", (5,), lambda g: torch.rand(5, generator=g).double()),
        ("mse", (5, 2), lambda g: torch.rand(5, 2, generator=g).double()),
        ("mse", (5, 2, 3), lambda g: torch.rand(5, 2, 3, generator=g).double()),
    ],
)
def test_losses_and_exact_curvature_of_any_shape_of_output(loss, shape, targets):
    """The parameters are the outputs themselves: the curvature is the loss's own Hessian."""
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(shape, generator=generator).double()
    target = targets(generator)
    objective = tp.Objective.from_function(lambda p, task: (1.0 * p["f"], task), loss=loss)
    curvature = Curvature("gauss-newton-exact", ONES[:, :1])
    ours = objective.evaluate({"f": outputs}, [target], curvature=curvature)
    assert float(ours.losses) == pytest.approx(float(TORCH[loss](outputs, target)), rel=1e-14)
    H = hessian(TORCH[loss])(outputs, target).reshape(outputs.numel(), -1)
    assert ours.curvature is not None
    assert_close(ours.curvature[0], H.diagonal(), 1e-13)


def test_accuracies_are_those_of_the_largest_score():
    objective = tp.Objective.from_function(images, loss="cross_entropy")
    generator = torch.Generator().manual_seed(0)
    task = (
        torch.randn(6, 3, generator=generator).double(),
        torch.randint(2, (6, 2), generator=generator),
    )
    hits = images(parameters(), task)[0].argmax(1) == task[1]
    ours = objective.evaluate(parameters(), [task])
    assert float(ours.accuracies) == pytest.approx(float(hits.double().mean()))
    assert (
        tp.Objective.from_function(plain, loss="mse")
        .evaluate(parameters(), random_tasks(0, 1)[0])
        .accuracies
        is None
    )


def counted(model):
    """The module's forward passes so far, as a list that grows."""
    calls = []
    model.register_forward_hook(lambda *_: calls.append(1))
    return calls


@pytest.mark.parametrize("kind", CURVATURES)
@pytest.mark.parametrize("probes", [1, 3])
def test_gradient_and_curvature_run_one_forward_pass_a_task(kind, probes):
    model = network()
    calls = counted(model)
    objective_of(model).evaluate(
        dict(model.named_parameters()),
        random_tasks(0, 3)[0],
        curvature=Curvature(kind, ONES, probes),
    )
    assert len(calls) == 3


def test_a_plan_runs_as_many_forward_passes_as_it_reports_evaluations():
    T, M = 4, 3
    model, optimizer = with_optimiser("adam")
    calls = counted(model)
    tow = tp.TOW(acceptance="strict")
    plan = tow.plan(objective_of(model), model, optimizer, random_tasks(0, *[M] * T))
    assert plan.evaluations * M == len(calls)
    # T for the nominal, T - 1 a trial; T - 1 sketches for each model
    trials = sum(line.trials for line in plan.history)
    assert plan.evaluations == T + (T - 1) * trials
    assert plan.sketches == (T - 1) * len(plan.history)


@pytest.fixture
def dropout():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 16), nn.Dropout(0.5), nn.Tanh(), nn.Linear(16, 2))
    model.double().train()

    def fn(params, task):
        return functional_call(model, params, (task[0],)), task[1]

    return dict(model.named_parameters()), tp.Objective.from_function(fn, loss="mse")


def test_dropout_is_decided_by_the_seed_and_the_global_generator_is_untouched(dropout):
    params, objective = dropout
    (tasks,) = random_tasks(0, 3)
    curvature = Curvature("gauss-newton", ONES)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first = objective.evaluate(params, tasks, curvature=curvature, seed=1)
    product = objective.product(params, tasks, ONES[0], first.gradients[0], seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(6)
    again = objective.evaluate(params, tasks, curvature=curvature, seed=1)
    assert torch.equal(first.losses, again.losses)
    assert torch.equal(first.gradients, again.gradients)
    assert torch.equal(first.curvature, again.curvature)
    repeated = objective.product(params, tasks, ONES[0], first.gradients[0], seed=1)
    assert torch.equal(product, repeated)
    other = objective.evaluate(params, tasks, seed=2)
    assert not torch.equal(first.losses, other.losses)


def test_the_global_generator_is_untouched_when_a_task_raises(dropout):
    params, objective = dropout
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError) as caught:
        objective.evaluate(params, [*random_tasks(0, 1)[0], (torch.zeros(2), torch.zeros(2))])
    assert "task 1 of the mini-batch" in caught.value.__notes__[0]
    assert torch.equal(torch.get_rng_state(), before)


def test_squared_error_of_different_shapes_is_a_value_error_not_a_broadcast():
    objective = tp.Objective.from_function(lambda p, task: (task @ p["w"], task[:, :1]), loss="mse")
    with pytest.raises(ValueError, match=r"\[4\].*\[4, 1\].*outputs' shape"):
        objective.evaluate({"w": torch.ones(2)}, [torch.ones(4, 2)])


def test_a_parameter_that_no_task_uses_is_a_value_error_that_names_it():
    params = {**parameters(), "spare": torch.zeros(1, dtype=torch.float64)}
    with pytest.raises(ValueError, match="'spare'"):
        tp.Objective.from_function(plain, loss="mse").evaluate(params, random_tasks(0, 2)[0])


def test_a_parameter_that_one_task_does_not_use_has_no_gradient_there():
    def fn(params, task):
        return params["all"] + (params["some"] if task else 0.0), torch.zeros(1).double()

    ones = torch.ones(1, dtype=torch.float64)
    ours = tp.Objective.from_function(fn, loss="mse").evaluate(
        {"all": ones, "some": ones},
        [True, False],
        curvature=Curvature("gauss-newton-exact", torch.eye(2).double()),
    )
    assert_close(ours.gradients, torch.tensor([[4.0, 4.0], [2.0, 0.0]]), 1e-15)
    assert_close(ours.curvature, torch.tensor([[2.0, 2.0], [2.0, 0.0]]), 1e-15)


@pytest.mark.parametrize("gradients", [True, False])
def test_the_evidence_of_labels_comes_with_the_losses(gradients):
    learner = tp.learners.ProtoNet(tp.backbones.MLP(4, None, hidden=(8,)))
    generator = torch.Generator().manual_seed(4)
    labels = torch.arange(3).repeat_interleave(4)
    centres = 3 * torch.randn(3, 4, generator=generator)

    def episode(right: bool) -> tp.Episode:
        support = centres + torch.randn(3, 4, generator=generator)
        query = centres[labels] + torch.randn(12, 4, generator=generator)
        shuffled = labels[torch.randperm(12, generator=generator)]
        return tp.Episode(support, torch.arange(3), query, labels if right else shuffled)

    tasks = [episode(True), episode(False), episode(True)]
    params = dict(learner.module.named_parameters())
    objective = tp.Objective(learner)
    said = objective.evaluate(params, tasks, skip={2}, gradients=gradients)
    measured = objective.measure(params, tasks, [LABEL_EVIDENCE])[LABEL_EVIDENCE]
    assert said.evidence[:2].tolist() == pytest.approx(measured[:2], abs=1e-4)
    assert bool(said.evidence[2].isnan()), "a task that was left out says nothing"
    assert measured[0] > 3 > abs(measured[1])


def test_tasks_of_a_loss_without_labels_have_no_evidence():
    objective = tp.Objective.from_function(lambda params, task: (params["w"] - task).sum(), None)
    said = objective.evaluate({"w": torch.ones(2)}, [torch.zeros(2)])
    assert bool(said.evidence.isnan().all())


def test_more_outputs_than_targets_have_no_evidence():
    def fn(params, task):
        x, y = task
        return x @ params["w"], y  # a mean and a logarithm of a variance

    def likelihood(outputs, targets):
        mean, log = outputs.unbind(-1)
        return ((mean - targets) ** 2 * (-log).exp() + log).mean()

    objective = tp.Objective.from_function(fn, loss=likelihood)
    said = objective.evaluate({"w": torch.ones(3, 2)}, [(torch.randn(5, 3), torch.randn(5))])
    assert bool(said.evidence.isnan().all())
