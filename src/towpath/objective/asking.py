"""Who evaluates the tasks: workers side by side, or one after the other with their own draws.

A model that drew no random number when last seen is evaluated freely, and side by side where that
is possible. If it draws all the same, those answers are thrown away and the tasks evaluated again,
one by one, each with its own seed. The generators that the process shares are left as they were
found.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from towpath.objective.draws import Generators, derived_seed, evaluating, seed_generators
from towpath.objective.live import rewinder
from towpath.objective.source import Answer, Ask, TaskSource

Collected = TypeVar("Collected")


@dataclass(frozen=True)
class Draws:
    """The random numbers of a list of tasks: a task's own seed follows from its number."""

    seed: int
    first: int = 0
    """number of the first task"""

    def of(self, i: int) -> int:
        """The seed of the i-th task of the list."""
        return derived_seed(self.seed, self.first + i)


def collected(
    source: TaskSource,
    ask: Ask[Answer],
    indices: Sequence[int],
    draws: Draws,
    device: torch.device,
    collect: Callable[[Iterator[Answer]], Collected],
) -> Collected:
    """`collect` of the tasks' answers, in their order.

    Args:
        source: where the tasks get their losses from.
        ask: evaluates one task.
        indices: the tasks' numbers.
        draws: their random numbers.
        device: where the parameters are, whose generators may be drawn from.
        collect: takes the answers as they come.
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
    """Each task with the generators at its own seed; `drew` learns whether it moved them."""
    function = source.function_alone()
    for i in indices:
        own = draws.of(i)
        seed_generators(own, device)
        fresh = Generators.now(device)
        yield ask(function, i, own)
        drew.append(fresh.moved())
