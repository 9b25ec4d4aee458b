"""Planning on a part of the query sets: `TOW.fast()`."""

import numpy as np
import pytest
import torch
from torch import Tensor

import towpath as tp
from tests.learners import tasks
from towpath.control.bounds import Project, Simplex
from towpath.dynamics import OptimiserState
from towpath.flat import Layout
from towpath.learners import MAML, ProtoNet
from towpath.weighters.tow.cost import OwnTasks, TargetTasks
from towpath.weighters.tow.steering import by_chance

T, M = 3, 4
WAYS, QUERY = 3, 6
RATE = 1e-4
SMALL = {"beta": "auto", "spread": 0.3}


def classification(query: int = QUERY, image_size: int = 16, seed: int = 0) -> tp.Episode:
    """A 3-way 1-shot task of small images."""
    return tasks.classification([1] * WAYS, query, (1, image_size, image_size), seed)


def scene(kind: str = "protonet", seed: int = 0):
    torch.manual_seed(seed)
    net = tp.backbones.Conv4(1, None if kind == "protonet" else WAYS, 16, filters=4).double()
    learner = (
        ProtoNet(net) if kind == "protonet" else MAML(net, adaptation_steps=2, first_order=False)
    )
    window = [[classification(seed=10 * t + i) for i in range(M)] for t in range(T)]
    params = {name: p.detach().clone() for name, p in learner.parameters().items()}
    return tp.Objective(learner), params, window


def deviations(plan: tp.Plan) -> Tensor:
    w = plan.weights.double()
    return w - w.mean(1, keepdim=True)


def cosine(a: Tensor, b: Tensor) -> float:
    return float((a * b).sum() / (a.norm() * b.norm()))


def estimated(losses) -> float:
    """The cost of the states as every other task tells it; stage 1 is known whole."""
    later = sum(2 * float(row[t % 2 :: 2].sum()) for t, row in enumerate(losses) if t)
    return float(losses[0].sum()) + later


@pytest.mark.parametrize("kind", ["protonet", "maml"])
def test_on_a_part_that_is_nearly_all_the_weights_are_those_of_one_plain_iteration(kind):
    objective, params, window = scene(kind)
    optimizer = tp.SGD(lr=RATE).init(params)
    # with all images in the part, stages differ from the nominal's only by the small steps
    share = 0.999
    assert all(
        len(objective.part(task, share).query_y) == len(task.query_y)
        for batch in window
        for task in batch
    )
    fast = tp.TOW.fast(**SMALL, query_share=share).plan(objective, params, optimizer, window)
    plain = tp.TOW(**SMALL, iterations=1, curvature="none").plan(
        objective, params, optimizer, window
    )
    assert fast.status is tp.Status.ITERATION_LIMIT
    losses = tp.Uniform().plan(objective, params, optimizer, window).losses
    assert float(losses.sum()) == pytest.approx(plain.nominal_cost, rel=1e-12)
    assert fast.nominal_cost == pytest.approx(estimated(losses), rel=1e-12)
    # stage 1 is evaluated at the same state with the same costate: the same weights to rounding
    torch.testing.assert_close(fast.weights[0], plain.weights[0], rtol=1e-9, atol=1e-12)
    assert cosine(deviations(fast), deviations(plain)) > 0.99


def test_the_weights_follow_the_costate_and_the_gradients_of_the_training():
    """Two mini-batches, SGD: lam_2 is the gradient of the parts' losses at the nominal x_2."""
    objective, params, window = scene()
    window = window[:2]
    share = 0.5
    plan = tp.TOW.fast(**SMALL, query_share=share).plan(
        objective, params, tp.SGD(lr=RATE).init(params), window
    )
    first = objective.evaluate(params, window[0])
    layout = plan.layout
    x = layout.flatten(list(params.values()))
    x2 = layout.unflatten(x - RATE * first.gradients.mean(0))
    parts = [objective.part(task, share) for task in window[1]]
    lam = objective.evaluate(x2, parts).gradients.sum(0)
    g = -RATE * first.gradients @ lam
    expected = (1 / M - g / plan.beta).clamp_min(0)
    torch.testing.assert_close(plan.weights[0], expected, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(plan.weights[1], torch.full((M,), 1 / M).double())


def test_training_by_a_fast_plan_is_training_on_whole_tasks():
    objective, params, window = scene()
    plan = tp.TOW.fast(**SMALL).plan(objective, params, tp.SGD(lr=RATE).init(params), window)
    x = plan.layout.flatten(list(params.values()))
    for t, batch in enumerate(window):
        said = objective.evaluate(plan.layout.unflatten(x), batch)
        torch.testing.assert_close(plan.losses[t], said.losses, rtol=1e-12, atol=0)
        x = x - RATE * plan.weights[t] @ said.gradients
    torch.testing.assert_close(plan.final.x, x, rtol=1e-12, atol=1e-14)


def test_costs_are_those_of_the_parts_along_the_training():
    objective, params, window = scene()
    plan = tp.TOW.fast(**SMALL).plan(objective, params, tp.SGD(lr=RATE).init(params), window)
    x, prior, losses = plan.layout.flatten(list(params.values())), 0.0, []
    for t, batch in enumerate(window):
        here = plan.layout.unflatten(x)
        counted = batch if t == 0 else [objective.part(task, plan.query_share) for task in batch]
        losses.append(objective.evaluate(here, counted).losses)
        prior += 0.5 * plan.beta * float((plan.weights[t] - 1 / M).square().sum())
        x = x - RATE * plan.weights[t] @ objective.evaluate(here, batch).gradients
    assert plan.cost == pytest.approx(estimated(losses) + prior, rel=1e-12)
    assert plan.status is tp.Status.ITERATION_LIMIT
    # accepted: above the nominal, which took the parts' steps, by chance at most
    x, differences = plan.layout.flatten(list(params.values())), []
    for t, batch in enumerate(window):
        counted = batch if t == 0 else [objective.part(task, plan.query_share) for task in batch]
        nominal = objective.evaluate(plan.layout.unflatten(x), counted)
        change = (losses[t] - nominal.losses).detach()
        differences.append(change if t == 0 else 2 * change[t % 2 :: 2])
        x = x - RATE * nominal.gradients.mean(0)
    each = torch.cat(differences)
    assert plan.cost - plan.nominal_cost == pytest.approx(float(each.sum()) + prior, abs=1e-12)
    assert plan.cost - plan.nominal_cost <= 2 * float(each.std()) * len(each) ** 0.5
    assert "planned on 45% of each query set" in str(plan)


def test_a_rejected_trial_leaves_training_with_uniform_weights():
    objective, params, window = scene()
    # a rate at which the linear model is worthless
    found = None
    for lr in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0):
        plan = tp.TOW.fast(beta=1e-3).plan(objective, params, tp.SGD(lr=lr).init(params), window)
        if plan.status is tp.Status.LINE_SEARCH_FAILED:
            found = plan, lr
            break
    assert found is not None
    plan, lr = found
    uniform = tp.Uniform().plan(objective, params, tp.SGD(lr=lr).init(params), window)
    assert plan.cost == plan.nominal_cost
    torch.testing.assert_close(plan.weights, uniform.weights)
    torch.testing.assert_close(plan.final.x, uniform.final.x, rtol=1e-12, atol=1e-14)
    assert plan.evaluations == T + (T - 1)  # the trial and the uniform training, stage 1 shared


def test_work_is_counted():
    objective, params, window = scene(seed=2)
    plan = tp.TOW.fast(**SMALL).plan(objective, params, tp.SGD(lr=RATE).init(params), window)
    assert (plan.part_evaluations, plan.sketches) == (T - 1, 0)
    assert plan.evaluations == T  # training itself; stage 1 is shared


def adam_step(x, m, v, count, g):
    """Kingma and Ba, written out; differentiable."""
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return x - RATE * (m / (1 - 0.9**count)) / ((v / (1 - 0.999**count)).sqrt() + 1e-8), m, v


def by_momentum(objective, optimizer, params, window, share):
    """The nominal by hand: losses [M] and gradients [M, P] of each stage; the second is passed on
    the momentum."""
    layout = Layout.of(params)
    state = optimizer.at(layout.flatten(list(params.values())).detach())
    said = []
    for t, batch in enumerate(window):
        parts = batch if t == 0 else [objective.part(task, share) for task in batch]
        here = objective.evaluate(layout.unflatten(state.x), parts)
        said.append((here.losses.double(), here.gradients))
        g = torch.zeros_like(state.x) if t == 1 else here.gradients.mean(0)
        state = optimizer.dynamics.step(state, g)
    return said


def slope(optimizer, x, slots, first, gradients, costs):
    """`d cost / d first [P]` of the states that follow, by autograd through Adam's own formula."""
    g = first.clone().requires_grad_()
    (m, v), cost, here = slots, 0.0, x
    for i, gradient in enumerate([g, *gradients]):
        here, m, v = adam_step(here, m, v, optimizer.steps[0] + i + 1, gradient)
        cost = cost + costs[i] @ here
    return torch.autograd.grad(cost, g)[0]


def test_with_momentum_the_first_mini_batches_after_the_first_are_not_looked_at():
    """Five mini-batches, Adam: the second says nothing, the optimiser goes on by its momentum."""
    objective, params, _ = scene()
    window = [[classification(seed=10 * t + i) for i in range(M)] for t in range(5)]
    optimizer = warm(params)
    beta = tp.TOW.fast(**SMALL).plan(objective, params, optimizer, window).beta
    plan = tp.TOW.fast(beta=beta).plan(objective, params, optimizer, window)
    assert plan.status is tp.Status.ITERATION_LIMIT
    assert (plan.evaluations, plan.part_evaluations) == (5, 3)
    said = by_momentum(objective, optimizer, params, window, plan.query_share)
    J, c = [rows for _, rows in said], [rows.sum(0) for _, rows in said]
    zero, mu = torch.zeros_like(c[0]), 1 / M
    start = optimizer.at(plan.layout.flatten(list(params.values())).detach())
    later = [zero, J[2].mean(0), J[3].mean(0)]
    first = slope(optimizer, start.x, start.slots, J[0].mean(0), later, [zero, *c[2:]])
    expected = (mu - J[0] @ first / beta).clamp_min(0)
    torch.testing.assert_close(plan.weights[0], expected, rtol=1e-7, atol=1e-10)
    assert float((expected - mu).abs().max()) > 0.01
    # the weights of the mini-batch that was not looked at: its own gradients, the same costate
    second = optimizer.dynamics.step(start, plan.weights[0] @ J[0])
    whole = objective.evaluate(plan.layout.unflatten(second.x), window[1])
    lam = costate_after(optimizer, start, said)
    b = optimizer.dynamics.linearise(second, whole.gradients.mean(0)).b
    g = whole.gradients @ (b * lam).sum(0)
    torch.testing.assert_close(plan.weights[1], (mu - g / beta).clamp_min(0), rtol=1e-7, atol=1e-9)
    # costs: the mini-batch that was not looked at counts with what training found there, and the
    # nominal's with what its step would have changed
    looked = [2 * float(said[t][0][t % 2 :: 2].sum()) for t in (2, 3, 4)]
    known = float(said[0][0].sum() + whole.losses.double().sum())
    step = optimizer.dynamics.step
    after, idle = step(second, whole.gradients.mean(0)), step(second, torch.zeros_like(second.x))
    worth = float((lam * (after.z - idle.z)).sum())
    assert plan.nominal_cost == pytest.approx(known + sum(looked) + worth, rel=1e-9)
    x, trained = start, known
    for t, batch in enumerate(window):
        here = plan.layout.unflatten(x.x)
        if t > 1:
            parts = [objective.part(task, plan.query_share) for task in batch]
            trained += 2 * float(objective.evaluate(here, parts).losses[t % 2 :: 2].sum())
        gradients = objective.evaluate(here, batch).gradients
        x = optimizer.dynamics.step(x, plan.weights[t] @ gradients)
    prior = 0.5 * beta * float((plan.weights - mu).square().sum())
    assert plan.cost == pytest.approx(trained + prior, rel=1e-9)
    # what was promised includes the second mini-batch's share
    d = plan.weights[1] - mu
    of_second = -float(g @ d) - 0.5 * beta * float(d.square().sum())
    assert of_second > 0
    assert plan.predicted_decrease > of_second


def costate_after(optimizer, start, said):
    """lam_3 `[k, P]`: what the state after the second step is worth, by autograd."""
    c = [rows.sum(0) for _, rows in said]
    state = optimizer.dynamics.step(start, said[0][1].mean(0))
    state = optimizer.dynamics.step(state, torch.zeros_like(start.x))
    z = [part.clone().requires_grad_() for part in (state.x, *state.slots)]
    (here, m, v), count = z, state.steps[0]
    cost = c[2] @ here
    for i, t in enumerate((2, 3)):
        here, m, v = adam_step(here, m, v, count + i + 1, said[t][1].mean(0))
        cost = cost + c[t + 1] @ here
    return torch.stack(torch.autograd.grad(cost, z))


def warm(params, rule=None) -> OptimiserState:
    """An optimiser, Adam if none is given, after a few steps: its moments are not zero."""
    cold = (rule or tp.Adam(lr=RATE)).init(params)
    state = cold.at(Layout.of(params).flatten(list(params.values())).detach())
    generator = torch.Generator().manual_seed(3)
    for _ in range(3):
        noise = torch.randn(state.x.shape, generator=generator, dtype=state.x.dtype)
        state = cold.dynamics.step(state, 0.3 * noise)  # about as large as gradients are
    return cold.after(state)


def test_what_is_not_looked_at():
    fast = tp.TOW.fast()
    assert [fast.coasting(T, 0.9, False) for T in (1, 2, 4, 5, 8, 9, 20)] == [0, 0, 0, 1, 1, 2, 4]
    assert fast.coasting(20, inertia=0.1, targets=False) == 0
    assert fast.coasting(20, inertia=0.9, targets=True) == 0
    assert tp.TOW.fast(moments="frozen").coasting(20, inertia=0.9, targets=False) == 0
    assert tp.TOW.fast(beta="auto").coasting(20, inertia=0.9, targets=False) == 0
    assert tp.TOW().coasting(20, inertia=0.9, targets=False) == 0


def test_only_an_optimiser_with_momentum_that_has_made_a_step_coasts():
    objective, params, _ = scene()
    window = [[classification(seed=10 * t + i) for i in range(M)] for t in range(5)]

    def looked_at(optimizer) -> float:
        return tp.TOW.fast().plan(objective, params, optimizer, window).part_evaluations

    assert looked_at(warm(params)) == 3
    assert looked_at(tp.Adam(lr=RATE).init(params)) == 4
    assert looked_at(warm(params, tp.Adam(lr=RATE, betas=(0.0, 0.999)))) == 4
    assert looked_at(warm(params, tp.SGD(lr=RATE, momentum=0.9))) == 3
    assert looked_at(warm(params, tp.SGD(lr=RATE))) == 4


def test_the_step_that_the_nominal_left_out_is_made_up_for_in_its_cost():
    """Nearly all images in the part, so that coasting is all that sets the nominal apart."""
    objective, params, _ = scene()
    window = [[classification(seed=10 * t + i) for i in range(M)] for t in range(5)]
    plan = tp.TOW.fast(beta=1e9, query_share=0.999).plan(objective, params, warm(params), window)
    uniform = tp.Uniform().plan(objective, params, warm(params), window).losses
    coasted = [losses for losses, _ in by_momentum(objective, warm(params), params, window, 0.999)]
    known = float(uniform[0].sum() + uniform[1].sum())
    seen = known + sum(2 * float(coasted[t][t % 2 :: 2].sum()) for t in (2, 3, 4))
    missed = sum(float(uniform[t].sum() - coasted[t].sum()) for t in (2, 3, 4))
    assert missed < 0  # the step would have helped
    assert plan.nominal_cost - seen == pytest.approx(missed, rel=0.25)


def test_a_broken_task_in_a_mini_batch_that_was_not_looked_at_is_named():
    objective, params, _ = scene()
    window = [[classification(seed=10 * t + i) for i in range(M)] for t in range(5)]
    good = window[1][2]
    broken = tp.Episode(good.support_x, good.support_y, good.query_x * torch.nan, good.query_y)
    window[1] = [*window[1][:2], broken, window[1][3]]
    plan = tp.TOW.fast().plan(objective, params, warm(params), window)
    assert plan.status is tp.Status.NON_FINITE_NOMINAL
    assert plan.bad.tasks == {(1, 2)}


@pytest.mark.parametrize("bounds", ["project", "simplex"])
def test_with_targets_the_costate_is_theirs(bounds):
    objective, params, window = scene()
    targets = [[classification(seed=900 + 2 * t + j) for j in range(2)] for t in range(T)]
    optimizer = tp.SGD(lr=RATE).init(params)
    options = {"bounds": bounds, "beta": "auto", "spread": 1.0, "shrink": "none"}
    fast = tp.TOW.fast(**options, query_share=0.999)
    plain = tp.TOW(**options, iterations=1, curvature="none")
    a = fast.plan(objective, params, optimizer, window, targets=targets)
    b = plain.plan(objective, params, optimizer, window, targets=targets)
    assert a.agreement == pytest.approx(b.agreement)
    assert a.beta == pytest.approx(b.beta)
    torch.testing.assert_close(a.weights[0], b.weights[0], rtol=1e-7, atol=1e-9)
    if bounds == "simplex":
        torch.testing.assert_close(a.weights.sum(1), torch.ones(T).double())


def test_a_part_that_does_not_agree_keeps_uniform_weights_and_trains():
    objective, params, window = scene()
    one = classification(seed=77)
    # the halves of the targets, whose first members alternate, are one task with other labels
    other = tp.Episode(one.support_x, one.support_y, one.query_x, (one.query_y + 1) % WAYS)
    targets = [[one, other] if t % 2 == 0 else [other, one] for t in range(T)]
    plan = tp.TOW.towards_targets(query_share=0.5).plan(
        objective, params, tp.SGD(lr=RATE).init(params), window, targets=targets
    )
    uniform = tp.Uniform().plan(objective, params, tp.SGD(lr=RATE).init(params), window)
    assert plan.status is tp.Status.NO_AGREEMENT
    assert plan.agreement is not None
    assert plan.agreement < 0
    torch.testing.assert_close(plan.final.x, uniform.final.x, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("query", [1, 2, 3, 7, 15])
@pytest.mark.parametrize("share", [0.01, 1 / 3, 0.5, 8 / 15, 1.0])
def test_a_part_keeps_the_first_images_of_every_class(query, share):
    task = classification(query=query, seed=1)
    part = task.part(share)
    assert part.support_x is task.support_x
    for label in range(3):
        mine = task.query_x[task.query_y == label]
        kept = part.query_x[part.query_y == label]
        assert len(kept) == int(np.ceil(share * query - 1e-9))
        assert torch.equal(kept, mine[: len(kept)])


def test_two_standard_errors_are_chance_and_one_with_targets():
    theirs = [torch.tensor([1.0, 2.0]).double(), torch.tensor([3.0, 4.0]).double()]
    mine = [theirs[0] + torch.tensor([0.1, -0.3]), theirs[1] + torch.tensor([0.5, 0.1])]
    differences = np.array([0.1, -0.3, 0.5, 0.1])
    error = differences.std(ddof=1) * 2  # of the sum of four
    assert by_chance(mine, theirs, errors=OwnTasks.chance) == pytest.approx(2 * error)
    assert by_chance(mine, theirs, errors=TargetTasks.chance) == pytest.approx(error)
    assert by_chance([mine[0][:1]], [theirs[0][:1]], errors=2.0) == 0


def test_nearest_weights_are_feasible():
    w = torch.tensor([0.5, -0.2, 0.9], dtype=torch.float64)
    assert Project().project(w).tolist() == [0.5, 0.0, 0.9]
    on_simplex = Simplex().project(w)
    assert float(on_simplex.sum()) == pytest.approx(1.0)
    torch.testing.assert_close(on_simplex, torch.tensor([0.3, 0.0, 0.7], dtype=torch.float64))


MISTAKES = [
    ({"iterations": 2}, "iterations=2"),
    ({"curvature": "gauss-newton"}, "curvature='gauss-newton'"),
    ({"bounds": "backtrack"}, "bounds='backtrack'"),
    ({"adjoint": "exact"}, "adjoint='exact'"),
    ({"nominal": "random"}, "nominal='random'"),
    ({"query_share": 0.0}, "query_share=0.0"),
    ({"query_share": 1.5}, "query_share=1.5"),
]


@pytest.mark.parametrize(("options", "found"), MISTAKES)
def test_options_that_do_not_go_together_are_refused(options, found):
    with pytest.raises(ValueError, match="found") as raised:
        tp.TOW.fast(**options)
    assert found in str(raised.value)
    assert "query_share" in str(raised.value)


def test_a_task_without_parts_is_refused_with_the_remedy():
    params = {"w": torch.zeros(2, dtype=torch.float64)}
    task = (torch.eye(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64))
    fn = lambda p, t: (t[0] @ p["w"], t[1])  # noqa: E731
    objective = tp.Objective.from_function(fn, loss="mse")
    optimizer = tp.SGD(lr=0.1).init(params)
    with pytest.raises(ValueError, match=r"tuple.*expected a tp\.Episode"):
        tp.TOW.fast().plan(objective, params, optimizer, [[task, task]] * 2)
    first_row = lambda t, share: (t[0][:1], t[1][:1])  # noqa: E731
    parts = tp.Objective.from_function(fn, loss="mse", part=first_row)
    plan = tp.TOW.fast(beta=1.0).plan(parts, params, optimizer, [[task, task]] * 2)
    assert plan.part_evaluations == 1


def test_dropout_draws_the_same_masks_in_the_part_wherever_it_is_evaluated():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(16, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 4)
    ).double()
    objective = tp.Objective(ProtoNet(net))
    task = classification(image_size=4, seed=3)
    part = task.part(0.5)
    params = dict(net.named_parameters())
    watched = objective.evaluate(params, [task], watched=[part], seed=5).watched
    alone = objective.evaluate(params, [part], seed=5).losses
    torch.testing.assert_close(watched, alone.detach())
