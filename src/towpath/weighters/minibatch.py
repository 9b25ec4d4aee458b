"""Weighters that look at one mini-batch at a time.

Such a weighter is one method, `weights(losses, gradients, infos, state) -> (weights, state)`; this
base class steps it through the T mini-batches of a window, so that every weighter has the same
`plan` call as TOW.

    losses     [M]      query loss of each task at the current parameters
    gradients  [M, P]   one row a task; [M, 0] for a weighter that says it does not look at them
    infos               the tasks' info dictionaries (group, classes, ...), empty for plain tasks
    state               what the weighter remembers: a dict of plain numbers, strings and lists
"""

import copy
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from towpath.control import Status
from towpath.curvature import Evaluation, Objective
from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.plan import BuffersMoved, Plan
from towpath.weighters.rollout import stacked_accuracies
from towpath.weighters.start import (
    ModelLike,
    OptimizerLike,
    Start,
    Window,
    check_call,
    checked_window,
)
from towpath.weighters.window import stage_seed


class MiniBatchWeighter(ABC):
    """Base of the weighters that decide mini-batch by mini-batch."""

    uses_gradients: ClassVar[bool] = True
    """False where `weights` does not look at the gradients: ranks that share the tasks then send
    one weighted sum, not every task's gradient."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # a new rule looks at the gradients unless it says otherwise, whatever it derives from
        if "weights" in vars(cls) and "uses_gradients" not in vars(cls):
            cls.uses_gradients = True

    @abstractmethod
    def weights(
        self,
        losses: Tensor,
        gradients: Tensor,
        infos: Sequence[Mapping[str, Any]],
        state: dict[str, Any],
    ) -> tuple[Tensor, dict[str, Any]]:
        """Weights `[M]`, >= 0, of one mini-batch, and what to remember for the next."""

    def initial_state(self) -> dict[str, Any]:
        """What the weighter remembers before the first mini-batch."""
        return {}

    def plan(
        self,
        objective: Objective,
        model: ModelLike,
        optimizer: OptimizerLike,
        window: Window,
        *,
        targets: Window | None = None,
        muted: Muted = NOTHING_MUTED,
        state: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> Plan:
        """Weigh and train through the window; the arguments are those of `TOW.plan`."""
        began = time.perf_counter()
        check_call(objective, seed)
        if targets is not None:
            raise ValueError(
                f"{type(self).__name__} found targets; only TOW plans towards them. Add the "
                "trusted tasks to the window's mini-batches instead."
            )
        tasks = checked_window(window)
        start = Start.of(model, optimizer)
        # a copy: a rule that changes lists in place must not change the caller's
        memory = copy.deepcopy(dict(self.initial_state() if state is None else state))
        here, buffers = start.state, start.buffers
        rows: list[Tensor] = []
        losses: list[Tensor] = []
        accuracies: list[Tensor | None] = []
        status, bad = Status.RULE, NOTHING_MUTED
        for t, batch in enumerate(tasks):
            skip = muted.at(t)
            said, buffers = start.training(
                buffers,
                partial(
                    objective.evaluate,
                    start.layout.unflatten(here.x),
                    batch,
                    skip=skip,
                    seed=stage_seed(seed, t),
                ),
                objective.ranks,
            )
            losses.append(said.losses)
            accuracies.append(said.accuracies)
            wrong = said.bad_indices()
            if wrong:
                status, bad = Status.NON_FINITE_NOMINAL, Muted(frozenset((t, i) for i in wrong))
                break
            w, memory = self._decide(said, batch, skip, memory)
            rows.append(w)
            after = start.optimizer.dynamics.step(here, said.held.weighted(w))
            if not after.is_finite():
                status = Status.NON_FINITE_NOMINAL
                break
            here = after
        cost = math.fsum(float(row.double().sum()) for row in losses)
        return Plan(
            weights=torch.stack(rows) if rows else here.x.new_zeros(0, len(tasks[0])),
            status=status,
            nominal_cost=cost,
            cost=cost,
            predicted_decrease=0.0,
            history=(),
            beta=math.nan,
            agreement=None,
            curvature_ratio=0.0,
            losses=torch.stack(losses),
            accuracies=stacked_accuracies(accuracies),
            bad=bad,
            evaluations=float(len(losses)),
            sketches=0.0,
            seconds=time.perf_counter() - began,
            layout=start.layout,
            initial=start.state,
            final=here,
            optimizer_state=start.optimizer.after(here),
            weighter_state=memory,
            buffers=BuffersMoved.between(start.buffers, buffers),
        )

    def _decide(
        self,
        said: Evaluation,
        batch: Sequence[Any],
        skip: set[int],
        memory: dict[str, Any],
    ) -> tuple[Tensor, dict[str, Any]]:
        """The rule on the tasks that have numbers; the others weigh nothing."""
        keep = [i for i in range(len(batch)) if i not in skip]
        losses = said.losses
        gradients = said.gradients if self.uses_gradients else losses.new_zeros(len(losses), 0)
        w = torch.zeros_like(losses)
        if not keep:
            return w, memory
        infos = [getattr(batch[i], "info", {}) for i in keep]
        given, memory = self.weights(losses[keep], gradients[keep], infos, memory)
        given = torch.as_tensor(given, dtype=w.dtype, device=w.device)
        usable = torch.isfinite(given) & (given >= 0)
        if given.shape != (len(keep),) or not bool(usable.all()):
            raise ValueError(
                f"{type(self).__name__}.weights returned {given.tolist()}; expected {len(keep)} "
                "finite numbers of at least 0, one for each task."
            )
        w[keep] = given
        return w, memory
