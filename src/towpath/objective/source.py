"""The source of an objective's losses: a learner, or a function of the user's."""

import copy
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from towpath.data.episode import Episode, parts
from towpath.distributed.torchrun import ranks_of_this_machine
from towpath.learners import Learner
from towpath.losses import Losses, LossLike, OneLoss, losses_of
from towpath.machine import available_cores
from towpath.objective.task import EpisodeFunction, TaskFunction
from towpath.objective.workers import Workers

Answer = TypeVar("Answer")
Ask = Callable[[TaskFunction, int, int | None], Answer]
"""(task function, index, seed of the generators or None) -> a task's result"""
Part = Callable[[Any, float], Any]
"""(task, share) -> the task with that share of its query set."""


class TaskSource(Protocol):
    """What an objective needs to know about the tasks that it evaluates."""

    losses: Losses
    function: TaskFunction

    @property
    def draws(self) -> bool | None:
        """Whether the model drew random numbers when last evaluated; None if it never was."""
        ...

    def saw(self, drew: bool) -> None:
        """Record whether the model drew random numbers in an evaluation."""
        ...

    def freely(self, ask: "Ask[Answer]", indices: Sequence[int]) -> Iterator[Answer]:
        """Yield the tasks' results in order, for a model that draws no random numbers."""
        ...

    def function_alone(self) -> TaskFunction:
        """Return the task function for seeded evaluation, one task after the other."""
        ...

    def parts(self, tasks: Sequence[Any], share: float) -> list[Any]:
        """Return each task with a share of its query set."""
        ...

    @property
    def embeds(self) -> bool:
        """Whether the features of a task are those of a learned embedding."""
        ...

    @property
    def adapts(self) -> bool:
        """Whether tasks are episodes that a learner adapts to by steps of an inner loop."""
        ...


class LearnerTasks:
    """Tasks that are episodes, whose losses come from a learner."""

    def __init__(self, learner: Learner, workers: int | None = None) -> None:
        if not isinstance(learner, Learner):
            raise ValueError(
                f"tp.Objective found {type(learner).__name__}; expected a learner such as "
                "tp.learners.MAML(model). For a function of your own use "
                "tp.Objective.from_function(fn, loss='cross_entropy')."
            )
        self.learner = learner
        self.losses: Losses = OneLoss(learner.loss)
        count = _default_workers(learner) if workers is None else workers
        self.workers = Workers(learner, count)
        self.function: TaskFunction = EpisodeFunction(learner)

    @property
    def draws(self) -> bool | None:
        """Whether the learner drew random numbers when last evaluated; None if it never was."""
        return self.workers.draws

    def saw(self, drew: bool) -> None:
        """Record whether the learner drew random numbers; the workers share the record."""
        self.workers.saw(drew)

    def freely(self, ask: "Ask[Answer]", indices: Sequence[int]) -> Iterator[Answer]:
        """Evaluate the tasks in parallel, each worker with its own copy of the learner."""
        return self.workers.map(lambda own, i: ask(EpisodeFunction(own), i, None), indices)

    def function_alone(self) -> TaskFunction:
        """Return a task function that adapts anew for an episode and for its part."""
        return EpisodeFunction(self.learner, shares=False)

    def parts(self, tasks: Sequence[Any], share: float) -> list[Any]:
        """Return each episode with a share of its query set."""
        return episode_parts(tasks, share)

    @property
    def embeds(self) -> bool:
        """Whether the learner's model is an embedding, so that features are learned."""
        return self.learner.wants_embedding

    @property
    def adapts(self) -> bool:
        """Whether the learner adapts to an episode by at least one inner step."""
        return bool(getattr(self.learner, "adaptation_steps", 0))


class FunctionTasks:
    """Tasks of any kind, whose losses come from a function of the user's."""

    embeds: bool = False
    adapts: bool = False
    draws: bool | None = None

    def __init__(
        self, function: TaskFunction, loss: LossLike | Losses | None, part: Part | None = None
    ) -> None:
        if not callable(function):
            raise ValueError(
                f"from_function found {type(function).__name__}; expected a function "
                "fn(params, task) -> (output, target)."
            )
        self.losses = losses_of(loss)
        self.function = function
        self._part = part

    def __copy__(self) -> "FunctionTasks":
        """Return a copy that calls the same function."""
        return FunctionTasks(self.function, self.losses, self._part)

    def __deepcopy__(self, memo: object) -> "FunctionTasks":
        """Return a copy that calls the same function, and so the model that the function calls."""
        return copy.copy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickle needs; raise a PicklingError for functions that it cannot name."""
        parts = {"fn": self.function, "loss": self.losses, "part": self._part}
        for name, part in parts.items():
            try:
                pickle.dumps(part)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise pickle.PicklingError(
                    f"The {name} of this objective cannot be pickled ({error}); expected a "
                    "function at the top level of a module, which pickle stores by name. Define it "
                    "there, or make the objective anew where it is needed."
                ) from error
        return FunctionTasks, (self.function, self.losses, self._part)

    def saw(self, drew: bool) -> None:
        """Record whether the function drew random numbers in an evaluation."""
        self.draws = drew

    def freely(self, ask: "Ask[Answer]", indices: Sequence[int]) -> Iterator[Answer]:
        """Evaluate the tasks one by one, because the user's function may call one shared model."""
        return (ask(self.function, i, None) for i in indices)

    def function_alone(self) -> TaskFunction:
        """Return the user's function, which keeps no state between tasks."""
        return self.function

    def parts(self, tasks: Sequence[Any], share: float) -> list[Any]:
        """Return parts of the tasks, by the user's `part` function or, of episodes, by default."""
        if self._part is None:
            return episode_parts(tasks, share)
        return [self._part(task, share) for task in tasks]


def episode_parts(tasks: Sequence[Any], share: float) -> list[Any]:
    """Return episodes with a share of their query sets; raise a ValueError for other tasks."""
    for task in tasks:
        if not isinstance(task, Episode):
            raise ValueError(
                f"Planning on a part of the query set found a task of type {type(task).__name__}; "
                "expected a tp.Episode, or an objective that knows its parts. Pass "
                "tp.Objective.from_function(fn, part=...) or plan with query_share=1."
            )
    return list(parts(tasks, share))


def _default_workers(learner: Learner) -> int:
    if any(p.device.type != "cpu" for p in learner.module.parameters()):
        return 1  # one task already uses all cores of a GPU
    return max(1, available_cores() // ranks_of_this_machine())
