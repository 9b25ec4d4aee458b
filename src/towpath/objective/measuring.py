"""The metrics of tasks after adaptation: of one from its forward pass, of all over the ranks."""

from collections.abc import Iterable, Sequence

import torch

from towpath.distributed.ranks import Ranks
from towpath.metrics import ACCURACY, LOSS, Metric
from towpath.objective.task import Graph

Row = list[float | None]
"""the value of each metric on one task; None where the metric does not suit the task"""


def measured(graph: Graph, metrics: Sequence[Metric]) -> Row:
    """Return the metrics of a task from its forward pass.

    Loss and accuracy come with the pass, in the precision of the model, as training records them.

    Args:
        graph: the graph of the forward pass.
        metrics: the metrics to compute.
    """
    kind, targets = graph.result.loss, graph.result.targets

    def value(metric: Metric) -> float | None:
        """Return the value of one metric, None if it does not suit the task."""
        if metric == LOSS:
            return float(graph.loss.detach())
        if metric == ACCURACY:
            return None if graph.accuracy is None else float(graph.accuracy)
        if metric.compute is None or kind is None or targets is None:
            return None
        # the targets of a classification may be class probabilities, of which no metric is known,
        # and those of a loss of the user's may be anything
        if kind.classifies == targets.is_floating_point() or not (
            kind.classifies or kind.regresses
        ):
            return None
        rows = kind.rows(graph.result.outputs.detach())
        if not metric.suits(rows.shape[-1] if kind.classifies else None):
            return None
        return metric.of(rows, targets)

    return [value(metric) for metric in metrics]


def shared(
    rows: Iterable[Row], metrics: Sequence[Metric], count: int, ranks: Ranks, device: torch.device
) -> dict[Metric, list[float]]:
    """Return the metrics that suit every task, each with its value on all tasks of all ranks.

    Args:
        rows: the values of the rank's own tasks.
        metrics: the metrics of a row, in its order.
        count: the number of tasks of all ranks.
        ranks: the processes that share the tasks.
        device: the device on which the ranks exchange tensors.
    """
    everyone = list(rows)
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
    return {
        metric: [value for value in column if value is not None]
        for metric, column in zip(metrics, columns, strict=True)
        if None not in column
    }
