"""What a race remembers between two windows: who leads, what the rules know, a heat that goes on.

Most of it is plain values, as of every weighter. The branches of a heat are whole trainings, so
their parameters and moments are tensors: they stand under the key `tensors` of the state, by name,
and a checkpoint stores them beside the model's own.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from towpath.dynamics import OptimiserState
from towpath.flat import Layout
from towpath.weighters.plan import Plan
from towpath.weighters.race.judges import ACCURACY
from towpath.weighters.rules.memory import Memory
from towpath.weighters.tensors import TENSORS
from towpath.wording import one_line


@dataclass(frozen=True, eq=False)
class Branch:
    """The training of one arm during a heat: its parameters and its optimiser."""

    x: Tensor
    """`[P]`"""
    optimizer: OptimiserState

    @classmethod
    def after(cls, plan: Plan) -> "Branch":
        """Return the branch after a planned window."""
        return cls(plan.final.x, plan.optimizer_state)

    def params(self, layout: Layout) -> dict[str, Tensor]:
        """Return the branch's parameters by name."""
        return layout.unflatten(self.x)


@dataclass(eq=False)
class Heat:
    """A race that is being run."""

    trained: int = 0
    """mini-batches of it so far"""
    scores: dict[str, list[list[float]]] = field(default_factory=dict)
    """each arm's scores on the judges, look by look"""
    branches: dict[str, Branch] = field(default_factory=dict)
    """those of the arms that still run, but not the leader's, which is the training itself"""
    halved: bool = False
    metric: str = ACCURACY
    """what the scores are"""


@dataclass(eq=False)
class RaceMemory:
    """The memory of a race between two windows."""

    leader: str
    step: int = 0
    """mini-batches seen"""
    heats: int = 0
    """heats that are over"""
    rules: dict[str, Memory] = field(default_factory=dict)
    """what each arm remembers itself"""
    gains: dict[str, float] = field(default_factory=dict)
    """what each arm gained over the baseline in the last heat that it took part in"""
    heat: Heat | None = None

    def as_state(self) -> Memory:
        """Return the state for `plan(state=...)` and a checkpoint."""
        state: Memory = {
            "leader": self.leader,
            "step": self.step,
            "heats": self.heats,
            "rules": self.rules,
            "gains": self.gains,
            "heat": None,
            TENSORS: {},
        }
        if self.heat is not None:
            branches = self.heat.branches
            state["heat"] = {
                "trained": self.heat.trained,
                "scores": self.heat.scores,
                "halved": self.heat.halved,
                "metric": self.heat.metric,
                "steps": {name: list(one.optimizer.steps) for name, one in branches.items()},
            }
            for name, one in branches.items():
                state[TENSORS][f"{name}/x"] = one.x
                for i, slot in enumerate(one.optimizer.slots):
                    state[TENSORS][f"{name}/slot{i}"] = slot
        return state

    @classmethod
    def of(
        cls, state: Mapping[str, Any] | None, rules: Collection[str], here: Branch
    ) -> "RaceMemory":
        """Read the state after the window before, or begin with the baseline as the leader.

        Args:
            state: what `as_state` returned, or None.
            rules: the names of the arms; the first leads before the first heat.
            here: the training itself, whose optimiser and shapes are those of every branch.

        Raises:
            ValueError: if the state is not that of a race of these arms.
        """
        baseline = next(iter(rules))
        if not state:
            return cls(baseline)
        expected = set(cls(baseline).as_state())
        if set(state) != expected:
            raise ValueError(
                f"The state of a race has the entries {sorted(state)}; expected "
                f"{sorted(expected)}, as in plan.weighter_state of the window before. Pass that, "
                "or None to begin anew."
            )
        try:
            memory = cls(
                str(state["leader"]),
                int(state["step"]),
                int(state["heats"]),
                dict(state["rules"]),
                dict(state["gains"]),
            )
            if state["heat"] is not None:
                memory.heat = _heat(state["heat"], state[TENSORS], here)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"The state of a race cannot be read ({one_line(error)}); expected what the "
                "race of these rules remembers, with the parameters of every branch. Go on from "
                "another checkpoint, or train again."
            ) from error
        arms = {memory.leader, *memory.rules, *(memory.heat.scores if memory.heat else ())}
        if not arms <= set(rules):
            raise ValueError(
                f"The state of a race is of the rules {', '.join(sorted(arms))}; expected "
                f"{', '.join(rules)}, as this race has. Use the rules that it began with."
            )
        return memory


def _heat(plain: Mapping[str, Any], tensors: Mapping[str, Tensor], here: Branch) -> Heat:
    optimizer = here.optimizer
    branches = {}
    for name, steps in plain["steps"].items():
        x = _like(here.x, tensors, f"{name}/x")
        slots = tuple(
            _like(slot, tensors, f"{name}/slot{i}") for i, slot in enumerate(optimizer.slots)
        )
        if len(steps) != len(optimizer.steps):
            raise ValueError(f"the branch {name} counts the steps of another model")
        branches[name] = Branch(x, replace(optimizer, slots=slots, steps=tuple(steps)))
    scores = {name: [list(look) for look in looks] for name, looks in plain["scores"].items()}
    halved, metric = bool(plain["halved"]), str(plain["metric"])
    return Heat(int(plain["trained"]), scores, branches, halved, metric)


def _like(own: Tensor, tensors: Mapping[str, Tensor], name: str) -> Tensor:
    """Return a tensor of a branch; raise ValueError if it is missing or not like the model's own.

    Args:
        own: the training's own tensor of the same kind.
        tensors: the tensors of the state.
        name: the name of the tensor among them.
    """
    found = tensors.get(name)
    if found is None or (found.shape, found.dtype) != (own.shape, own.dtype):
        what = "missing" if found is None else f"{found.dtype} {list(found.shape)}"
        raise ValueError(f"the tensor {name} is {what}, not {own.dtype} {list(own.shape)}")
    return found
