"""A rule that leads while others watch: they see every mini-batch and remember, but do not weigh.

A rule that learns from losses (a mixture fitted to the last two hundred of them) would otherwise
enter a race without any memory, and lose the first part of it. A plan about a rule remembers what
the rule does, so the rule watches in its place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from towpath.weighters.protocol import Weighter
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.seen import Seen
from towpath.weighters.tow.options import TOW


@dataclass(frozen=True)
class Memories:
    """The memories of a leader and of those who watch, each as a rule's `plan` takes it."""

    lead: Memory
    watching: dict[str, Memory]


def remembering(weighter: Weighter) -> MiniBatchWeighter | None:
    """Return the rule that a weighter's memory is of: itself, or the nominal of a plan; or None."""
    if isinstance(weighter, MiniBatchWeighter):
        return weighter
    nominal = weighter.nominal if isinstance(weighter, TOW) else None
    return nominal if isinstance(nominal, MiniBatchWeighter) else None


def of_rule(weighter: Weighter, memory: Memory | None) -> Memory | None:
    """Return the memory of the rule within a weighter's own."""
    return memory.get("nominal") if memory and isinstance(weighter, TOW) else memory


def of_weighter(weighter: Weighter, memory: Memory, own: Memory | None) -> Memory:
    """Return a weighter's memory that holds this one of its rule.

    Args:
        weighter: a rule, or a plan about one.
        memory: what the rule remembers.
        own: what the weighter remembers so far; what else a plan has there stays.
    """
    return {**(own or {}), "nominal": memory} if isinstance(weighter, TOW) else memory


class Watched(MiniBatchWeighter):
    """The leader's weights; the others' memories go on beside it.

    Args:
        lead: the rule whose weights are used.
        watching: the rules that only remember, by name.
    """

    def __init__(self, lead: MiniBatchWeighter, watching: Mapping[str, MiniBatchWeighter]) -> None:
        self.lead, self.watching = lead, watching
        self.wants_targets = lead.wants_targets  # type: ignore[misc]  # of the rule that leads

    def initial_state(self) -> Memory:
        """Return the leader's first state, and that of the others."""
        others = {name: {"step": 0, "rule": r.initial_state()} for name, r in self.watching.items()}
        return {"lead": self.lead.initial_state(), "watching": others}

    def can_judge(self, seen: Seen) -> bool:
        """Return whether the leader can decide anything."""
        return self.lead.can_judge(seen)

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Return the leader's weights; let every other rule see the mini-batch."""
        watching = {}
        for name, rule in self.watching.items():
            seen = state["watching"][name]
            memory = rule.watch(batch.at_step(seen["step"]), seen["rule"])
            watching[name] = {"step": seen["step"] + 1, "rule": memory}
        w, memory = self.lead.weights(batch, state["lead"])
        return w, {"lead": memory, "watching": watching}

    def joined(self, memories: Mapping[str, Mapping[str, Any] | None], leader: str) -> Memory:
        """Return the state to plan with, of what leader and others remember; nothing at first.

        Args:
            memories: what each rule remembers, by name, as `MiniBatchWeighter.plan` takes it.
            leader: the name of the rule that leads.
        """
        first = self.initial_state()
        own = memories.get(leader) or {"step": 0, "rule": first["lead"]}
        others = {name: memories.get(name) or first["watching"][name] for name in self.watching}
        return {"step": own["step"], "rule": {"lead": own["rule"], "watching": others}}

    def parted(self, state: Mapping[str, Any]) -> Memories:
        """Return the memories of leader and others from the state after a plan."""
        rule = state["rule"]
        return Memories({"step": state["step"], "rule": rule["lead"]}, dict(rule["watching"]))
