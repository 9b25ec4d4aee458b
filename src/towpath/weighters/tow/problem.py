"""Training on a window of tasks, seen as a control problem.

Dynamics tasks D_t are the window's; cost tasks C_t are the window's own at x_t (the paper), or
trusted targets at the state after the step:

    without targets   C_t = D_t for t = 1..T                  (replay: and C_{T+1} = D_T)
    with targets      C_{t+1} = targets_t for t = 1..T, C_1 empty

The step that the solver linearises and the step that training takes are one function. What is
evaluated at a state is in `evaluation`, how a rollout is modelled in `modelling`; which losses
count, and on how much of the query sets, are objects of `cost` and `part`.

Where several ranks share the tasks, each holds the whole state and steps it, but models its own
coordinates of it only. A rollout that will not be modelled needs no single gradient, only
their weighted sum.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from towpath.control import Allows, ExactGradients, GoesOn, Model, Policy, Trajectory
from towpath.dynamics import State
from towpath.objective import Columns, Evaluation
from towpath.weighters.muted import Muted
from towpath.weighters.rules.targets import BadTargetsError
from towpath.weighters.tow.evaluation import (
    Evaluator,
    own_cost,
    step_curvature,
    weighted_curvature,
)
from towpath.weighters.tow.modelling import Modeller
from towpath.weighters.tow.rollout import CostTerms, Rollout, StagePoint, Walk, coordinates
from towpath.weighters.tow.setting import Setting

Decide = Callable[[int, State, Evaluation], Tensor]
"""(stage t, whole state before the step, mini-batch as evaluated there) -> weights [M], float64."""


def nonnegative(action: Tensor) -> bool:
    """Return whether every entry of an action is at least 0."""
    return not bool((action < 0).any())


class WindowProblem:
    """`towpath.control.Problem` for an objective, an optimiser and a window of tasks."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.evaluator = Evaluator(setting)
        self.modeller = Modeller(setting)

    @property
    def epsilon(self) -> float:
        """The rounding unit of the dtype of the parameters."""
        return float(torch.finfo(self.setting.start.state.x.dtype).eps)

    def model(self, trajectory: Trajectory[Rollout], *, last: bool = False) -> Model:
        """Return the model of a trajectory; free what it reads if this is the last one."""
        return self.modeller.model(trajectory, last=last)

    def rollout(
        self,
        policy: Policy,
        *,
        derivatives: bool,
        allows: Allows = nonnegative,
        goes_on: GoesOn | None = None,
        decide: Decide | None = None,
    ) -> Trajectory[Rollout]:
        """Train through the window with the policy's weights.

        Args:
            policy: the actions, from the mini-batch's number and the state.
            derivatives: whether the trajectory will be modelled.
            allows: whether an action is feasible; the rollout ends where one is not.
            goes_on: whether it is worth going on after a step, from the losses that count so far.
            decide: may change the weights when the mini-batch was evaluated.
        """
        setting = self.setting
        walk = Walk(
            setting.start.state,
            setting.start.buffers,
            derivatives,
            setting.view.trains(derivatives=derivatives),
        )
        T, M = setting.shape
        for t in range(T):
            on = self._stage(walk, t, policy, allows, decide) and self._cost_after(walk, t)
            if on and goes_on is not None and t < T - 1 and not goes_on(walk.counted):
                walk.complete = on = False
            if not on:
                break
        return walk.trajectory(M)

    def _stage(
        self, walk: Walk, t: int, policy: Policy, allows: Allows, decide: Decide | None
    ) -> bool:
        """Evaluate mini-batch t and step; return whether the rollout may go on."""
        setting, state = self.setting, walk.state
        own = setting.own(state)
        u = policy(t, coordinates(own, frozen=setting.modelling.frozen_moments)).to(state.x)
        if not allows(u):
            walk.feasible = False
            return False
        w = setting.modelling.actions.weights(u, setting.held_at(t))
        undecided = decide is not None and walk.derivatives
        answer = self.evaluator.stage(
            t,
            state,
            walk.buffers,
            None if undecided else w,
            derivatives=walk.derivatives,
            columns=decide is not None,
        )
        here, walk.buffers = answer.here, answer.buffers
        walk.work = walk.work + answer.work
        walk.bad = Muted(tasks=frozenset((t, i) for i in here.bad_indices()))
        if decide is not None and not walk.bad:
            try:
                u = w = decide(t, state, here).to(state.x)
            except BadTargetsError as error:
                walk.bad = Muted(targets=frozenset((t, i) for i in error.indices))
                walk.finite = False
                return False
            if undecided:
                counts = setting.cost.counts(t, setting.shape[0])
                here = weighted_curvature(here, w, counts=counts)
        gradient = here.held.weighted(w)
        after = setting.start.optimizer.stage(t).step(state, gradient)
        walk.actions.append(u)
        walk.weights.append(w)
        walk.losses.append(here.losses)
        walk.accuracies.append(here.accuracies)
        walk.finite = not walk.bad and after.is_finite()
        if not walk.finite:
            return False
        self._note_cost(walk, t, here)
        if walk.derivatives:
            walk.points.append(self._point(t, w, here, walk.pending, state.x))
        walk.state, walk.pending = after, None
        return True

    def _note_cost(self, walk: Walk, t: int, here: Evaluation) -> None:
        """Record the mini-batch's own losses if they are part of the cost."""
        setting = self.setting
        if not setting.cost.counts(t, setting.shape[0]):
            walk.counted.append(here.losses.double()[:0])
            return
        walk.counted.append(setting.view.counted(t, here, trains=walk.trains))
        if walk.derivatives:
            walk.pending = own_cost(here).plus(walk.pending, here.held.values)

    def _cost_after(self, walk: Walk, t: int) -> bool:
        """Evaluate the cost after mini-batch t; return whether the rollout may go on."""
        setting = self.setting
        asked = setting.cost.after(t, setting.view, setting.muted)
        if asked is None:
            return True
        answer = self.evaluator.cost(t, walk.state, asked, derivatives=walk.derivatives)
        walk.pending = answer.terms
        walk.work = walk.work + answer.work
        walk.counted.append(answer.losses)
        walk.doubtful = walk.doubtful | setting.cost.muting(t, answer.bad)
        walk.finite = bool(torch.isfinite(answer.losses).all())
        return walk.finite

    def _point(
        self, t: int, w: Tensor, here: Evaluation, cost: CostTerms | None, x: Tensor
    ) -> StagePoint:
        """Return the data for a stage's model, at the rank's own coordinates."""
        assert isinstance(here.held, Columns)
        modelling, J = self.setting.modelling, here.held.values
        # every rollout shares the first evaluation, so that a second form would only add to it
        stored = modelling.stored(J) if t else ExactGradients(J)
        whole_x = x if modelling.exact_adjoint else None
        return StagePoint(w, stored, step_curvature(here), cost, whole_x)
