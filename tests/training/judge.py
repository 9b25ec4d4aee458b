"""A weighter of a user's that judges: it plans twice and keeps the plan that its judges prefer."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import towpath as tp
from towpath.weighters import NOTHING_MUTED


@dataclass(frozen=True)
class Referee:
    """Uniform weights, or those of `Exploitation`: whichever leaves the judges a lower loss."""

    wants_targets: ClassVar[bool] = False
    wants_judges: ClassVar[bool] = True

    def plan(
        self,
        objective: Any,
        model: Any,
        optimizer: Any,
        window: Any,
        *,
        targets: Any = None,
        judges: Any = (),
        muted: Any = NOTHING_MUTED,
        state: Any = None,
        seed: int = 0,
    ) -> tp.Plan:
        assert targets is None
        assert all(task.info["trusted"] for task in judges)
        plans = [
            rule.plan(objective, model, optimizer, window, muted=muted, seed=seed)
            for rule in (tp.Uniform(), tp.Exploitation())
        ]
        losses = [
            float(objective.evaluate(plan.params, judges, gradients=False).losses.mean())
            for plan in plans
        ]
        best = losses.index(min(losses))
        known = state or {"windows": 0, "uniform": 0}
        memory = {
            "windows": known["windows"] + 1,
            "uniform": known["uniform"] + (best == 0),
            "judges": [task.info["index"] for task in judges],
            "losses": losses,
        }
        return replace(plans[best], weighter_state=memory)
