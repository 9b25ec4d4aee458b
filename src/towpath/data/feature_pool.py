"""A class pool whose samples are vectors: features that another network has computed.

Tasks are drawn from it as from images, by the same sampler; an input of a network is a vector [D].
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from towpath.data.errors import DataError
from towpath.data.pool import ClassPool


@dataclass(frozen=True, eq=False)
class FeaturePool(ClassPool):
    """The classes of one split, with their features in place of images: float32 `[N, D]`."""

    of_images: ClassVar[bool] = False
    whole: ClassVar[float] = 1.0

    def _check_samples(self) -> None:
        if self.images.dtype != np.float32 or self.images.ndim != 2:
            raise DataError(
                f"The features of {self.name} are {self.images.dtype} {list(self.images.shape)}; "
                "expected float32 [N, D]. Convert them before making a FeaturePool."
            )

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input of a network: (D,)."""
        return (self.images.shape[1],)

    def with_channels(self, channels: int) -> "ClassPool":
        """Raise a `DataError`: a vector has no channels."""
        raise DataError(
            f"{self.name} holds vectors of {self.input_shape[0]:,} numbers, which cannot become "
            f"images of {channels} channels; expected a set of images. Choose another."
        )

    def with_rotations(self) -> "ClassPool":
        """Raise a `DataError`: a vector cannot be turned."""
        raise DataError(
            f"{self.name} holds vectors, which cannot be rotated; expected images. Load the set "
            "without rotations."
        )

    def counted(self) -> str:
        """Return how much the pool holds, in a few words."""
        return f"{len(self):,} classes, {self.image_count:,} vectors"

    def _samples_text(self) -> str:
        return f"{self.image_count:,} vectors of {self.input_shape[0]:,} numbers"
