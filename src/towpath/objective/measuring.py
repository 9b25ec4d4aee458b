"""The metrics of tasks after adaptation: of one from its forward pass, of all over the ranks.

Beside the metrics, tasks of classes say how often each label was taken for each other label.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.distributed.ranks import Ranks
from towpath.metrics import ACCURACY, LOSS, Metric
from towpath.objective.task import Graph

Row = list[float | None]
"""the value of each metric on one task; None where the metric does not suit the task"""


@dataclass(frozen=True, eq=False)
class TaskMeasured:
    """What is measured of one task."""

    row: Row
    counts: Tensor | None
    """`[ways, ways]` whole numbers: the query samples by their label and the predicted one; None
    where the task has no labels"""


@dataclass(frozen=True, eq=False)
class Measured:
    """What is measured of all tasks, in their order."""

    metrics: dict[Metric, list[float]]
    """the metrics that suit every task, each with its value on all of them"""
    counts: list[list[list[int]]] | None
    """for each task, its query samples by label and predicted label, `[ways][ways]`; None where a
    task has no labels or the tasks differ in ways"""


def measured(graph: Graph, metrics: Sequence[Metric]) -> TaskMeasured:
    """Return the metrics and predictions of a task from its forward pass.

    Loss and accuracy come with the pass, in the precision of the model, as training records them.

    Args:
        graph: the graph of the forward pass.
        metrics: the metrics to compute.
    """
    rows, targets = graph.counted or (None, None)
    kind = graph.result.loss
    classes = rows.shape[-1] if rows is not None and kind is not None and kind.classifies else None

    def value(metric: Metric) -> float | None:
        """Return the value of one metric, None if it does not suit the task."""
        if metric == LOSS:
            return float(graph.loss.detach())
        if metric == ACCURACY:
            return None if graph.accuracy is None else float(graph.accuracy)
        if metric.compute is None or rows is None or targets is None or not metric.suits(classes):
            return None
        return metric.of(rows, targets)

    counts = None
    if classes is not None and rows is not None and targets is not None:
        counts = confusion(rows, targets)
    return TaskMeasured([value(metric) for metric in metrics], counts)


def confusion(rows: Tensor, targets: Tensor) -> Tensor:
    """Return how many samples of each label were predicted as each label, `[ways, ways]`.

    Args:
        rows: the outputs `[Q, ways]`.
        targets: the labels `[Q]`.
    """
    ways = rows.shape[-1]
    places = targets.reshape(-1) * ways + rows.argmax(-1)
    return torch.bincount(places, minlength=ways * ways).reshape(ways, ways)


def shared(
    said: Iterable[TaskMeasured],
    metrics: Sequence[Metric],
    count: int,
    ranks: Ranks,
    device: torch.device,
) -> Measured:
    """Return what was measured of all tasks of all ranks.

    Args:
        said: what was measured of the rank's own tasks.
        metrics: the metrics of a row, in its order.
        count: the number of tasks of all ranks.
        ranks: the processes that share the tasks.
        device: the device on which the ranks exchange tensors.
    """
    own = list(said)
    everyone = [one.row for one in own]
    if ranks.size > 1:
        K = len(metrics)
        # whether a metric suits is sent beside its value: NaN is a value too
        flat = [[v or 0.0 for v in row] + [float(v is not None) for v in row] for row in everyone]
        table = torch.tensor(flat, dtype=torch.float64, device=device).reshape(len(flat), 2 * K)
        everyone = [
            [value if suits else None for value, suits in zip(row[:K], row[K:], strict=True)]
            for row in ranks.gathered(table, count).tolist()
        ]
    columns = zip(*everyone, strict=True)
    values = {
        metric: [value for value in column if value is not None]
        for metric, column in zip(metrics, columns, strict=True)
        if None not in column
    }
    return Measured(values, _shared_counts([one.counts for one in own], count, ranks, device))


def _shared_counts(
    own: Sequence[Tensor | None], count: int, ranks: Ranks, device: torch.device
) -> list[list[list[int]]] | None:
    """Return the counts of all tasks of all ranks; None where a task has none or other ways."""
    ways = {0 if counts is None else len(counts) for counts in own}
    largest = max(ways, default=0)
    if ranks.size > 1:
        # two numbers that agree only where every rank has the same ways in all of its tasks
        low = torch.tensor([[min(ways, default=0), largest]] * len(own), dtype=torch.float64)
        everyone = ranks.gathered(low.reshape(len(own), 2).to(device), count)
        ways = {int(number) for number in everyone.reshape(-1).tolist()}
        largest = max(ways, default=0)
    if len(ways) != 1 or not largest:
        return None
    table = torch.zeros(len(own), largest * largest, dtype=torch.float64, device=device)
    for row, counts in zip(table, own, strict=True):
        assert counts is not None  # its ways are `largest`
        row.copy_(counts.reshape(-1))
    if ranks.size > 1:
        table = ranks.gathered(table, count)
    matrices: list[list[list[int]]] = table.long().reshape(-1, largest, largest).tolist()
    return matrices
