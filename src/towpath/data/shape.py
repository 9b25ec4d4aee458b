"""The shape of the tasks of a data set: what a network must take and return.

`inputs` is (C, H, W) for images and (D,) for rows of a table; `outputs` the number of classes of a
task, or the number of real numbers that a regression predicts.
"""

from dataclasses import dataclass

from towpath.losses import LossName


@dataclass(frozen=True)
class TaskShape:
    """What a network must take and return for the tasks of a data set."""

    inputs: tuple[int, ...]
    outputs: int
    is_regression: bool = False

    @property
    def of_images(self) -> bool:
        """Whether an input is an image, not a row of a table."""
        return len(self.inputs) == 3

    @property
    def items(self) -> str:
        """What people call the inputs: images or rows."""
        return "images" if self.of_images else "rows"

    @property
    def loss(self) -> LossName:
        """The loss that suits the targets: squared error for numbers, cross-entropy for classes."""
        return "mse" if self.is_regression else "cross_entropy"
