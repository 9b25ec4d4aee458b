"""The setting of a plan: the window, the state of training, and how it is modelled."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from towpath.control import ExactGradients, StoredGradients
from towpath.distributed.ranks import Ranks
from towpath.dynamics import State
from towpath.objective import Curvature, CurvatureKind, Objective
from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.seeds import stage_seed
from towpath.weighters.start import Start
from towpath.weighters.tow.actions import Actions, WeightActions
from towpath.weighters.tow.cost import Cost, OwnTasks
from towpath.weighters.tow.part import View


@dataclass(frozen=True)
class Modelling:
    """Options that determine how a trajectory becomes a linear-quadratic model."""

    curvature: CurvatureKind = "none"
    probes: int = 1
    exact_adjoint: bool = False
    """whether costates use the true Hessian in place of the diagonal model"""
    frozen_moments: bool = False
    """whether the optimiser's moments are treated as fixed (the paper)"""
    actions: Actions = field(default_factory=WeightActions)
    stored: Callable[[Tensor], StoredGradients] = ExactGradients
    """how the gradients J of a rollout are stored until it is modelled"""

    def curvature_of(self, *rows: Tensor) -> Curvature | None:
        """Return a request for the tasks' curvature, one sum for each row `[M]` of weights."""
        if self.curvature == "none":
            return None
        return Curvature(self.curvature, torch.stack(rows), self.probes)


@dataclass(frozen=True, eq=False)
class Setting:
    """Everything that defines the control problem of training on a window."""

    objective: Objective
    start: Start
    view: View
    cost: Cost = field(default_factory=OwnTasks)
    modelling: Modelling = field(default_factory=Modelling)
    muted: Muted = NOTHING_MUTED
    seed: int = 0
    aside: frozenset[str] = frozenset()
    """parameters without a costate: what is evaluated to plan alone has no gradient in them"""

    @property
    def shape(self) -> tuple[int, int]:
        """The number T of mini-batches and the number M of tasks in each."""
        return len(self.view.window), len(self.view.window[0])

    @property
    def ranks(self) -> Ranks:
        """The processes that share the tasks and the coordinates."""
        return self.objective.ranks

    @cached_property
    def held(self) -> Tensor | None:
        """A mask `[T, M]` of tasks without any effect; None if every task has one."""
        return self.muted.held(*self.shape)

    def held_at(self, t: int) -> Tensor | None:
        """Return the mask `[M]` of tasks without effect in mini-batch t, or None."""
        return None if self.held is None else self.held[t]

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds of the T mini-batches and of the state after them."""
        return [stage_seed(self.seed, t) for t in range(self.shape[0] + 1)]

    def own(self, state: State) -> State:
        """Return the state at the rank's own coordinates."""
        if self.ranks.size == 1:
            return state
        slots = tuple(self.ranks.part(slot) for slot in state.slots)
        return State(self.ranks.part(state.x), slots, state.steps)
