"""From a rollout to its linear-quadratic model: steps are linearised, costs made quadratic.

Where several ranks share the tasks, each models its own coordinates only: gradients `[M, c]`, cost
terms and the states of a trajectory are parts, and the solver's few sums over coordinates are added
up over the ranks.
"""

import torch
from torch import Tensor

from towpath.control import ExactProduct, Model, StageModel, TerminalCost, Trajectory
from towpath.control.stage import Product
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

    def model(
        self, trajectory: Trajectory[Rollout], *, last: bool = False, states: bool = True
    ) -> Model:
        """Return the model of a trajectory; free its derivatives if this is the `last` one."""
        terminal, points = trajectory.kept.terminal, trajectory.kept.points
        if last and not states:
            assert isinstance(trajectory.states, Coordinates)
            trajectory.states.states.clear()
        stages: list[StageModel] = []
        for t in range(len(points)):
            stages.append(self._stage(t, points[0 if last else t]))
            if last:
                del points[0]
        end = None if terminal is None else TerminalCost(terminal.c_x, terminal.C_xx)
        return Model(stages, end, self.setting.ranks.total, self.setting.held)

    def half_models(self, trajectory: Trajectory[Rollout], model: Model) -> tuple[Model, Model]:
        """Return the models whose cost is that of the first and of the second half of the tasks."""
        rollout = trajectory.kept
        zero = torch.zeros_like(model.stages[0].c_x)

        def gradient(terms: CostTerms | None, half: int) -> Tensor:
            """Return the gradient of one half of a stage's cost."""
            return zero if terms is None or terms.halves is None else terms.halves[half]

        def with_half(half: int) -> Model:
            """Return the model with one half of the cost."""
            stages = [
                StageModel(stage.A, stage.b, stage.J, gradient(point.cost, half), stage.C_xx)
                for stage, point in zip(model.stages, rollout.points, strict=True)
            ]
            end = TerminalCost(gradient(rollout.terminal, half), zero)
            return Model(stages, end, self.setting.ranks.total, self.setting.held)

        return with_half(0), with_half(1)

    def _own_dynamics(self, t: int) -> Dynamics:
        """Return the dynamics of step t at the rank's own coordinates."""
        ranks, start = self.setting.ranks, self.setting.start
        return start.optimizer.stage(t).restricted(ranks.bounds(start.layout.total), ranks.total)

    def linearise(self, t: int, state: State, gradient: Tensor) -> Linearisation:
        """Return A and b of step t at the rank's own coordinates; x alone for frozen moments."""
        lin = self._own_dynamics(t).linearise(state, gradient)
        return lin.frozen() if self.setting.modelling.frozen_moments else lin

    def moved(self, t: int, state: State, gradient: Tensor) -> Tensor:
        """Return the difference `[k, P]` between step t on the gradient and one on zero.

        It is taken at the rank's own coordinates.
        """
        step, frozen = self._own_dynamics(t).step, self.setting.modelling.frozen_moments
        after, idle = step(state, gradient), step(state, torch.zeros_like(gradient))
        return coordinates(after, frozen=frozen) - coordinates(idle, frozen=frozen)

    def _stage(self, t: int, point: StagePoint) -> StageModel:
        modelling = self.setting.modelling
        lin = self.linearise(t, point.state, point.gradient)
        A, removal = lin.A, lin.removal
        # the diagonal of R gam: the costate alone has the rest of R (`_through_clipping`)
        gam = point.gam if removal is None else removal.diagonal * point.gam
        if t > 0:
            A[:, 0] += lin.b * gam
        zero = torch.zeros_like(gam)
        cost, exact = point.cost, None
        if modelling.exact_adjoint and t > 0:
            exact = ExactProduct(self._hessian_product(t, point), gam)
        elif removal is not None and t > 0:
            exact = ExactProduct(_product_with(point.gam), gam)
        if exact is not None and removal is not None:
            exact = _through_clipping(exact, removal)
        return StageModel(
            A,
            lin.b,
            lin.removed(modelling.actions.through(point.J, point.weights)),
            zero if cost is None else cost.c_x,
            zero if cost is None else cost.C_xx,
            exact,
        )

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


def _product_with(gam: Tensor) -> Product:
    """Return the product with the diagonal model of the Hessian."""
    return lambda y: gam * y


def _through_clipping(exact: ExactProduct, removal: Removal) -> ExactProduct:
    """Return the product with the Hessian of a clipped gradient, `Hessian R y`."""
    product = exact.product
    return ExactProduct(lambda y: product(removal.applied(y)), exact.gam)
