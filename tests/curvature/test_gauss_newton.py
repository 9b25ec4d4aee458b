"""The Gauss-Newton diagonal against a dense J'HJ, and its sketch against the diagonal."""

import pytest
import torch
from torch import nn
from torch.func import functional_call

import towpath as tp
from tests.curvature.tasks import functions, images, plain
from tests.oracles.compare import assert_close, largest_error
from tests.oracles.curvature import gauss_newton
from tests.oracles.training import P, parameters, random_tasks
from towpath.objective import Curvature

LOSSES = ["cross_entropy", "mse"]
KINDS = list(functions("mse"))


def diagonals(fn, loss, tasks, kind, *, params=None, seed=0, probes=1, weights=None):
    """Weighted sums of the diagonals `[j, P]`, by default each task's own."""
    weights = torch.eye(len(tasks), dtype=torch.float64) if weights is None else weights
    evaluation = tp.Objective.from_function(fn, loss=loss).evaluate(
        parameters() if params is None else params,
        tasks,
        curvature=Curvature(kind, weights, probes),
        seed=seed,
    )
    return evaluation.curvature


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_exact_diagonal_equals_the_dense_matrix(kind, loss):
    fn = functions(loss)[kind]
    (tasks,) = random_tasks(0, 2, loss=loss)
    ours = diagonals(fn, loss, tasks, "gauss-newton-exact")
    for h, task in zip(ours, tasks, strict=True):
        assert_close(h, gauss_newton(fn, parameters(), task, loss).diagonal(), 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_exact_diagonal_is_right_for_a_module_with_batch_norm_in_train_mode(loss):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))
    model.double().train()
    params = dict(model.named_parameters())

    def fn(params, task):
        return functional_call(model, params, (task[0],)), task[1]

    ((task,),) = random_tasks(0, 1, loss=loss)
    (h,) = diagonals(fn, loss, [task], "gauss-newton-exact", params=params)
    dense = gauss_newton(fn, params, task, loss, functorch=False)
    assert_close(h, dense.diagonal(), 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_exact_diagonal_is_right_for_outputs_with_more_than_two_dimensions(loss):
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    targets = (
        torch.randint(2, (4, 2), generator=generator)
        if loss == "cross_entropy"
        else torch.randn(4, 2, 2, generator=generator, dtype=torch.float64)
    )
    task = (inputs, targets)
    (h,) = diagonals(images, loss, [task], "gauss-newton-exact")
    assert_close(h, gauss_newton(images, parameters(), task, loss).diagonal(), 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_sketch_is_unbiased_and_never_negative(kind, loss):
    fn = functions(loss)[kind]
    ((task,),) = random_tasks(0, 1, loss=loss)
    reference = gauss_newton(fn, parameters(), task, loss).diagonal()
    # many probes in one evaluation: one forward pass for all
    count, draws = 64, 12
    means = torch.stack(
        [
            diagonals(fn, loss, [task], "gauss-newton", seed=1000 * s, probes=count)[0]
            for s in range(draws)
        ]
    )
    assert float(means.min()) >= 0.0
    deviation = (means.mean(0) - reference) / (means.std(0) / draws**0.5).clamp_min(1e-14)
    # Student's t with 11 degrees of freedom: |t| > 6 once in 10,000; 24 coordinates
    assert float(deviation.abs().max()) < 6.0
    assert largest_error(means.mean(0), reference) < 0.12


def test_single_sketches_are_unbiased_over_seeds():
    ((task,),) = random_tasks(0, 1, loss="cross_entropy")
    reference = gauss_newton(plain, parameters(), task, "cross_entropy").diagonal()
    draws = torch.stack(
        [diagonals(plain, "cross_entropy", [task], "gauss-newton", seed=s)[0] for s in range(600)]
    )
    assert float(draws.min()) >= 0.0
    z = (draws.mean(0) - reference) / (draws.std(0) / len(draws) ** 0.5)
    assert float(z.abs().max()) < 4.5  # once in 6,000 for 24 coordinates


def test_probes_average():
    """The variance of k probes is a k-th of one probe's."""
    ((task,),) = random_tasks(0, 1)

    def spread(probes):
        draws = [
            diagonals(plain, "mse", [task], "gauss-newton", seed=100 * s, probes=probes)[0]
            for s in range(150)
        ]
        return torch.stack(draws).var(0).sum()

    assert float(spread(1) / spread(8)) == pytest.approx(8.0, rel=0.35)


def test_tasks_of_one_shape_share_the_signs():
    (tasks,) = random_tasks(0, 1)
    first, second = diagonals(plain, "mse", [tasks[0], tasks[0]], "gauss-newton")
    assert torch.equal(first, second)


@pytest.mark.parametrize("kind", ["gauss-newton", "gauss-newton-exact", "hutchinson"])
def test_weighted_sums_are_the_weights_times_the_tasks_diagonals(kind):
    (tasks,) = random_tasks(0, 4)
    weights = torch.randn(3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    each = diagonals(plain, "mse", tasks, kind, probes=2)
    sums = diagonals(plain, "mse", tasks, kind, probes=2, weights=weights)
    assert sums.shape == (3, P)
    assert_close(sums, weights @ each, 1e-14)
