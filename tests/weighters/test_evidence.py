"""`evidence`: tasks whose labels say no more than shuffled ones are left out, hard ones are not."""

import json
import math

import numpy as np
import pytest
import torch

import towpath as tp
from towpath.weighters.rules.minibatch import Looks


def batch(z, trusted=(), left_out=(), losses=None, adapts=False):
    z = torch.as_tensor(z, dtype=torch.float64)
    infos = [
        {"trusted": i in trusted or i in left_out, "left_out": i in left_out} for i in range(len(z))
    ]
    losses = torch.ones(len(z)) if losses is None else torch.as_tensor(losses)
    looks = Looks(support_gradients=(lambda: torch.zeros(len(z), 1)) if adapts else None)
    return tp.MiniBatch(losses, torch.zeros(len(z), 1), infos, evidence=z, looks=looks)


def remembered(rule, right=5.0, share=0.6, n=200, seed=0):
    generator = np.random.default_rng(seed)
    z = np.where(
        generator.random(n) < share, generator.normal(right, 1.2, n), generator.normal(size=n)
    )
    return rule.watch(batch(z), rule.initial_state())


def test_tasks_without_meaning_are_dropped_and_the_others_weigh_the_same():
    rule = tp.Evidence()
    w, _ = rule.weights(batch([5.0, 0.0, 6.5, -1.0, 4.5]), remembered(rule))
    assert w[[1, 3]].max() < 1e-3
    np.testing.assert_allclose(w[[0, 2, 4]], 1 / 3, atol=0.01)
    assert float(w.sum()) == pytest.approx(1.0)


def test_the_loss_decides_nothing():
    rule = tp.Evidence()
    state = remembered(rule)
    z = [5.0, 0.0, 6.5]
    low = rule.weights(batch(z, losses=[0.1, 9.0, 2.0]), state)[0]
    high = rule.weights(batch(z, losses=[9.0, 0.1, 3.0]), state)[0]
    assert torch.equal(low, high)


@pytest.mark.parametrize(
    ("easy", "hard"),
    [((7.0, 0.8, 120), (3.0, 1.2, 80)), ((8.0, 0.5, 140), (2.9, 1.0, 60))],
    ids=["as photographs among characters", "beside much easier ones"],
)
def test_hard_tasks_are_kept_where_nothing_is_wrong(easy, hard):
    rule = tp.Evidence()
    generator = np.random.default_rng(1)
    z = np.concatenate([generator.normal(*easy), generator.normal(*hard)])
    state = rule.watch(batch(z), rule.initial_state())
    w, _ = rule.weights(batch([7.0, 3.0, 2.0, 7.5]), state)
    assert w.min() > 0.9 * w.max()


def test_a_window_that_never_holds_enough_tasks_is_refused():
    with pytest.raises(ValueError, match="window=5 and least=20"):
        tp.Evidence(window=5)


def test_nothing_is_dropped_before_enough_tasks_were_seen_or_before_they_tell_anything():
    rule = tp.Evidence()
    few = rule.watch(batch([0.0] * 6 + [5.0] * 6), rule.initial_state())
    w, _ = rule.weights(batch([0.0, 5.0, 5.0]), few)
    np.testing.assert_allclose(w, 1 / 3, atol=1e-15)
    noise = rule.watch(batch(np.random.default_rng(2).normal(size=200)), rule.initial_state())
    w, _ = rule.weights(batch([0.0, 1.0, -2.0]), noise)
    np.testing.assert_allclose(w, 1 / 3)


def test_trusted_tasks_are_kept_unless_they_were_left_out():
    rule = tp.Evidence()
    state = remembered(rule)
    w, after = rule.weights(batch([0.0, 0.0, 5.0], trusted=[0], left_out=[1]), state)
    assert w[0] == pytest.approx(float(w[2]), rel=0.01)
    assert w[1] < 1e-3
    assert len(after["evidence"]) == 200
    assert after["evidence"][-2:] == [0.0, 5.0]  # the trusted one is not fitted


def test_tasks_without_evidence_are_kept():
    rule = tp.Evidence()
    w, after = rule.weights(batch([math.nan, 0.0, 5.0]), remembered(rule))
    assert w[0] == pytest.approx(float(w[2]), rel=0.01)
    assert not any(math.isnan(z) for z in after["evidence"])
    bare = tp.MiniBatch(torch.ones(3), torch.zeros(3, 1))
    np.testing.assert_allclose(rule.weights(bare, rule.initial_state())[0], 1 / 3)


def test_a_mini_batch_of_wrong_tasks_alone_takes_next_to_no_step():
    rule = tp.Evidence()
    w, _ = rule.weights(batch([0.0, -1.0, 0.3]), remembered(rule))
    assert (w > 0).all()
    assert float(w.sum()) < 0.01


@pytest.mark.parametrize(
    ("floor", "adapts", "expected"),
    [(None, False, 0.0), (None, True, 0.25), (0.1, False, 0.1), (0.1, True, 0.1), (0.0, True, 0.0)],
)
def test_a_wrong_task_keeps_a_share_of_its_weight_where_a_learner_adapts(floor, adapts, expected):
    rule = tp.Evidence(floor=floor)
    w, _ = rule.weights(batch([8.0, -2.0, 7.0], adapts=adapts), remembered(rule))
    assert float(w[1] / w[0]) == pytest.approx(expected, abs=1e-3)
    assert float(w.sum()) == pytest.approx(1.0)


@pytest.mark.parametrize("learner", [tp.learners.MAML, tp.learners.ProtoNet])
def test_a_rule_sees_whether_the_learner_adapts(learner):
    asked = []

    class Asks(tp.MiniBatchWeighter):
        def weights(self, batch, state):
            asked.append(batch.adapts)
            return torch.full((len(batch),), 1 / len(batch)), state

    model = torch.nn.Linear(2, 3)
    objective, sgd = tp.Objective(learner(model)), torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(6, 2, generator=torch.Generator().manual_seed(0)), torch.arange(6) % 3
    Asks().plan(objective, model, sgd, [[tp.Episode(x[:3], y[:3], x, y)] * 2])
    assert asked == [learner is tp.learners.MAML]


def test_easy_tasks_weigh_more_among_those_that_are_kept_if_asked_for():
    rule, losses = tp.Evidence(concentration=1.2), [2.0, 0.5, 0.4, 1.0]
    state = remembered(rule)
    w, _ = rule.weights(batch([5.0, 0.0, 6.5, 5.5], losses=losses), state)
    easy, _ = tp.Exploitation(1.2).weights(batch([0.0] * 4, losses=losses), {})
    assert w[1] < 1e-3  # easy, but wrong
    expected = easy[[0, 2, 3]] / easy[[0, 2, 3]].sum()
    np.testing.assert_allclose(w[[0, 2, 3]], expected, atol=0.01)


def test_a_wrong_task_of_low_loss_takes_nothing_away_from_those_that_are_kept():
    rule = tp.Evidence(concentration=1.2)
    tasks = batch([5.0, 0.0, 6.5], losses=[9.0, 0.1, 3.0])
    w, _ = rule.weights(tasks, remembered(rule))
    assert w[1] < 1e-3
    assert float(w.sum()) == pytest.approx(1.0)


@pytest.mark.parametrize("z", [0.0, -3.0])
@pytest.mark.parametrize("loss", [1e4, 1e8, 1e30, 1e300])
def test_a_wrong_task_of_low_loss_does_not_take_the_step_however_large_the_others_are(z, loss):
    """As squared errors of targets in units of their own may be."""
    rule = tp.Evidence(concentration=1.2)
    losses = torch.tensor([1.1 * loss, 0.1, loss], dtype=torch.float64)
    w, _ = rule.weights(batch([5.0, z, 6.5], losses=losses), remembered(rule))
    assert w[1] < 1e-4
    assert float(w.sum()) == pytest.approx(1.0)
    assert w[2] / w[0] == pytest.approx(1.1)  # as `exploitation` has it, for gaps as large as these


def test_a_wrong_task_of_low_loss_keeps_its_floor_and_no_more():
    rule = tp.Evidence(concentration=1.2, floor=0.25)
    losses = torch.tensor([1.1e8, 0.1, 1e8], dtype=torch.float64)
    w, _ = rule.weights(batch([5.0, -1.0, 6.5], losses=losses), remembered(rule))
    assert w[1] == pytest.approx(0.25 / 1.25, rel=0.01)
    kept = tp.Evidence(concentration=1.2, floor=1.0)  # nothing is taken for wrong
    all_weigh, _ = kept.weights(batch([5.0, -1.0, 6.5], losses=losses), remembered(kept))
    easy, _ = tp.Exploitation(1.2).weights(batch([0.0] * 3, losses=losses), {})
    np.testing.assert_allclose(all_weigh, easy)


def test_weights_stay_finite_where_the_others_are_out_of_reach():
    rule = tp.Evidence(concentration=1.2)
    losses = torch.tensor([1.7e308, 0.1, 1.6e308], dtype=torch.float64)
    w, _ = rule.weights(batch([5.0, 0.0, 6.5], losses=losses), remembered(rule))
    assert w.isfinite().all()


def test_watching_remembers_what_weighing_does_and_is_plain_json():
    rule = tp.Evidence(window=5, least=2)
    weighed = rule.weights(batch([1.0, 2.0, 3.0]), rule.initial_state())[1]
    watched = rule.watch(batch([1.0, 2.0, 3.0]), rule.initial_state())
    assert weighed == watched == json.loads(json.dumps(watched))
    assert rule.watch(batch([4.0, 5.0, 6.0]), watched)["evidence"] == [2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.parametrize(
    "options",
    [
        {"window": 1},
        {"least": 0},
        {"apart": -1.0},
        {"concentration": -1.0},
        {"concentration": 1.0},
        {"floor": -0.1},
        {"floor": 1.5},
    ],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ValueError, match=f"Evidence.*{next(iter(options))}"):
        tp.Evidence(**options)
