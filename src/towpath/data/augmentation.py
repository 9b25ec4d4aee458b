"""Augmentation of training images: random crops, mirror images, changed colours.

Which image is changed in which way is a pure function of (seed, stream, index), as the task itself
is: a task that is drawn again, after a resume or in a report, has the same pixels. Labels and the
choice of classes and images stay those of the task without augmentation. Images are
`[N, C, H, W]` in 0..1.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from towpath.data.episode import Episode
from towpath.data.errors import DataError
from towpath.data.randomness import Draws
from towpath.data.streams import TaskStream, WrappedStream
from towpath.data.summary import Summary
from towpath.data.tables.pool import TablePool
from towpath.validation import Range

LUMINANCE = (0.299, 0.587, 0.114)
"""the share of red, green and blue in the brightness of a pixel"""


@dataclass(frozen=True)
class Augmentation:
    """Random changes of the images of training tasks; test and trusted tasks stay as they are."""

    crop: Annotated[int, Range(0, 1024)] = 0
    """pixels by which an image is padded with zeros on each side before a part of its old size is
    cut out at random; 0 for none"""
    flip: bool = False
    """whether an image is mirrored, left to right, with probability 0.5"""
    jitter: Annotated[float, Range(0, 1)] = 0.0
    """strength of the change of colours: brightness, contrast and saturation are each multiplied by
    a factor between 1 - jitter and 1 + jitter; 0 for none, usual is 0.4"""

    @property
    def changes_images(self) -> bool:
        """Whether anything is changed at all."""
        return bool(self.crop or self.flip or self.jitter)

    def of(self, images: Tensor, draws: Draws) -> Tensor:
        """Return the images `[N, C, H, W]`, each changed by random numbers of its own."""
        # always as many numbers an image: a crop is the same with and without a flip
        words = draws.words(6 * len(images)) >> np.uint64(11)
        u = torch.from_numpy(words.astype(np.float64) * 2.0**-53).reshape(len(images), 6)
        if self.crop:
            images = _cropped(images, self.crop, u[:, 0:2])
        if self.flip:
            images = torch.where(_each(u[:, 2] < 0.5), images.flip(-1), images)
        if self.jitter:
            images = _recoloured(images, 1.0 + self.jitter * (2.0 * u[:, 3:6] - 1.0))
        return images


def _each(values: Tensor) -> Tensor:
    """Return one value an image `[N]` in a shape that is spread over `[N, C, H, W]`."""
    return values.reshape(-1, 1, 1, 1)


def _cropped(images: Tensor, padding: int, u: Tensor) -> Tensor:
    """Return a part of each padded image, of the old size, at the place that `u [N, 2]` says."""
    n, channels, height, width = images.shape
    padded = torch.nn.functional.pad(images, (padding,) * 4)
    places = (u * (2 * padding + 1)).long()  # [N, 2], 0..2 padding
    rows = _each(places[:, 0]) + torch.arange(height).reshape(-1, 1)  # [N, 1, H, 1]
    columns = _each(places[:, 1]) + torch.arange(width)  # [N, 1, 1, W]
    return padded[_each(torch.arange(n)), torch.arange(channels).reshape(-1, 1, 1), rows, columns]


def _recoloured(images: Tensor, factors: Tensor) -> Tensor:
    """Return the images with brightness, contrast and saturation multiplied, `factors [N, 3]`."""
    brightness, contrast, saturation = (_each(column).to(images.dtype) for column in factors.T)
    images = images * brightness
    middle = _grey(images).mean((2, 3), keepdim=True)
    images = middle + contrast * (images - middle)
    grey = _grey(images)
    return (grey + saturation * (images - grey)).clamp(0.0, 1.0)


def _grey(images: Tensor) -> Tensor:
    """Return the brightness of every pixel, `[N, 1, H, W]`."""
    if images.shape[1] == 1:
        return images
    weights = torch.tensor(LUMINANCE, dtype=images.dtype).reshape(-1, 1, 1)
    return (weights * images).sum(1, keepdim=True)


@dataclass(frozen=True, eq=False)
class AugmentedStream(WrappedStream):
    """The tasks of another stream, with their images changed at random."""

    augmentation: Augmentation

    @property
    def group_frequencies(self) -> dict[str, float]:
        """The probability of each group of the pool that tasks are drawn from."""
        return self.own.group_frequencies

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user on what of the pool is not drawn, and why."""
        return self.own.notes

    def episode(self, index: int) -> Episode:
        """Return the task at `index`, the same whenever and wherever it is drawn."""
        task = self.own.episode(index)
        draws = Draws(f"{self.stream}/augmentation", self.seed, index)
        return replace(
            task,
            support_x=self.augmentation.of(task.support_x, draws),
            query_x=self.augmentation.of(task.query_x, draws),
        )

    def group_of(self, index: int) -> str:
        """Return the group of the task at `index`; empty where it is of several."""
        return self.own.group_of(index)

    def summarise(self, indices: Iterable[int]) -> Summary:
        """Count groups, capped shots and mislabelled tasks; no input is read."""
        return self.own.summarise(indices)


def augmented(tasks: TaskStream, augmentation: Augmentation) -> TaskStream:
    """Return the stream with its images augmented; the stream itself where nothing is changed.

    Args:
        tasks: the tasks, of images.
        augmentation: how their images are changed.

    Raises:
        DataError: if the tasks are rows of a table, or a crop could miss an image altogether.
    """
    if not augmentation.changes_images:
        return tasks
    pool = tasks.pool
    if isinstance(pool, TablePool) or not pool.of_images:
        raise DataError(
            f"augmentation is {augmentation} and {pool.name} holds rows of numbers; expected "
            "images, which alone can be cropped, mirrored or recoloured. Leave augmentation out."
        )
    if augmentation.crop >= min(pool.image_shape[1:]):
        raise DataError(
            f"augmentation.crop is {augmentation.crop} with images of "
            f"{' x '.join(map(str, pool.image_shape[1:]))}; expected a padding smaller than the "
            "image, such as 4."
        )
    return AugmentedStream(tasks, augmentation)
