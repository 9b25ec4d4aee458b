"""How tasks are evaluated: in parallel by workers, or one by one with their own random numbers.

A model that drew no random number in its last evaluation is evaluated without seeding, in parallel
where that is possible. If it does draw, those results are discarded and the tasks are evaluated
again one by one, each with its own seed. The random generators of the process are restored
afterwards.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from towpath.objective.draws import Generators, derived_seed, seed_generators
from towpath.objective.live import rewinder
from towpath.objective.source import Answer, Ask, TaskSource
from towpath.objective.turns import evaluating

Collected = TypeVar("Collected")


@dataclass(frozen=True)
class Draws:
    """The random seeds of a list of tasks; each task's seed is derived from its number."""

    seed: int
    first: int = 0
    """number of the first task"""

    def of(self, i: int) -> int:
        """Return the seed of the i-th task of the list."""
        return derived_seed(self.seed, self.first + i)


def collected(
    source: TaskSource,
    ask: Ask[Answer],
    indices: Sequence[int],
    draws: Draws,
    device: torch.device,
    collect: Callable[[Iterator[Answer]], Collected],
) -> Collected:
    """Evaluate the tasks and return what `collect` makes of their results, in task order.

    Args:
        source: provides the function that evaluates a task.
        ask: evaluates one task.
        indices: the numbers of the tasks.
        draws: the seeds of the tasks.
        device: the device of the parameters, whose generators the model may use.
        collect: consumes the results one by one as they arrive.
    """
    with evaluating():
        found = Generators.now(device)
        try:
            if source.draws is False:
                rewind = rewinder()
                total = collect(source.freely(ask, indices))
                if not found.moved():
                    return total
                rewind()
            drew: list[bool] = []
            total = collect(_one_by_one(source, ask, indices, draws, device, drew))
        except BaseException:
            found.put_back()
            raise
        found.put_back()
        if drew:
            source.saw(any(drew))
        return total


def _one_by_one(
    source: TaskSource,
    ask: Ask[Answer],
    indices: Sequence[int],
    draws: Draws,
    device: torch.device,
    drew: list[bool],
) -> Iterator[Answer]:
    """Evaluate each task with the generators at its own seed; append to `drew` whether it drew."""
    function = source.function_alone()
    for i in indices:
        own = draws.of(i)
        seed_generators(own, device)
        fresh = Generators.now(device)
        yield ask(function, i, own)
        drew.append(fresh.moved())
