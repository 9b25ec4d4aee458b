"""What a trained learner must keep of its table, so that rows of other tables can be its inputs.

The features of a new row are looked up by the names of their columns, or computed of the same text,
and standardised by the rows of the training tasks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from towpath.data.errors import DataError
from towpath.data.tables.columns import Table
from towpath.data.tables.feature_option import features_from
from towpath.data.tables.reading import read_table
from towpath.data.tables.sampler import TableSampler
from towpath.data.tables.scaling import Scaling
from towpath.data.tables.targets import TargetScale
from towpath.files import expanded
from towpath.wording import quoted


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows of a table as inputs of a trained learner; those without features are left out."""

    table: Table
    rows: NDArray[np.int64] = field(repr=False)  # [n] positions in the table
    inputs: NDArray[np.float32] = field(repr=False)  # [n, D]

    def names(self, column: str) -> list[str]:
        """Return what people call the rows: the text of a column if there is one, else the line."""
        if column in self.table.columns:
            texts = self.table.columns[column].texts
            return [texts[row] for row in self.rows.tolist()]
        return [self.table.place(row) for row in self.rows.tolist()]

    def tensor(self) -> torch.Tensor:
        """Return the inputs `[n, D]` as a tensor for `TrainedLearner.adapt` and its predictor."""
        return torch.from_numpy(self.inputs)

    def only(self, kept: NDArray[np.bool_]) -> "NewRows":
        """Return some of the rows; `kept [n]` says which."""
        return NewRows(self.table, self.rows[kept], self.inputs[kept])


@dataclass(frozen=True, eq=False)
class TrainedTable:
    """How the rows of a table became inputs, and its targets outputs, of a trained learner."""

    feature_names: tuple[str, ...] = field(repr=False)  # [D]
    scaling: Scaling
    computed_features: tuple[Mapping[str, Any], ...] = ()
    """kinds of features that were computed of text, as a recipe names them"""
    classes: tuple[str, ...] = ()
    """classes in the order of the outputs; empty where that order means nothing"""
    spread: float = 1.0
    """standard deviation of the training tasks' targets, for a regression"""

    @classmethod
    def of(cls, sampler: TableSampler) -> "TrainedTable":
        """Return what there is to keep of the stream of training tasks."""
        pool = sampler.pool
        width = pool.input_shape[0]
        plain = Scaling(np.zeros(width, np.float32), np.ones(width, np.float32))
        return cls(
            pool.feature_names,
            pool.scaling or plain,
            pool.computed_features,
            sampler.common_classes,
            sampler.spread,
        )

    @property
    def text_columns(self) -> frozenset[str]:
        """The columns that are read as text, to compute features of."""
        return frozenset(features_from(list(self.computed_features) or None).text_columns)

    def rows(self, path: str | Path, text_columns: frozenset[str] = frozenset()) -> NewRows:
        """Return the rows of another table as inputs.

        Args:
            path: the table, which has the training table's feature columns among its own.
            text_columns: columns to keep as text, whatever they hold.
        """
        path = expanded(path)
        table = read_table(path, self.text_columns | text_columns)
        columns: dict[str, NDArray[Any]] = {}
        usable = np.ones(len(table), dtype=np.bool_)
        for kind in features_from(list(self.computed_features) or None).kinds:
            part = kind.part(table, (), path.parent)
            usable &= True if part.usable is None else part.usable
            columns |= dict(zip(part.names, part.values.T, strict=True))
        lacking = [n for n in self.feature_names if n not in columns and n not in table.columns]
        if lacking:
            more = f" and {len(lacking) - 1:,} more" if len(lacking) > 1 else ""
            raise DataError(
                f"{table.name} has no column {quoted(lacking[0])}{more}; expected the "
                f"{len(self.feature_names):,} features that the learner was trained on. Add them, "
                "under the same names."
            )
        values = np.stack(
            [
                columns[name] if name in columns else table.numbers(name, "a feature")
                for name in self.feature_names
            ],
            axis=1,
        )
        rows = np.flatnonzero(usable)
        return NewRows(table, rows, self.scaling.apply(values[rows].astype(np.float32)))

    def target_scale(self, support: Sequence[float] | NDArray[np.float64]) -> TargetScale:
        """Return the scale of the targets of a regression task, from its support set."""
        return TargetScale.of(np.asarray(support), self.spread)
