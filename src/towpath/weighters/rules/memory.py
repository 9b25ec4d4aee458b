"""The state of a rule, which lasts from one mini-batch of a training to the next."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Memory = dict[str, Any]
"""Values by name that JSON can hold: numbers, words, lists and dictionaries of them. A checkpoint
stores it, so a run that is resumed goes on with it; its size should not grow with the training."""


@dataclass(frozen=True)
class RuleMemory:
    """The state that outlives a window: mini-batches seen, and the rule's own memory."""

    step: int
    rule: Memory

    @classmethod
    def of(cls, state: Mapping[str, Any] | None, initial: Memory) -> "RuleMemory":
        """Read the state of the previous window, or start with the initial one."""
        # copies: a rule that changes lists in place must not change the caller's
        if not state:
            return cls(0, copy.deepcopy(initial))
        if set(state) != {"step", "rule"}:
            raise ValueError(
                f"The state of a rule has the entries {sorted(state)}; expected 'step' and 'rule', "
                "as in plan.weighter_state of the window before. Pass that, or None to begin anew."
            )
        return cls(int(state["step"]), copy.deepcopy(dict(state["rule"])))

    def plain(self) -> Memory:
        """Return the state as a dictionary for a checkpoint."""
        return {"step": self.step, "rule": self.rule}
