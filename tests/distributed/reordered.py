"""The sums over tasks taken in another order, in one process: what rounding alone does to a run."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

from towpath.objective.gradients import Columns, Rows

ORDERS = ("reversed", "in halves", "in thirds")
"""`in halves` adds up the tasks 0, 2, 4, ... and 1, 3, 5, ... as two ranks do"""


def weighted_sum(weights: Tensor, rows: Tensor, order: str) -> Tensor:
    """`weights . rows` with the rows in another order."""
    if order == "reversed":
        return weights.flip(0) @ rows.flip(0)
    parts = {"in halves": 2, "in thirds": 3}[order]
    return torch.stack([weights[i::parts] @ rows[i::parts] for i in range(parts)]).sum(0)


@contextmanager
def adding_up(order: str) -> Iterator[None]:
    """Every weighted gradient of this process is added up in the order."""
    with pytest.MonkeyPatch.context() as patch:
        for kind, method in ((Rows, "weighted"), (Columns, "weighted_part")):
            patch.setattr(kind, method, lambda self, w: weighted_sum(w, self.values, order))
        yield
