"""A drawn task before its images are read: which classes, which images, which labels."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class AnyDraw(Protocol):
    """What a drawn task says of itself, whether it is made of images or of rows of a table."""

    @property
    def group(self) -> str:
        """The group of the task; empty for a task across groups."""
        ...

    @property
    def capped(self) -> tuple[bool, ...]:
        """For each class, whether it has fewer shots than drawn."""
        ...

    @property
    def mislabelled(self) -> bool:
        """Whether any label is wrong on purpose."""
        ...


@dataclass(frozen=True, eq=False)
class Draw:
    """What a task consists of: classes by position in the pool, and image rows of each class."""

    index: int
    group: str  # the group all classes are of; "" for a task across groups
    classes: tuple[int, ...]  # [ways]
    support: tuple[NDArray[np.int64], ...]  # per class, its k rows
    query: tuple[NDArray[np.int64], ...]  # per class, its query rows
    support_y: NDArray[np.int64]  # [S]
    query_y: NDArray[np.int64]  # [Q]
    capped: tuple[bool, ...]  # per class: fewer shots than drawn, for want of images
    mislabelled: bool  # whether any label is wrong on purpose
    wrong: float = 0.0  # wrong labels divided by all labels, support and query

    @property
    def shots(self) -> tuple[int, ...]:
        """The number of support images of each class."""
        return tuple(len(rows) for rows in self.support)
