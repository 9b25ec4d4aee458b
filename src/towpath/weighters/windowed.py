"""From a stream of mini-batches to windows, in a training loop of your own.

    windowed = tp.Windowed(tp.TOW(), objective, model, optimizer, horizon=5)
    for tasks in stream:                # in place of backward() and optimizer.step():
        windowed.step(tasks)

A plan needs several mini-batches at once: a weight shows its effect on those that come after it.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from towpath.control import Status
from towpath.dynamics import Stepping
from towpath.objective import Objective
from towpath.validation import check_whole
from towpath.weighters.plan import Plan
from towpath.weighters.protocol import Weighter, wants_judges
from towpath.weighters.race.race import ENOUGH_JUDGES
from towpath.weighters.rules.memory import Memory
from towpath.weighters.seeds import stage_seed
from towpath.weighters.window import refuse_task

MOST_UNPLANNED = 2
"""windows in a row that may have nothing to plan, as the smaller last mini-batch of an epoch has"""


class Windowed:
    """Collects mini-batches; each time there are `horizon` of them, plans and trains on them.

    The model stays as it is until a window is complete, then takes all of its steps. What the
    weighter remembers goes from window to window, and with `state_dict` through a restart.

    Args:
        weighter: decides the weights, such as `tp.TOW()`.
        objective: evaluates the tasks' losses and gradients.
        model: the model to train.
        optimizer: its `torch.optim` object, or `tp.Stepping` of one.
        horizon: number of mini-batches that are planned together.
        seed: the seed of all randomness; each window has its own, derived from it.
        judges: trusted tasks that are neither trained on nor targets, at least two, for a weighter
            that judges by them, such as `tp.Race()`.

    Example:
        >>> import torch, towpath as tp
        >>> model = torch.nn.Linear(1, 1)
        >>> def fn(params, task):
        ...     return torch.func.functional_call(model, params, (task[0],)), task[1]
        >>> objective = tp.Objective.from_function(fn, loss="mse")
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        >>> windowed = tp.Windowed(tp.TOW(), objective, model, optimizer, horizon=2)
        >>> tasks = [(torch.ones(4, 1), torch.full((4, 1), float(i))) for i in range(3)]
        >>> windowed.step(tasks) is None, windowed.step(tasks).weights.shape
        (True, torch.Size([2, 3]))
    """

    def __init__(
        self,
        weighter: Weighter,
        objective: Objective,
        model: nn.Module,
        optimizer: torch.optim.Optimizer | Stepping,
        *,
        horizon: int = 5,
        seed: int = 0,
        judges: Sequence[Any] = (),
    ) -> None:
        check_whole("Windowed", "horizon", horizon, 1)
        _check_judges(weighter, judges)
        self.weighter, self.objective = weighter, objective
        self.model, self.optimizer = model, optimizer
        self.horizon, self.seed, self.judges = horizon, seed, list(judges)
        self.windows = 0
        """number of windows that were planned"""
        self._tasks: list[list[Any]] = []
        self._targets: list[list[Any]] = []
        self._memory: Memory | None = None
        self._unplanned: list[int] = []
        """sizes of the last mini-batches that were windows of their own with nothing to plan"""

    @property
    def pending(self) -> int:
        """Number of mini-batches that wait for their window to be complete."""
        return len(self._tasks)

    def step(self, tasks: Sequence[Any], targets: Sequence[Any] | None = None) -> Plan | None:
        """Add a mini-batch; if that completes a window, train on it and return its plan.

        A mini-batch with another number of tasks begins a window of its own: those that wait are
        trained on first. One that waits alone then has nothing to plan, which is refused if it
        happens time after time.

        Args:
            tasks: the M tasks of the mini-batch.
            targets: trusted tasks for this mini-batch, for a weighter that takes them. Pass a list,
                if only an empty one, with every mini-batch or with none.
        """
        if self._tasks and (targets is None) == bool(self._targets):
            raise ValueError(
                f"Windowed found {'no ' if targets is None else ''}targets with this mini-batch, "
                "unlike those before it; expected them with every mini-batch of a window or with "
                "none. Pass an empty list where a mini-batch has no target."
            )
        refuse_task("tasks of Windowed.step", tasks)
        refuse_task("targets of Windowed.step", targets)
        plan = None
        if self._tasks and len(tasks) != len(self._tasks[0]):
            plan = self._cut_short(len(self._tasks[0]))
        self._tasks.append(list(tasks))
        if targets is not None:
            self._targets.append(list(targets))
        if len(self._tasks) < self.horizon:
            return plan
        self._unplanned.clear()
        return self.finish()

    def _cut_short(self, size: int) -> Plan | None:
        """Train on what waits because the next mini-batch is of another size.

        Args:
            size: the number of tasks of the mini-batches that wait.

        Raises:
            ValueError: if the windows before had nothing to plan for the same reason.
        """
        if len(self._tasks) == 1 and len(self._unplanned) == MOST_UNPLANNED:
            sizes = ", ".join(map(str, [*self._unplanned, size]))
            raise ValueError(
                f"Windowed found mini-batches of {sizes} tasks, each a window of its own because "
                "the next one is of another size, and one mini-batch alone has nothing to plan: "
                "the weights stayed as they were. Expected several mini-batches of the same size "
                "in a row. Make them equal, pass targets, or use terminal='replay'."
            )
        plan = self.finish()
        if plan is not None and plan.status is Status.NOTHING_TO_PLAN:
            self._unplanned.append(size)
        else:
            self._unplanned.clear()
        return plan

    def state_dict(self) -> dict[str, Any]:
        """Return what a restarted loop needs beside the model's and the optimiser's states.

        It is of plain numbers, words, lists and dictionaries, with tensors where the weighter keeps
        some (`tp.Race`), and of the tasks that wait for their window, as they were passed. After
        `finish()` none wait.
        """
        return {
            "windows": self.windows,
            "seed": self.seed,
            "memory": copy.deepcopy(self._memory),
            "tasks": [list(tasks) for tasks in self._tasks],
            "targets": [list(targets) for targets in self._targets],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where another loop with the same weighter and horizon was.

        Args:
            state: what `state_dict` of that loop returned.
        """
        expected = set(self.state_dict())
        if set(state) != expected:
            raise ValueError(
                f"Windowed found a state with the entries {sorted(state)}; expected "
                f"{sorted(expected)}, as Windowed.state_dict() returns them."
            )
        waiting = len(state["tasks"])
        if waiting >= self.horizon:
            raise ValueError(
                f"Windowed found {waiting} waiting mini-batches in the state, which horizon="
                f"{self.horizon} would have trained on; expected fewer than the horizon. Make it "
                "with the horizon of the loop that was saved."
            )
        self.windows, self.seed = int(state["windows"]), int(state["seed"])
        self._memory = copy.deepcopy(state["memory"])
        self._tasks = [list(tasks) for tasks in state["tasks"]]
        self._targets = [list(targets) for targets in state["targets"]]

    def finish(self) -> Plan | None:
        """Train on the mini-batches that wait, however few; return the plan, None without any."""
        if not self._tasks:
            return None
        # first, so that a window that cannot be planned is not in the way of the next ones
        tasks, targets = self._tasks, self._targets
        self._tasks, self._targets = [], []
        asked: dict[str, Any] = {
            "targets": targets or None,
            "state": self._memory,
            "seed": stage_seed(self.seed, self.windows),
        }
        if wants_judges(self.weighter):  # no other weighter has a parameter for them
            asked["judges"] = self.judges
        plan = self.weighter.plan(self.objective, self.model, self.optimizer, tasks, **asked)
        self.windows += 1
        plan.apply_(self.model, self.optimizer)
        self._memory = plan.weighter_state
        return plan


def _check_judges(weighter: Weighter, judges: Sequence[Any]) -> None:
    """Raise a ValueError if a weighter cannot judge by these tasks, or would not."""
    refuse_task("judges", judges)
    name = type(weighter).__name__
    if wants_judges(weighter) and len(judges) < ENOUGH_JUDGES:
        raise ValueError(
            f"Windowed found {len(judges)} tasks for {name} to judge by, with which it would never "
            f"choose; expected at least {ENOUGH_JUDGES}, better 10. Pass trusted tasks that are "
            "not trained on as judges=[...]."
        )
    if len(judges) and not wants_judges(weighter):
        raise ValueError(
            f"Windowed found judges for a weighter that asks none ({name}); expected them with one "
            "such as tp.Race() only. Leave judges out, or pass trusted tasks as targets of a step."
        )
