"""What every sampler of tasks does alike: chances of groups, shots, and the rows of a class.

All random numbers come from the `Draws` that the caller hands in, in the order of the calls.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from towpath.data.errors import DataError
from towpath.data.randomness import Draws
from towpath.data.spec import ANY_SHOT_IMBALANCED, ANY_SHOT_LOW, EpisodeSpec
from towpath.wording import nearest

Members = Mapping[str, tuple[int, ...]]
"""the positions (of classes, of tasks of a table) that belong to each group, by the group's name"""


def wanted_groups(groups: Members, spec: EpisodeSpec, where: str) -> dict[str, tuple[int, ...]]:
    """Return the groups that the spec gives a chance; raise DataError if it names an unknown one.

    Args:
        groups: the groups that there are.
        spec: the distribution of tasks.
        where: the data set and its split, for the message.
    """
    if isinstance(spec.groups, str):
        return dict(groups)
    for name in spec.groups:
        if name not in groups:
            raise DataError(
                f"groups names {name!r}, and {where} has no such group; "
                f"expected some of {', '.join(groups)}.{nearest(name, groups)} Correct it."
            )
    return {name: groups[name] for name in groups if spec.groups.get(name, 0.0) > 0.0}


def group_chances(drawn: Members, spec: EpisodeSpec, auto: str) -> NDArray[np.float64]:
    """Return the probability of each group, in the order of `drawn`; they sum to 1.

    Args:
        drawn: the groups that tasks are drawn from.
        spec: the distribution of tasks.
        auto: the meaning of `groups: auto` here, `"uniform"` or `"size"`.
    """
    sizes = np.array([len(own) for own in drawn.values()], dtype=np.float64)
    kind = spec.groups
    if not isinstance(kind, str):
        weights = np.array([kind[name] for name in drawn], dtype=np.float64)
    elif kind == "zipf":
        names = list(drawn)
        by_size = sorted(range(len(names)), key=lambda i: (-sizes[i], names[i]))
        weights = np.empty(len(names))
        weights[by_size] = np.arange(1, len(names) + 1) ** -float(spec.zipf_exponent)
    elif kind == "size" or (kind == "auto" and auto == "size"):
        weights = sizes
    else:
        weights = np.ones(len(drawn))
    return np.asarray(weights / weights.sum())


def draw_shots(draws: Draws, spec: EpisodeSpec, classes: int) -> list[int]:
    """Draw the number of support samples of each class of a task."""
    if isinstance(spec.shots, int):
        return [spec.shots] * classes
    if isinstance(spec.shots, tuple):
        return [draws.integer(*spec.shots)] * classes
    high = spec.any_shot_high
    assert high is not None  # the spec refuses any other text
    if draws.uniform() < ANY_SHOT_IMBALANCED:
        return [draws.integer(ANY_SHOT_LOW, high) for _ in range(classes)]
    return [draws.integer(ANY_SHOT_LOW, high)] * classes


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """The samples that a task takes of one class, numbered 0..count-1 within the class."""

    support: NDArray[np.int64]
    query: NDArray[np.int64]
    capped: bool
    """whether there are fewer shots than were drawn, for want of samples"""


def draw_rows(draws: Draws, count: int, shots: int, query: int) -> DrawnRows:
    """Draw different support and query samples of a class.

    Args:
        draws: the random numbers.
        count: how many samples the class has; more than `query`.
        shots: support samples to draw, fewer where the class is too small.
        query: query samples to draw.
    """
    k = min(shots, count - query)
    rows = draws.distinct(count, k + query)
    return DrawnRows(rows[:k], rows[k:], k < shots)
