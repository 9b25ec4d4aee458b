"""The mean and spread of columns, which standardise values and fill in missing ones."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from towpath.data.errors import DataError


@dataclass(frozen=True, eq=False)
class Scaling:
    """The mean and spread of each column, which standardise values and fill in missing ones.

    They are those of the rows of the training tasks, whatever the split, so that nothing of the
    tasks held out is known in training. Columns that are left as they are have mean 0 and scale 1.
    """

    mean: NDArray[np.float32] = field(repr=False)  # [D]
    scale: NDArray[np.float32] = field(repr=False)  # [D], positive

    def __post_init__(self) -> None:
        if self.mean.shape != self.scale.shape or self.mean.ndim != 1:
            raise DataError(
                f"A scaling has a mean of shape {list(self.mean.shape)} and a scale of shape "
                f"{list(self.scale.shape)}; expected one number a column in both. Correct them."
            )
        if not (np.isfinite(self.mean).all() and (self.scale > 0).all()):
            raise DataError(
                "A scaling has a mean that is not finite or a scale that is not positive; expected "
                "finite means and positive scales. Use 0 and 1 for a column to leave as it is."
            )

    @classmethod
    def of(cls, values: NDArray[Any], standardised: NDArray[np.bool_] | bool = True) -> "Scaling":
        """Return the scaling of these rows `[n, D]`; `NaN`s are not counted.

        A column that is constant or all missing among these rows has scale 1.

        Args:
            values: the rows of the training tasks.
            standardised: which columns `[D]` are standardised; the others stay as they are.
        """
        known = np.isfinite(values)
        counts = np.maximum(known.sum(axis=0), 1)
        plain = np.where(known, values, 0.0).astype(np.float64)
        mean = plain.sum(axis=0) / counts
        centred = np.where(known, plain - mean, 0.0)
        spread = np.sqrt(np.square(centred).sum(axis=0) / counts)
        # Rounding leaves a spread of about 1e-16 |mean| in a constant column.
        varies = spread > 1e-7 * np.maximum(np.abs(mean), np.finfo(np.float32).tiny)
        mean = np.where(standardised, mean, 0.0)
        scale = np.where(varies & standardised, spread, 1.0)
        return cls(mean.astype(np.float32), scale.astype(np.float32))

    def apply(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Return the rows standardised; a missing value becomes the training mean, which is 0."""
        scaled = (values - self.mean) / self.scale
        scaled[np.isnan(scaled)] = 0.0
        return np.asarray(scaled, dtype=np.float32)

    def undo(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Return standardised rows in the units of the table."""
        return np.asarray(values * self.scale + self.mean, dtype=np.float32)
