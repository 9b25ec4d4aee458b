"""Fast plans towards targets: nothing but the targets is evaluated before training."""

import pytest
import torch
from torch import Tensor

import towpath as tp
from tests.weighters.test_steering import RATE, WAYS, adam_step, classification, scene, warm
from towpath.control.bounds import Simplex
from towpath.control.deviations import centred, cosine
from towpath.dynamics import OptimiserState
from towpath.flat import Layout

T, M = 4, 4
ALONE = tp.TOW.towards_targets(query_share="auto", shrink="none", spread=0.5)


def aims(seed: int = 900) -> list[list[tp.Episode]]:
    return [[classification(seed=seed + 2 * t + j) for j in range(2)] for t in range(T)]


def longer(seed: int = 0):
    """The scene of a fast plan, with a window of T mini-batches."""
    objective, params, _ = scene(seed=seed)
    return (
        objective,
        params,
        [[classification(seed=10 * t + i) for i in range(M)] for t in range(T)],
    )


def started(optimizer: OptimiserState, params):
    return optimizer.at(Layout.of(params).flatten(list(params.values())).detach())


def coasted(objective, optimizer, params, window, targets):
    """The nominal by hand: one step on the first mini-batch, then none; losses and gradients of the
    targets after each."""
    layout, state = Layout.of(params), started(optimizer, params)
    first = objective.evaluate(params, window[0]).gradients
    said = []
    for t in range(T):
        g = first.mean(0) if t == 0 else torch.zeros_like(state.x)
        state = optimizer.dynamics.step(state, g)
        here = objective.evaluate(layout.unflatten(state.x), targets[t])
        said.append((here.losses.double(), here.gradients))
    return first, said


def costate(optimizer, params, window, said, first: Tensor, after: int) -> Tensor:
    """`lam [k, P]`: what the state after `after` steps of the nominal is worth, by autograd."""
    state = started(optimizer, params)
    for t in range(after):
        g = first.mean(0) if t == 0 else torch.zeros_like(state.x)
        state = optimizer.dynamics.step(state, g)
    z = [part.clone().requires_grad_() for part in (state.x, *state.slots)]
    (x, m, v), count = z, state.steps[0]
    cost = said[after - 1][1].sum(0) @ x
    for i, t in enumerate(range(after, T)):
        x, m, v = adam_step(x, m, v, count + i + 1, torch.zeros_like(x))
        cost = cost + said[t][1].sum(0) @ x
    return torch.stack(torch.autograd.grad(cost, z, allow_unused=True, materialize_grads=True))


def weights_of(g: Tensor, spread: float) -> Tensor:
    """The largest deviation is asked to be spread / M; on the simplex."""
    scale = M * float(centred(g[None]).abs().max()) / spread
    return Simplex().project(1 / M - g / scale)


def by_hand(objective, optimizer, params, window, targets, plan, t, halves=None):
    """Gradients `dJ/du_t [M]` of mini-batch t where the plan's training meets it."""
    first, said = coasted(objective, optimizer, params, window, targets)
    if halves is not None:
        said = [(losses, rows[(t_ + halves) % 2 :: 2]) for t_, (losses, rows) in enumerate(said)]
    state = started(optimizer, params)
    for s in range(t):
        J = objective.evaluate(plan.layout.unflatten(state.x), window[s]).gradients
        state = optimizer.dynamics.step(state, plan.weights[s] @ J)
    J = objective.evaluate(plan.layout.unflatten(state.x), window[t]).gradients
    lam = costate(optimizer, params, window, said, first, after=t + 1)
    b = optimizer.dynamics.linearise(state, J.mean(0)).b
    return J @ (b * lam).sum(0), state, J, lam


@pytest.mark.parametrize("t", range(T))
def test_weights_follow_the_targets_costates_and_the_gradients_of_training(t):
    objective, params, window = longer()
    targets, optimizer = aims(), warm(params)
    plan = ALONE.plan(objective, params, optimizer, window, targets=targets)
    assert plan.status is tp.Status.ITERATION_LIMIT
    g, *_ = by_hand(objective, optimizer, params, window, targets, plan, t)
    torch.testing.assert_close(plan.weights[t], weights_of(g, 0.5), rtol=1e-6, atol=1e-9)
    assert float((plan.weights[t] - 1 / M).abs().max()) > 0.01


def test_the_spread_is_shrunk_by_the_agreement_on_the_mini_batches_so_far():
    objective, params, window = longer()
    optimizer = warm(params)
    shrunk = tp.TOW.towards_targets(query_share="auto", spread=0.5)
    for seed in range(900, 980, 10):
        targets = aims(seed)
        plan = shrunk.plan(objective, params, optimizer, window, targets=targets)
        if plan.status is tp.Status.ITERATION_LIMIT and plan.history[0].eps == 1.0:
            break
    setup = objective, optimizer, params, window, targets, plan
    rows: list[list[Tensor]] = [[], []]
    for t in range(T):
        g, *_ = by_hand(*setup, t)
        for half in (0, 1):
            rows[half].append(by_hand(*setup, t, halves=half)[0])
        agreed = cosine(*(centred(torch.stack(half)) for half in rows))
        expected = weights_of(g, 0.5 * agreed) if agreed > 0 else torch.full((M,), 1 / M).double()
        torch.testing.assert_close(plan.weights[t], expected, rtol=1e-5, atol=1e-8)
    assert plan.agreement == pytest.approx(agreed, rel=1e-6)
    assert agreed > 0


def test_the_nominals_cost_has_the_steps_that_it_left_out_to_first_order():
    objective, params, window = longer()
    targets, optimizer = aims(), warm(params)
    still = tp.TOW.towards_targets(query_share="auto", shrink="none", spread=1e-6)
    plan = still.plan(objective, params, optimizer, window, targets=targets)
    _, said = coasted(objective, optimizer, params, window, targets)
    seen, worth = sum(float(losses.sum()) for losses, _ in said), 0.0
    for t in range(1, T):
        _, state, J, lam = by_hand(objective, optimizer, params, window, targets, plan, t)
        step = optimizer.dynamics.step
        after, idle = step(state, J.mean(0)), step(state, torch.zeros_like(state.x))
        worth += float((lam * (after.z - idle.z)).sum())
    assert plan.nominal_cost == pytest.approx(seen + worth, rel=1e-9)
    # which is close to what training with uniform weights costs: the weights moved by a millionth
    assert plan.cost - seen == pytest.approx(worth, rel=0.25)


def test_training_is_on_whole_tasks_and_work_is_counted():
    objective, params, window = longer()
    targets, optimizer = aims(), warm(params)
    plan = ALONE.plan(objective, params, optimizer, window, targets=targets)
    state = started(optimizer, params)
    for t, batch in enumerate(window):
        said = objective.evaluate(plan.layout.unflatten(state.x), batch)
        torch.testing.assert_close(plan.losses[t], said.losses, rtol=1e-12, atol=0)
        state = optimizer.dynamics.step(state, plan.weights[t] @ said.gradients)
    torch.testing.assert_close(plan.final.x, state.x, rtol=1e-12, atol=1e-14)
    assert (plan.part_evaluations, plan.sketches, plan.query_share) == (0, 0, 1)
    assert plan.evaluations == T + 2 * T * 2 / M  # the targets twice, in training without gradients
    expected = ALONE.expected_work(T, 2 / M, 0.9)
    assert (expected.evaluations + expected.forwards, expected.parts) == (plan.evaluations, 0)


def test_the_direction_is_that_of_the_full_plan():
    objective, params, window = longer()
    optimizer = warm(params)
    full = tp.TOW.towards_targets(shrink="none", spread=0.5)
    for seed in (900, 910, 920):
        targets = aims(seed)
        a = ALONE.plan(objective, params, optimizer, window, targets=targets)
        b = full.plan(objective, params, optimizer, window, targets=targets)
        assert cosine(centred(a.weights), centred(b.weights)) > 0.9


def test_targets_that_disagree_leave_uniform_training_and_its_work():
    objective, params, window = longer()
    optimizer, one = warm(params), classification(seed=77)
    other = tp.Episode(one.support_x, one.support_y, one.query_x, (one.query_y + 1) % WAYS)
    targets = [[one, other] if t % 2 == 0 else [other, one] for t in range(T)]
    plan = tp.TOW.towards_targets(query_share="auto").plan(
        objective, params, optimizer, window, targets=targets
    )
    uniform = tp.Uniform().plan(objective, params, optimizer, window)
    assert plan.status is tp.Status.NO_AGREEMENT
    assert plan.agreement is not None
    assert plan.agreement < 0
    torch.testing.assert_close(plan.weights, uniform.weights)
    torch.testing.assert_close(plan.final.x, uniform.final.x, rtol=1e-12, atol=1e-14)
    assert plan.cost == plan.nominal_cost
    assert plan.history == ()
    assert plan.evaluations == T + 2 * T * 2 / M


def test_a_rejected_training_is_done_again_with_uniform_weights():
    objective, params, window = longer()
    found = None
    for lr in (0.003, 0.01, 0.03, 0.1, 0.3, 1.0):  # rates at which the linear model is worthless
        optimizer = warm(params, tp.Adam(lr=lr))
        plan = ALONE.plan(objective, params, optimizer, window, targets=aims())
        if plan.status is tp.Status.LINE_SEARCH_FAILED:
            found = plan, optimizer
            break
    assert found is not None
    plan, optimizer = found
    uniform = tp.Uniform().plan(objective, params, optimizer, window)
    assert plan.cost == plan.nominal_cost
    torch.testing.assert_close(plan.final.x, uniform.final.x, rtol=1e-12, atol=1e-14)
    assert plan.evaluations == T + (T - 1) + 3 * T * 2 / M


def test_a_target_without_a_finite_loss_is_named():
    objective, params, window = longer()
    targets = aims()
    good = targets[2][1]
    targets[2][1] = tp.Episode(
        good.support_x, good.support_y, good.query_x * torch.nan, good.query_y
    )
    plan = ALONE.plan(objective, params, warm(params), window, targets=targets)
    assert plan.status is tp.Status.NON_FINITE_NOMINAL
    assert plan.bad.targets == {(2, 1)}
    again = ALONE.plan(objective, params, warm(params), window, targets=targets, muted=plan.bad)
    assert again.status is tp.Status.ITERATION_LIMIT


def test_a_broken_task_is_found_in_training():
    objective, params, window = longer()
    good = window[2][1]
    window[2][1] = tp.Episode(
        good.support_x, good.support_y, good.query_x * torch.nan, good.query_y
    )
    plan = ALONE.plan(objective, params, warm(params), window, targets=aims())
    assert plan.status is tp.Status.NON_FINITE_NOMINAL
    assert plan.bad.tasks == {(2, 1)}
    again = ALONE.plan(objective, params, warm(params), window, targets=aims(), muted=plan.bad)
    assert again.weights[2, 1] == 0
    torch.testing.assert_close(again.weights.sum(1), torch.ones(T).double())


def test_what_is_needed_to_evaluate_nothing_but_the_targets():
    fast = tp.TOW.towards_targets(query_share="auto")
    assert fast.heads(0.9, targets=True)
    assert fast.coasting(5, 0.9, targets=True) == 4
    assert not fast.heads(0.1, targets=True)
    assert not fast.heads(0.9, targets=False)
    assert not tp.TOW.towards_targets().heads(0.9, targets=True)
    for options in ({"scale": "window"}, {"moments": "frozen"}):
        other = tp.TOW.towards_targets(query_share="auto", **options)
        assert not other.heads(0.9, targets=True)
        assert other.coasting(5, 0.9, targets=True) == 0


def test_before_the_optimisers_first_step_the_parts_are_looked_at():
    objective, params, window = longer()
    cold = tp.Adam(lr=RATE).init(params)
    plan = ALONE.plan(objective, params, cold, window, targets=aims())
    assert plan.part_evaluations == T - 1


def test_first_parameters_that_are_few_have_no_costate(monkeypatch):
    """The first convolution is 7 per cent of this small network; a real one is below 2."""
    objective, params, window = longer()
    targets, optimizer = aims(), warm(params)
    monkeypatch.setattr("towpath.weighters.tow.part.FEW", 0.075)
    plan = ALONE.plan(objective, params, optimizer, window, targets=targets)
    monkeypatch.undo()
    first, said = coasted(objective, optimizer, params, window, targets)
    lam = costate(optimizer, params, window, said, first, after=1)
    few = next(iter(params.values())).numel()
    assert 0.02 < few / lam.shape[1] < 0.075
    lam[:, :few] = 0.0
    b = optimizer.dynamics.linearise(started(optimizer, params), first.mean(0)).b
    g = first @ (b * lam).sum(0)
    torch.testing.assert_close(plan.weights[0], weights_of(g, 0.5), rtol=1e-6, atol=1e-9)
    whole = ALONE.plan(objective, params, optimizer, window, targets=targets)
    assert not torch.equal(plan.weights, whole.weights)
    assert cosine(centred(plan.weights), centred(whole.weights)) > 0.9
