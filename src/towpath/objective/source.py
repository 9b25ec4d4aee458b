"""Where an objective's tasks get their losses from: a learner, or a function of the user's."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from towpath.data.episode import Episode
from towpath.distributed.torchrun import ranks_of_this_machine
from towpath.learners import Learner
from towpath.losses import Loss, loss_named
from towpath.machine import available_cores
from towpath.objective.task import EpisodeFunction, TaskFunction
from towpath.objective.workers import Workers

Answer = TypeVar("Answer")
Ask = Callable[[TaskFunction, int, int | None], Answer]
"""(task function, index, what the generators were set to, if they were) -> a task's answer"""
Part = Callable[[Any, float], Any]
"""(task, share) -> the task with that share of its query set."""


class TaskSource(Protocol):
    """What an objective must know of the tasks that it evaluates."""

    loss: Loss
    function: TaskFunction

    @property
    def draws(self) -> bool | None:
        """Whether the model drew random numbers when last seen; None where it never was."""
        ...

    def saw(self, drew: bool) -> None:
        """Remember whether the model drew random numbers."""
        ...

    def freely(self, ask: "Ask[Answer]", indices: Sequence[int]) -> Iterator[Answer]:
        """The answers of the tasks, in their order, of a model that draws nothing."""
        ...

    def function_alone(self) -> TaskFunction:
        """The function for tasks one by one, each with random draws of its own."""
        ...

    def part(self, task: Any, share: float) -> Any:
        """The task with a share of its query set."""
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
    """Episodes under a learner."""

    def __init__(self, learner: Learner, workers: int | None = None) -> None:
        if not isinstance(learner, Learner):
            raise ValueError(
                f"tp.Objective found {type(learner).__name__}; expected a learner such as "
                "tp.learners.MAML(model). For a function of your own use "
                "tp.Objective.from_function(fn, loss='cross_entropy')."
            )
        self.learner = learner
        self.loss = loss_named(learner.loss)
        count = _default_workers(learner) if workers is None else workers
        self.workers = Workers(learner, count)
        self.function: TaskFunction = EpisodeFunction(learner)

    @property
    def draws(self) -> bool | None:
        """As the workers saw it."""
        return self.workers.draws

    def saw(self, drew: bool) -> None:
        """The workers remember it, since they share the learner."""
        self.workers.saw(drew)

    def freely(self, ask: "Ask[Answer]", indices: Sequence[int]) -> Iterator[Answer]:
        """Side by side."""
        return self.workers.map(lambda own, i: ask(EpisodeFunction(own), i, None), indices)

    def function_alone(self) -> TaskFunction:
        """The learner, without an adaptation that an episode shares with its part."""
        return EpisodeFunction(self.learner, shares=False)

    def part(self, task: Any, share: float) -> Any:
        """Episodes know their parts."""
        return episode_part(task, share)

    @property
    def embeds(self) -> bool:
        """As the learner says."""
        return self.learner.wants_embedding

    @property
    def adapts(self) -> bool:
        """Where the learner has steps of adaptation."""
        return bool(getattr(self.learner, "adaptation_steps", 0))


class FunctionTasks:
    """Tasks of any kind under a function of the user's."""

    embeds: bool = False
    adapts: bool = False
    draws: bool | None = None

    def __init__(self, function: TaskFunction, loss: str, part: Part | None = None) -> None:
        if not callable(function):
            raise ValueError(
                f"from_function found {type(function).__name__}; expected a function "
                "fn(params, task) -> (output, target)."
            )
        self.loss = loss_named(loss)
        self.function = function
        self._part = part

    def saw(self, drew: bool) -> None:
        """Remember whether the function drew random numbers."""
        self.draws = drew

    def freely(self, ask: "Ask[Answer]", indices: Sequence[int]) -> Iterator[Answer]:
        """One by one: a function of the user's may call one shared model."""
        return (ask(self.function, i, None) for i in indices)

    def function_alone(self) -> TaskFunction:
        """The function itself."""
        return self.function

    def part(self, task: Any, share: float) -> Any:
        """As the user's function says; episodes know by themselves."""
        return episode_part(task, share) if self._part is None else self._part(task, share)


def episode_part(task: Any, share: float) -> Episode:
    """An episode with a share of its query set; ValueError for a task of another kind."""
    if isinstance(task, Episode):
        return task.part(share)
    raise ValueError(
        f"Planning on a part of the query set found a task of type {type(task).__name__}; "
        "expected a tp.Episode, or an objective that knows its parts. Pass "
        "tp.Objective.from_function(fn, part=...) or plan with query_share=1."
    )


def _default_workers(learner: Learner) -> int:
    if any(p.device.type != "cpu" for p in learner.module.parameters()):
        return 1  # a GPU works on all its cores at one task
    return max(1, available_cores() // ranks_of_this_machine())
