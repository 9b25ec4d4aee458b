"""From a rollout to its linear-quadratic model: steps are linearised, costs made quadratic.

Where several ranks share the tasks, each models its own coordinates only: gradients `[M, c]`, cost
terms and the states of a trajectory are parts, and the solver's few sums over coordinates are added
up over the ranks.

The Jacobians of a step are made from the state and the gradients where a solver asks for them: for
Adam they are twelve numbers a coordinate, more than the gradients of ten tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from towpath.control import (
    EVERYTHING,
    ExactProduct,
    Gradients,
    Model,
    Stage,
    StageModel,
    TerminalCost,
    Trajectory,
)
from towpath.control.stage import CostShare, Product
from towpath.dynamics import Dynamics, Linearisation, State
from towpath.dynamics.state import Removal
from towpath.weighters.tow.rollout import Coordinates, CostTerms, Rollout, StagePoint, coordinates
from towpath.weighters.tow.setting import Setting


class Modeller:
    """Makes linear-quadratic models of the rollouts of one setting."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.products = 0
        """Hessian products of single tasks so far: what the exact adjoint costs."""

    def model(self, trajectory: Trajectory[Rollout], *, last: bool = False) -> Model:
        """Return the model of a trajectory; free its derivatives if this is the `last` one."""
        terminal, points = trajectory.kept.terminal, list(trajectory.kept.points)
        if last:
            trajectory.kept.points.clear()
        states = self._states(points)
        # one after another: a clipped stage has a J of its own, and frees that of its point
        stages = [self._stage(t, points.pop(0), state) for t, state in enumerate(states)]
        end = None if terminal is None else TerminalCost(_gradient(terminal), terminal.C_xx)
        frozen = self.setting.modelling.frozen_moments
        return Model(
            stages,
            end,
            self.setting.ranks.total,
            self.setting.held,
            Coordinates(states, frozen=frozen),
        )

    def _states(self, points: Sequence[StagePoint]) -> list[State]:
        """Return the states before each stage: the steps of the rollout, taken again.

        A rollout does not store them, because trials would need memory for those of two.
        """
        states = [self.setting.own(self.setting.start.state)]
        for t, point in enumerate(points[:-1]):
            gradient = point.J.weighted(point.weights)
            states.append(self._own_dynamics(t).step(states[-1], gradient))
        return states

    def halves(self, trajectory: Trajectory[Rollout]) -> list[CostShare]:
        """Return the cost of the first and of the second half of the tasks."""
        points, terminal = trajectory.kept.points, trajectory.kept.terminal
        zero = torch.zeros_like(points[0].gam)

        def gradient(terms: CostTerms | None, half: int) -> Tensor:
            """Return the gradient of one half of a stage's cost."""
            return zero if terms is None or terms.halves is None else terms.halves[half]

        return [
            CostShare([gradient(point.cost, half) for point in points], gradient(terminal, half))
            for half in (0, 1)
        ]

    def _own_dynamics(self, t: int, at: slice = EVERYTHING) -> Dynamics:
        """Return the dynamics of step t at some of the rank's own coordinates."""
        ranks, start = self.setting.ranks, self.setting.start
        first, end = ranks.bounds(start.layout.total)
        lowest, highest, _ = at.indices(end - first)
        part = (first + lowest, first + highest)
        return start.optimizer.stage(t).restricted(part, ranks.total)

    def linearise(
        self, t: int, state: State, gradient: Tensor, at: slice = EVERYTHING
    ) -> Linearisation:
        """Return A and b of step t at some of the rank's own coordinates.

        Args:
            t: the number of the step.
            state: the state before it, at these coordinates; x alone counts for frozen moments.
            gradient: the gradient there.
            at: the coordinates.
        """
        lin = self._own_dynamics(t, at).linearise(state, gradient)
        return lin.frozen() if self.setting.modelling.frozen_moments else lin

    def moved(self, t: int, state: State, gradient: Tensor) -> Tensor:
        """Return the difference `[k, P]` between step t on the gradient and one on zero.

        It is taken at the rank's own coordinates.
        """
        step, frozen = self._own_dynamics(t).step, self.setting.modelling.frozen_moments
        after, idle = step(state, gradient), step(state, torch.zeros_like(gradient))
        return coordinates(after, frozen=frozen) - coordinates(idle, frozen=frozen)

    def _stage(self, t: int, point: StagePoint, state: State) -> Stage:
        cost, zero = point.cost, torch.zeros_like(point.gam)
        terms = CostTerms(zero, zero) if cost is None else cost
        clip = self._own_dynamics(t).clip
        if clip is not None and clip.mixes:
            return self._clipped(t, point, state, terms)
        exact = None
        if self.setting.modelling.exact_adjoint and t > 0:
            exact = ExactProduct(self._hessian_product(t, point), point.gam)
        return PointStage(self, t, point, state, terms.c_x, terms.C_xx, exact)

    def _clipped(self, t: int, point: StagePoint, state: State, terms: CostTerms) -> StageModel:
        """Return the model of a stage whose step mixes coordinates, for all of them at once."""
        modelling, whole = self.setting.modelling, point.J.part(EVERYTHING)
        lin = self.linearise(t, state, point.weights @ whole)
        A, removal = lin.A, lin.removal
        # the diagonal of R gam: the costate alone has the rest of R (`_through_clipping`)
        gam = point.gam if removal is None else removal.diagonal * point.gam
        exact = None
        if t > 0:
            A[:, 0] += lin.b * gam
        if modelling.exact_adjoint and t > 0:
            exact = ExactProduct(self._hessian_product(t, point), gam)
        elif removal is not None and t > 0:
            exact = ExactProduct(_product_with(point.gam), gam)
        if exact is not None and removal is not None:
            exact = _through_clipping(exact, removal)
        J = lin.removed(modelling.actions.through(whole, point.weights))
        c_x = whole.sum(0) if terms.c_x is None else terms.c_x
        return StageModel(A, lin.b, J, c_x, terms.C_xx, exact)

    def _hessian_product(self, t: int, point: StagePoint) -> Product:
        assert point.whole_x is not None
        setting = self.setting
        x, weights = point.whole_x, point.weights  # the point would keep gradients in memory

        def product(y: Tensor) -> Tensor:
            """Return the Hessian product of the stage's weighted loss with y."""
            params = setting.start.layout.unflatten(x)
            skip, tasks = setting.muted.at(t), setting.view.seen(t)
            self.products += len(tasks) - len(skip)
            return setting.start.untouched(
                lambda: setting.objective.product(
                    params, tasks, weights, y, skip=skip, seed=setting.seeds[t]
                )
            )

        return product


@dataclass(frozen=True, eq=False)
class PointStage:
    """The model of a stage whose step leaves coordinates apart, made from the stage's data."""

    modeller: Modeller
    t: int
    point: StagePoint
    state: State
    c_x: Tensor | None
    """None for the sum of the gradients J"""
    C_xx: Tensor
    exact: ExactProduct | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """The sizes M, k and P."""
        frozen = self.modeller.setting.modelling.frozen_moments
        M, P = self.point.J.shape
        return M, 1 if frozen else 1 + len(self.state.slots), P

    @property
    def gradients(self) -> Gradients:
        """The gradients J of the tasks, or those in the actions that the weights follow from."""
        actions = self.modeller.setting.modelling.actions
        return actions.gradients(self.point.J, self.point.weights)

    def with_gradient(self, c_x: Tensor) -> "PointStage":
        """Return the stage with another gradient of its cost, and without an exact product."""
        return replace(self, c_x=c_x, exact=None)

    def part(self, at: slice) -> StageModel:
        """Return the model at some coordinates; only that of `EVERYTHING` has the exact product."""
        point, modeller = self.point, self.modeller
        J = point.J.part(at)
        lin = modeller.linearise(self.t, self.state.part(at), point.weights @ J, at)
        if self.t > 0:
            lin.A[:, 0] += lin.b * point.gam[at]
        through = modeller.setting.modelling.actions.through(J, point.weights)
        c_x = J.sum(0) if self.c_x is None else self.c_x[at]
        exact = self.exact if at == EVERYTHING else None
        return StageModel(lin.A, lin.b, through, c_x, self.C_xx[at], exact)


def _gradient(terms: CostTerms) -> Tensor:
    """Return the gradient of a cost after the last step, which has no tasks of a step's own."""
    assert terms.c_x is not None
    return terms.c_x


def _product_with(gam: Tensor) -> Product:
    """Return the product with the diagonal model of the Hessian."""
    return lambda y: gam * y


def _through_clipping(exact: ExactProduct, removal: Removal) -> ExactProduct:
    """Return the product with the Hessian of a clipped gradient, `Hessian R y`."""
    product = exact.product
    return ExactProduct(lambda y: product(removal.applied(y)), exact.gam)
