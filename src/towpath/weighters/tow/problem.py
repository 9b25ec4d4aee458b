"""Training on a window of tasks, seen as a control problem.

Dynamics tasks D_t are the window's; cost tasks C_t are the window's own at x_t (the paper), or
trusted targets at the state after the step:

    without targets   C_t = D_t for t = 1..T                  (replay: and C_{T+1} = D_T)
    with targets      C_{t+1} = targets_t for t = 1..T, C_1 empty

The step that the solver linearises and the step that training takes are one function. Stage 1 is
evaluated once: its state is given, and its curvature enters nothing.

Planning on a part (`share` < 1): a trajectory that will be modelled is rolled out on a share of
each query set, stages 2..T; the last one is the training itself, on whole tasks, and watches the
loss of every other task's part, so that costs are compared on the same images. The first of these
stages may be left out (`coasting`): they say nothing, and the optimiser goes on by its momentum.

Where several ranks share the tasks, each holds the whole state and steps it, but models its own
coordinates of it only: gradients `[M, c]`, cost terms and the states of a trajectory are parts, and
the solver's few sums over coordinates are added up over the ranks. A rollout that nobody will model
needs no single gradient, only their weighted sum.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from towpath.control import (
    ExactProduct,
    Model,
    Policy,
    StageModel,
    TerminalCost,
    Trajectory,
    Work,
)
from towpath.dynamics import Linearisation, State, restricted
from towpath.objective import Columns, Curvature, CurvatureKind, Evaluation, Objective
from towpath.objective.draws import derived_seed
from towpath.objective.live import Values
from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.start import Start
from towpath.weighters.tow.rollout import (
    Coordinates,
    CostTerms,
    Rollout,
    StagePoint,
    coordinates,
    stacked_accuracies,
)

Decide = Callable[[int, State, Tensor], Tensor]
"""(stage t, state before the step, gradients [M, P]) -> weights [M], float64; state and gradients
at the rank's own coordinates."""


def stage_seed(seed: int, stage: int) -> int:
    """One seed per window and stage: the same masks and signs wherever costs are compared."""
    return derived_seed(seed, stage)


class WindowProblem:
    """`towpath.control.Problem` for an objective, an optimiser and a window of tasks."""

    def __init__(
        self,
        objective: Objective,
        start: Start,
        window: Sequence[Sequence[Any]],
        targets: Sequence[Sequence[Any]] | None = None,
        *,
        curvature: CurvatureKind = "none",
        probes: int = 1,
        exact_adjoint: bool = False,
        frozen_moments: bool = False,
        replay: bool = False,
        softmax: bool = False,
        muted: Muted = NOTHING_MUTED,
        share: float = 1.0,
        coasting: int = 0,
        seed: int = 0,
    ) -> None:
        self.objective, self.start = objective, start
        self.ranks = objective.ranks
        own = self.ranks.bounds(start.layout.total)
        self._own_dynamics = restricted(start.optimizer.dynamics, own)
        self.window, self.targets = window, targets
        self.curvature, self.probes = curvature, probes
        self.exact_adjoint, self.frozen_moments = exact_adjoint, frozen_moments
        self.replay, self.softmax = replay, softmax
        self.muted = muted
        self.held = muted.held(len(window), len(window[0]))
        self.parts: Sequence[Sequence[Any]] | None = None
        if share < 1:
            self.parts = [[objective.part(task, share) for task in batch] for batch in window]
        self.coasts = range(1, 1 + coasting)
        """stages that a rollout on parts does not look at: their cost is unknown to it"""
        self.seeds = [stage_seed(seed, t) for t in range(len(window) + 1)]
        self._first: tuple[Evaluation, Values] | None = None
        self.products = 0
        """Hessian products of single tasks so far: what the exact adjoint costs."""

    @property
    def epsilon(self) -> float:
        """Rounding unit of the parameters."""
        return float(torch.finfo(self.start.state.x.dtype).eps)

    def rollout(
        self,
        policy: Policy,
        *,
        derivatives: bool,
        nonnegative: bool = True,
        decide: Decide | None = None,
    ) -> Trajectory:
        """Train through the window with the policy's weights; `decide` may change them when the
        mini-batch's gradients are known."""
        planning = derivatives and self.parts is not None
        state, buffers = self.start.state, self.start.buffers
        work = Work()
        actions: list[Tensor] = []
        weights: list[Tensor] = []
        states: list[State] = []
        counted: list[Tensor] = []
        losses: list[Tensor] = []
        accuracies: list[Tensor | None] = []
        points: list[StagePoint] = []
        terminal: CostTerms | None = None
        pending: CostTerms | None = None
        finite = feasible = True
        bad = doubtful = NOTHING_MUTED
        for t in range(len(self.window)):
            part = self._own(state)
            u = policy(t, coordinates(part, frozen=self.frozen_moments)).to(state.x)
            if nonnegative and bool((u < 0).any()):
                feasible = False
                break
            w = self.softmaxed(u, t) if self.softmax else u
            here, buffers, done = self._evaluate_stage(
                t, state, buffers, w, derivatives, decide is not None
            )
            work = work + done
            bad = Muted(tasks=frozenset((t, i) for i in here.bad_indices()))
            if decide is not None and not bad:
                u = w = decide(t, part, here.held.values).to(state.x)
            gradient = here.held.weighted(w)
            after = self.start.optimizer.dynamics.step(state, gradient)
            actions.append(u)
            weights.append(w)
            losses.append(here.losses)
            accuracies.append(here.accuracies)
            finite = not bad and after.is_finite()
            if not finite:
                break
            if derivatives:
                states.append(part)
                cost = pending if self.targets is not None else _own_cost(here)
                points.append(self._point(part, w, gradient, here, cost, state.x))
            if self.targets is None:
                counted.append(self._counted(t, here, planning))
            state = after
            extra = self._tasks_after(t)
            pending = None
            if extra:
                pending, losses_after, done, wrong = self._evaluate_cost(
                    t, state, extra, derivatives
                )
                work = work + done
                counted.append(losses_after)
                doubtful = doubtful | self._muting(t, wrong)
                finite = bool(torch.isfinite(losses_after).all())
                if not finite:
                    break
        if derivatives:
            terminal = pending
        rows = torch.stack(actions) if actions else state.x.new_zeros(0, len(self.window[0]))
        return Trajectory(
            actions=rows,
            states=Coordinates(states, frozen=self.frozen_moments),
            state_costs=[float(row.sum()) for row in counted],
            finite=finite,
            feasible=feasible,
            work=work,
            payload=Rollout(
                final=state,
                losses=torch.stack(losses) if losses else rows,
                accuracies=stacked_accuracies(accuracies),
                weights=torch.stack(weights) if weights else rows,
                points=points,
                terminal=terminal,
                bad=bad | doubtful,
                counted=counted,
                buffers=buffers,
                trained=not planning,
            ),
        )

    def _muting(self, t: int, wrong: Sequence[int]) -> Muted:
        """What to leave out where tasks of the cost after stage t are not finite."""
        places = frozenset((t, i) for i in wrong)
        return Muted(tasks=places) if self.targets is None else Muted(targets=places)

    def softmaxed(self, logits: Tensor, t: int) -> Tensor:
        """Weights of mini-batch t that sum to 1 over the tasks that have an effect."""
        if self.held is not None:
            logits = logits.masked_fill(self.held[t].to(logits.device), -torch.inf)
        return logits.softmax(-1)

    def _own(self, state: State) -> State:
        """The state at the rank's own coordinates."""
        if self.ranks.size == 1:
            return state
        slots = tuple(self.ranks.part(slot) for slot in state.slots)
        return State(self.ranks.part(state.x), slots, state.steps)

    def _point(
        self,
        part: State,
        w: Tensor,
        gradient: Tensor,
        here: Evaluation,
        cost: CostTerms | None,
        x: Tensor,
    ) -> StagePoint:
        assert isinstance(here.held, Columns)
        whole_x = x if self.exact_adjoint else None
        J = here.held.values
        return StagePoint(part, w, self.ranks.part(gradient), J, _gam(here), cost, whole_x)

    def model(self, trajectory: Trajectory, *, last: bool = False, states: bool = True) -> Model:
        """Linearise each step, quadraticise each cost; free what is read if this is the last."""
        rollout: Rollout = trajectory.payload
        terminal = rollout.terminal
        points = rollout.points
        if last and not states:
            assert isinstance(trajectory.states, Coordinates)
            trajectory.states.states.clear()
        stages: list[StageModel] = []
        for t in range(len(points)):
            stages.append(self._stage_model(t, points[0 if last else t]))
            if last:
                del points[0]
        end = None if terminal is None else TerminalCost(terminal.c_x, terminal.C_xx)
        return Model(stages, end, self.ranks.total, self.held)

    def moved(self, state: State, gradient: Tensor) -> Tensor:
        """How far `[k, P]` a step on the gradient leads beyond one on none, at the rank's own
        coordinates."""
        step, frozen = self._own_dynamics.step, self.frozen_moments
        after, idle = step(state, gradient), step(state, torch.zeros_like(gradient))
        return coordinates(after, frozen=frozen) - coordinates(idle, frozen=frozen)

    def linearise(self, state: State, gradient: Tensor) -> Linearisation:
        """A and b of one step at the rank's own coordinates; x alone where the moments are
        frozen."""
        lin = self._own_dynamics.linearise(state, gradient)
        return lin.frozen() if self.frozen_moments else lin

    def half_models(self, trajectory: Trajectory, model: Model) -> tuple[Model, Model]:
        """The model with the cost of one half of the targets, and of the other."""
        rollout: Rollout = trajectory.payload
        zero = torch.zeros_like(model.stages[0].c_x)

        def gradient(terms: CostTerms | None, half: int) -> Tensor:
            return zero if terms is None or terms.halves is None else terms.halves[half]

        def with_half(half: int) -> Model:
            stages = [
                StageModel(stage.A, stage.b, stage.J, gradient(point.cost, half), stage.C_xx)
                for stage, point in zip(model.stages, rollout.points, strict=True)
            ]
            end = TerminalCost(gradient(rollout.terminal, half), zero)
            return Model(stages, end, self.ranks.total, self.held)

        return with_half(0), with_half(1)

    def _tasks_after(self, t: int) -> Sequence[Any]:
        """Tasks whose cost is counted at the state after stage t."""
        if self.targets is not None:
            return self.targets[t]
        if not self.replay or t < len(self.window) - 1:
            return ()
        return self.window[t] if self.parts is None else self.parts[t]

    def _evaluate_stage(
        self,
        t: int,
        state: State,
        buffers: Values,
        w: Tensor,
        derivatives: bool,
        columns: bool,
    ) -> tuple[Evaluation, Values, Work]:
        """What the mini-batch says, and the model's buffers after its passes."""
        if t == 0 and self._first is not None:
            return *self._first, Work()
        tasks: Sequence[Any] = self.window[t]
        watched: Sequence[Any] | None = None
        in_part = False
        if self.parts is not None and t > 0:
            if derivatives:
                if t in self.coasts:
                    return self._nothing_said(state, w), buffers, Work()
                tasks, in_part = self.parts[t], True
            elif self.targets is None and t not in self.coasts:
                seen = self._watched(t)
                watched = [p if i in seen else None for i, p in enumerate(self.parts[t])]
        curvature = None
        if derivatives and t > 0 and self.curvature != "none":
            rows = [w] if self.targets is not None else [w, torch.ones_like(w)]
            curvature = Curvature(self.curvature, torch.stack(rows), self.probes)
        columns = derivatives or t == 0 or columns
        evaluate = partial(
            self._ask,
            t,
            state,
            tasks,
            curvature=curvature,
            skip=self.muted.at(t),
            columns=columns,
            watched=watched,
        )
        if in_part:  # planned on, not trained on
            here = self.start.untouched(evaluate)
        else:
            here, buffers = self.start.training(buffers, evaluate, self.ranks)
        if t == 0:
            self._first = here, buffers
        sketches = len(tasks) * self.probes if curvature else 0
        return (
            here,
            buffers,
            Work(
                tasks=0 if in_part else len(tasks),
                sketches=sketches,
                parts=len(tasks) if in_part else 0,
            ),
        )

    def _nothing_said(self, state: State, w: Tensor) -> Evaluation:
        """No loss that is known, no gradient."""
        own = self._own(state).x
        columns = Columns(own.new_zeros(1, 1).expand(len(w), len(own)), len(state.x), self.ranks)
        unknown = torch.full_like(w, torch.nan)
        return Evaluation(unknown, torch.ones_like(w, dtype=torch.bool), columns, None, None)

    def _watched(self, t: int) -> range:
        """Tasks whose parts are watched at stage t: every other one says enough for a yes or no."""
        return range(t % 2 if len(self.window[t]) > 1 else 0, len(self.window[t]), 2)

    def _counted(self, t: int, here: Evaluation, planning: bool) -> Tensor:
        """Losses `[m]`, float64, whose sum estimates the mini-batch's; none where it is unknown."""
        if t in self.coasts:
            return here.losses.double()[: 0 if planning else None]
        if self.parts is None or t == 0:
            return here.losses.double()
        seen = self._watched(t)
        losses = here.losses if here.watched is None else here.watched
        return losses.double()[seen.start :: seen.step] * (len(losses) / len(seen))

    def _evaluate_cost(
        self, t: int, state: State, tasks: Sequence[Any], derivatives: bool
    ) -> tuple[CostTerms | None, Tensor, Work, list[int]]:
        curvature = None
        if derivatives and self.curvature != "none":
            ones = state.x.new_ones(1, len(tasks))
            curvature = Curvature(self.curvature, ones, self.probes)
        # t + 1: the cost at x_{t+1} shares the masks of the stage that starts there
        skip = self.muted.targets_at(t) if self.targets is not None else self.muted.at(t)
        here = self.start.untouched(
            partial(
                self._ask,
                t + 1,
                state,
                tasks,
                curvature=curvature,
                skip=skip,
                gradients=derivatives,
                columns=True,
                all_used=False,
            )
        )
        in_part = self.targets is None and self.parts is not None
        work = Work(
            tasks=0 if in_part else len(tasks),
            sketches=len(tasks) * self.probes if curvature else 0,
            parts=len(tasks) if in_part else 0,
        )
        losses = here.losses.double()
        # a gradient that is not finite leaves the trajectory finite: the model will say so
        wrong = here.bad_indices()
        if not derivatives:
            return None, losses, work, wrong
        assert isinstance(here.held, Columns)
        J = here.held.values
        # alternate the first member, so that one target a mini-batch still makes two halves
        first = sum(1 for goals in (self.targets or ())[:t] if goals) % 2
        halves = torch.stack([J[first::2].sum(0), J[1 - first :: 2].sum(0)])
        C_xx = J.new_zeros(J.shape[1]) if here.curvature is None else here.curvature[0].clamp_min(0)
        return CostTerms(J.sum(0), C_xx, halves), losses, work, wrong

    def _ask(self, t: int, state: State, tasks: Sequence[Any], **options: Any) -> Evaluation:
        """The objective at a state, with the draws of stage t."""
        params = self.start.layout.unflatten(state.x)
        return self.objective.evaluate(params, tasks, seed=self.seeds[t], **options)

    def _stage_model(self, t: int, point: StagePoint) -> StageModel:
        lin = self.linearise(point.state, point.gradient)
        A = lin.A
        if t > 0:
            A[:, 0] += lin.b * point.gam
        J = point.J
        if self.softmax:  # dw/du = diag(w) - w w'
            J = point.weights[:, None] * (J - (point.weights @ J)[None])
        zero = torch.zeros_like(point.gam)
        cost = point.cost
        return StageModel(
            A,
            lin.b,
            J,
            zero if cost is None else cost.c_x,
            zero if cost is None else cost.C_xx,
            self._exact_product(t, point) if self.exact_adjoint and t > 0 else None,
        )

    def _exact_product(self, t: int, point: StagePoint) -> ExactProduct:
        assert point.whole_x is not None
        x, weights = point.whole_x, point.weights  # not the point, which holds the gradients

        def product(y: Tensor) -> Tensor:
            params = self.start.layout.unflatten(x)
            skip = self.muted.at(t)
            tasks = self.window[t] if self.parts is None else self.parts[t]
            self.products += len(tasks) - len(skip)
            return self.start.untouched(
                lambda: self.objective.product(
                    params, tasks, weights, y, skip=skip, seed=self.seeds[t]
                )
            )

        return ExactProduct(product, point.gam)


def _gam(here: Evaluation) -> Tensor:
    """Curvature of the weighted loss at the rank's own coordinates: row 0 of the sums."""
    J = here.held.values
    return J.new_zeros(J.shape[1]) if here.curvature is None else here.curvature[0]


def _own_cost(here: Evaluation) -> CostTerms:
    J = here.held.values
    # Hutchinson may be negative: the cost is kept convex, the dynamics keep the sign
    # (in place: the row is this stage's own, and a copy would be one of the largest things kept)
    C_xx = J.new_zeros(J.shape[1]) if here.curvature is None else here.curvature[1].clamp_min_(0)
    return CostTerms(J.sum(0), C_xx)
