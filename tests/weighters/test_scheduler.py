"""ATS against the same network of torch's own layers, trained by torch's own Adam."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import towpath as tp
from tests.learners.tasks import classification
from tests.weighters.test_lookahead import RULE, TARGETS, WINDOW, Step, trained
from tests.weighters.test_targets import OBJECTIVE, loss
from towpath.weighters.rules.influence import drawn
from towpath.weighters.rules.scheduler import LAYOUT, log_likelihood
from towpath.weighters.seeds import stage_seed


class Reference(nn.Module):
    """The scheduler of the paper from torch's layers."""

    def __init__(self, theta: list[float]) -> None:
        super().__init__()
        part = LAYOUT.unflatten(torch.tensor(theta, dtype=torch.float64))
        self.lstms = nn.ModuleList(
            nn.LSTM(1, 10, bidirectional=True, dtype=torch.float64) for _ in range(3)
        )
        self.progress = nn.Embedding(100, 5, dtype=torch.float64)
        self.fc1, self.fc2 = nn.Linear(65, 20).double(), nn.Linear(20, 1).double()
        with torch.no_grad():
            for n, lstm in enumerate(self.lstms):
                for cell, suffix in ((n, ""), (n + 3, "_reverse")):
                    getattr(lstm, f"weight_ih_l0{suffix}").copy_(part["inward"][cell][:, None])
                    getattr(lstm, f"weight_hh_l0{suffix}").copy_(part["recurrent"][cell])
                    getattr(lstm, f"bias_ih_l0{suffix}").copy_(part["inward_bias"][cell])
                    getattr(lstm, f"bias_hh_l0{suffix}").copy_(part["recurrent_bias"][cell])
            self.progress.weight.copy_(part["progress"])
            self.fc1.weight.copy_(part["head"])
            self.fc1.bias.copy_(part["head_bias"])
            self.fc2.weight.copy_(part["score"][None])
            self.fc2.bias.copy_(part["score_bias"])

    def forward(self, inputs: np.ndarray, percent: int) -> torch.Tensor:
        rows = torch.tensor(inputs)
        seen = [lstm(row[:, None])[0] for lstm, row in zip(self.lstms, rows, strict=True)]
        where = self.progress(torch.tensor(percent)).expand(rows.shape[1], 5)
        return self.fc2(torch.tanh(self.fc1(torch.cat([*seen, where], 1))))[:, 0]


def reward(step: Step) -> float:
    """Minus the targets' mean loss after the step with the weights that were drawn."""
    after = step.named(step.after(step.w))
    return -float(np.mean([float(loss(after, [one])) for one in TARGETS[step.t]]))


def test_ats_is_the_papers_network_trained_by_reinforce():
    rule = tp.ATS(steps=8, rate=0.05, seed=4)
    net = Reference(rule.initial_state()["theta"]["values"])
    adam = torch.optim.Adam(net.parameters(), lr=0.05)
    rewards: list[float] = []
    for step in trained(rule):
        t = step.t
        losses = [float(loss(step.params, [one])) for one in WINDOW[t]]
        norms = np.linalg.norm(step.J, axis=1)
        mean = step.J.mean(0)
        cosines = step.J @ mean / (norms * np.linalg.norm(mean))
        z = net(np.array([losses, norms, cosines]), 100 * t // 8) / max(0.1, 0.99**t)
        chosen = drawn(z.detach(), 3, stage_seed(4, t))
        expected = np.zeros(len(losses))
        expected[chosen] = 1 / 3
        np.testing.assert_allclose(step.w, expected, rtol=0, atol=1e-6)
        got = reward(step)
        advantage = got - float(np.mean(rewards)) if rewards else 0.0
        rewards.append(got)
        # chances of the draw, one task after another
        p, total = z.softmax(0), torch.zeros((), dtype=torch.float64)
        for n, i in enumerate(chosen):
            total = total + torch.log(p[i] / (1 - p[chosen[:n]].sum()))
        adam.zero_grad()
        (-advantage * total).backward()
        adam.step()
    rule_scores = state_of(rule)
    np.testing.assert_allclose(rule_scores["mean_reward"], np.mean(rewards), atol=1e-9)
    theirs = LAYOUT.unflatten(torch.tensor(rule_scores["theta"]["values"], dtype=torch.float64))
    np.testing.assert_allclose(theirs["head"], net.fc1.weight.detach(), rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        theirs["recurrent"][4],
        dict(net.lstms[1].named_parameters())["weight_hh_l0_reverse"].detach(),
        rtol=0,
        atol=1e-6,
    )


def state_of(rule: tp.ATS) -> dict[str, Any]:
    """What the rule remembers at the end of the same training in one window."""
    first = trained(rule)[0].params
    plan = rule.plan(OBJECTIVE, first, RULE.init(first), WINDOW, targets=TARGETS)
    state: dict[str, Any] = plan.weighter_state["rule"]
    assert len(json.dumps(state)) < 500_000
    return state


def test_chances_of_an_order_are_those_of_draws_without_replacement():
    z = torch.tensor([0.3, -1.0, 2.0, 0.5], dtype=torch.float64)
    p = z.softmax(0)
    found = log_likelihood(z, torch.tensor([2, 0])).exp()
    assert float(found) == pytest.approx(float(p[2] * p[0] / (1 - p[2])))
    seen = sum(
        float(log_likelihood(z, torch.tensor([i, j])).exp())
        for i in range(4)
        for j in range(4)
        if i != j
    )
    assert seen == pytest.approx(1.0)


def test_with_an_inner_loop_the_third_input_compares_support_with_query():
    torch.manual_seed(0)
    model = nn.Linear(4, 2, dtype=torch.float64)
    learner = tp.learners.MAML(model, inner_lr=0.1, adaptation_steps=1)
    seen: list[Any] = []

    class Looking(tp.MiniBatchWeighter):
        def weights(self, batch, state):
            seen.append(batch.support_gradients())
            return torch.ones(len(batch)), state

    tasks = [classification((2, 2), seed=i) for i in range(3)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    plan = Looking().plan(tp.Objective(learner), model, optimizer, [tasks])
    assert plan.evaluations == 2
    params = {name: p.detach().requires_grad_() for name, p in learner.parameters().items()}
    for row, one in zip(seen[0], tasks, strict=True):
        predictor = learner.adapt(params, one.support_x, one.support_y)
        value = nn.functional.cross_entropy(predictor(one.support_x), one.support_y)
        pieces = torch.autograd.grad(value, list(params.values()))
        np.testing.assert_allclose(row, torch.cat([g.reshape(-1) for g in pieces]), atol=1e-12)
    protonet = tp.learners.ProtoNet(nn.Linear(4, 2, dtype=torch.float64))
    optimizer = torch.optim.SGD(protonet.module.parameters(), lr=0.1)
    Looking().plan(tp.Objective(protonet), protonet.module, optimizer, [tasks])
    assert seen[1] is None


def test_the_reward_is_the_targets_accuracy_after_the_step():
    torch.manual_seed(1)
    learner = tp.learners.ProtoNet(nn.Linear(4, 3, dtype=torch.float64))
    tasks = [classification((1, 1), seed=i) for i in range(5)]
    goals = [classification((1, 1), seed=90 + i) for i in range(4)]
    optimizer = torch.optim.SGD(learner.module.parameters(), lr=0.5)
    objective = tp.Objective(learner)
    plan = tp.ATS().plan(objective, learner.module, optimizer, [tasks], targets=[goals])
    accuracies = objective.evaluate(plan.params, goals).accuracies
    assert accuracies is not None
    assert 0 < float(accuracies.mean()) < 1, "otherwise a mean says little"
    found = plan.weighter_state["rule"]["mean_reward"]
    assert found == pytest.approx(float(accuracies.mean()))


@pytest.mark.parametrize(
    "make", [lambda: tp.ATS(sample=0), lambda: tp.ATS(steps=0), lambda: tp.ATS(rate=-1.0)]
)
def test_options_out_of_range_are_value_errors(make):
    with pytest.raises(ValueError, match="expected"):
        make()
