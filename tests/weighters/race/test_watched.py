"""Rules that watch another one lead remember what they would remember alone."""

from typing import Any

import pytest
import torch
from torch import Tensor

import towpath as tp
from towpath.weighters.race.watched import Watched, of_rule, of_weighter
from towpath.weighters.rules import selection

RULE = {"step": 3, "rule": {"losses": [1.0]}}
SEARCH = {"search": {"eps": 0.25}}


class Counts(tp.MiniBatchWeighter):
    """Remembers the steps that it was shown."""

    def initial_state(self) -> dict[str, Any]:
        return {"steps": []}

    def weights(self, batch: tp.MiniBatch, state: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        state["steps"].append(batch.step)
        return torch.full_like(batch.losses, 1 / len(batch)), state


def batch(step: int) -> tp.MiniBatch:
    g = torch.Generator().manual_seed(step)
    return tp.MiniBatch(torch.rand(4, generator=g), torch.rand(4, 3, generator=g), step=step)


def test_the_leader_weighs_and_every_rule_counts_its_own_steps():
    lead = tp.Trim(keep=0.5, warmup=0)
    watched = Watched(lead, {"counts": Counts(), "mixture": tp.Mixture()})
    memories = {"trim": {"step": 5, "rule": {}}, "counts": {"step": 2, "rule": {"steps": [0, 1]}}}
    state = watched.joined(memories, "trim")
    assert state["step"] == 5
    weights, rule = watched.weights(batch(5), state["rule"])
    assert torch.equal(weights, lead.weights(batch(5), {})[0])
    after = watched.parted({"step": 6, "rule": rule})
    assert after.lead == {"step": 6, "rule": {}}
    assert after.watching["counts"] == {"step": 3, "rule": {"steps": [0, 1, 2]}}
    # one that had seen nothing begins here
    assert after.watching["mixture"]["step"] == 1
    assert len(after.watching["mixture"]["rule"]["losses"]) == 4


@pytest.mark.parametrize("rule", [tp.Mixture(warmup=2), tp.Exploitation(), tp.FAMO(), Counts()])
def test_a_rule_that_watches_remembers_what_it_would_if_it_weighed(rule):
    weighed, watched = rule.initial_state(), rule.initial_state()
    for step in range(5):
        weighed = rule.weights(batch(step), weighed)[1]
        watched = rule.watch(batch(step), watched)
        assert watched == weighed


def test_a_mixture_that_watches_fits_nothing(monkeypatch):
    def fit(values: object) -> None:
        raise AssertionError(values)

    monkeypatch.setattr(selection, "components_apart", fit)
    lead, mixture = tp.Uniform(), tp.Mixture(warmup=0)
    watched = Watched(lead, {"mixture": mixture})
    _, memory = watched.weights(batch(0), watched.initial_state())
    assert memory["watching"]["mixture"]["rule"]["losses"] == batch(0).losses.double().tolist()
    with pytest.raises(AssertionError):
        mixture.weights(batch(0), mixture.initial_state())


def test_targets_are_wanted_for_the_leader_alone():
    assert Watched(tp.OPUS(), {"trim": tp.Trim()}).wants_targets
    assert not Watched(tp.Uniform(), {"trim": tp.Trim()}).wants_targets


def test_a_plan_holds_the_memory_of_its_rule_and_where_its_search_ended():
    plan = tp.TOW(nominal=tp.Mixture(), acceptance="chance")
    assert of_rule(plan, {"nominal": RULE, **SEARCH}) == RULE
    assert of_weighter(plan, RULE, SEARCH) == {"nominal": RULE, **SEARCH}
    assert of_weighter(plan, RULE, {"nominal": {"step": 2}, **SEARCH}) == {
        "nominal": RULE,
        **SEARCH,
    }
    assert of_weighter(plan, RULE, None) == {"nominal": RULE}


def test_a_plan_about_no_rule_remembers_no_rule():
    assert of_rule(tp.TOW(acceptance="chance"), SEARCH) is None
    assert of_rule(tp.TOW(), {}) == {}


def test_a_rule_is_its_own_memory():
    assert of_rule(tp.Mixture(), RULE) == of_weighter(tp.Mixture(), RULE, None) == RULE
