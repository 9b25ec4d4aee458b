"""Metrics: what is reported of a task beside its loss, one small object each.

For the n query samples of one task, with outputs `f [n, C]` and targets `y`:

    accuracy           share of samples with argmax_c f_c = y
    ROC AUC            chance that a sample of class 1 scores above one of class 0, ties count half
    average precision  sum over thresholds k of (recall_k - recall_{k-1}) precision_k
    R2                 1 - sum (y - f)^2 / sum (y - mean y)^2, the mean taken output by output
    RMSE               square root of the mean of (y - f)^2

The score of a sample of two classes is `f_1 - f_0`, which orders samples as the probability of
class 1 does and does not saturate. Class 1 is the positive one.

A metric may be undefined on a task: the ROC AUC of query samples of a single class, the R2 of equal
targets. Its value is NaN there. This depends on the targets alone, so it holds for all methods that
are compared on the task, and the task is left out of that metric, counted and told. Where outputs
are not finite the value is NaN as well, but so is the loss, by which the two cases are told apart.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
from torch import Tensor

Array = npt.NDArray[np.float64]
MetricName = Literal["accuracy", "roc_auc", "average_precision", "r2", "rmse", "loss"]


@dataclass(frozen=True)
class Metric:
    """A figure of a task: how it is computed, which way is better, and how it is shown.

    Example:
        >>> import torch
        >>> outputs = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
        >>> ROC_AUC.of(outputs, torch.tensor([0, 0, 1]))
        1.0
        >>> ACCURACY.text(0.5), ROC_AUC.text(0.5)
        ('50.0%', '0.500')
    """

    name: str
    """its name in recipes and files"""
    words: str
    """its name for people"""
    compute: Callable[[Tensor, Tensor], float] | None = field(repr=False)
    """(outputs [n, C], targets [n] or [n, C]) -> its value on one task, NaN where it is undefined;
    None for the loss, which only the objective can compute"""
    suits: Callable[[int | None], bool] = field(repr=False)
    """(number of classes, None for regression) -> whether tasks of this kind have the metric"""
    larger_is_better: bool = True
    percent: bool = False
    """whether it is shown in per cent rather than as a number"""
    undefined_where: str = ""
    """the tasks on which it is undefined, in words; empty where there are none"""

    def of(self, outputs: Tensor, targets: Tensor) -> float:
        """Return the value on one task, NaN where it is undefined.

        Args:
            outputs: the outputs of the query samples, `[n, C]`.
            targets: their labels `[n]`, or their numbers in the outputs' shape.
        """
        if self.compute is None:
            raise ValueError(
                f"Found the metric {self.name!r}, which depends on more than outputs and targets; "
                "expected another one. An objective computes it: objective.evaluate(...).losses."
            )
        return self.compute(outputs, targets)

    def goodness(self, value: float) -> float:
        """Return the value, or its negative where smaller is better: more is always better."""
        return value if self.larger_is_better else -value

    @property
    def scale(self) -> float:
        """The factor between a value and what is shown of it."""
        return 100.0 if self.percent else 1.0

    @property
    def decimals(self) -> int:
        """The number of decimals that are shown."""
        return 1 if self.percent else 3

    @property
    def heading(self) -> str:
        """The name for people with its unit, as above a column or beside an axis."""
        return f"{self.words} (%)" if self.percent else self.words

    def text(self, value: float) -> str:
        """Return a value as it is shown in the terminal, with a per cent sign where it has one."""
        return f"{self.shown(value)}%" if self.percent else self.shown(value)

    def shown(self, value: float, sign: bool = False) -> str:
        """Return a value without its unit.

        Args:
            value: the value, or a difference of two.
            sign: whether a plus is shown.
        """
        return f"{self.scale * value:{'+' if sign else ''}.{self.decimals}f}"


def hits(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return for each sample whether its largest output `[n, C]` is that of its label `[n]`."""
    return outputs.argmax(-1) == targets.reshape(-1)


def area_under_curve(scores: npt.ArrayLike, positive: npt.ArrayLike) -> float:
    """Return the area under the ROC curve, by ranks (Mann and Whitney); ties count half.

    Args:
        scores: a number for each sample; positive samples should have larger ones.
        positive: whether each sample is a positive one.

    Returns:
        the area, NaN where all samples or none are positive, or a score is NaN.
    """
    is_positive = np.asarray(positive, dtype=bool)
    n_1 = int(is_positive.sum())
    n_0 = len(is_positive) - n_1
    found = np.asarray(scores, dtype=np.float64)
    if not n_1 or not n_0 or bool(np.isnan(found).any()):
        return math.nan
    _, place, count = np.unique(found, return_inverse=True, return_counts=True)
    # the mean rank of equal scores; not scipy's, which takes a second to import
    ranks = (np.cumsum(count) - 0.5 * (count - 1))[place.reshape(-1)]
    return float((ranks[is_positive].sum() - n_1 * (n_1 + 1) / 2) / (n_1 * n_0))


def average_precision(scores: npt.ArrayLike, positive: npt.ArrayLike) -> float:
    """Return the average precision: the step-wise sum over the thresholds, not interpolated.

    Args:
        scores: a number for each sample; positive samples should have larger ones.
        positive: whether each sample is a positive one.

    Returns:
        the average precision, NaN where all samples or none are positive, or a score is NaN.
    """
    values = np.asarray(scores, dtype=np.float64)
    is_positive = np.asarray(positive, dtype=bool)
    if is_positive.all() or not is_positive.any() or np.isnan(values).any():
        return math.nan
    order = np.argsort(-values, kind="stable")
    found = np.cumsum(is_positive[order])
    ordered = values[order]
    # samples of equal scores come in together, at the last of them
    last = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(ordered) - 1)
    precision = found[last] / (last + 1)
    return float(np.sum(np.diff(found[last], prepend=0) * precision) / found[-1])


def _accuracy(outputs: Tensor, targets: Tensor) -> float:
    return float(hits(outputs, targets).double().mean())


def _two_class_scores(outputs: Tensor, targets: Tensor) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return the score of each sample, and whether it is of class 1."""
    f = _numbers(outputs)
    with _quietly():
        return f[:, 1] - f[:, 0], targets.detach().reshape(-1).cpu().numpy() == 1


def _roc_auc(outputs: Tensor, targets: Tensor) -> float:
    return area_under_curve(*_two_class_scores(outputs, targets))


def _average_precision(outputs: Tensor, targets: Tensor) -> float:
    return average_precision(*_two_class_scores(outputs, targets))


def _r2(outputs: Tensor, targets: Tensor) -> float:
    y, f = _numbers(targets), _numbers(outputs)
    if bool((y == y[:1]).all()):  # exactly: a sum of squares would leave rounding of the mean
        return math.nan
    with _quietly():
        return float(1.0 - np.sum((y - f) ** 2) / np.sum((y - y.mean(0)) ** 2))


def _rmse(outputs: Tensor, targets: Tensor) -> float:
    with _quietly():
        return float(np.sqrt(np.mean((_numbers(targets) - _numbers(outputs)) ** 2)))


def _numbers(values: Tensor) -> Array:
    """Return one sample a row `[n, C]`, in float64 whatever the model computes in."""
    rows = values.flatten(1) if values.ndim > 1 else values.reshape(-1, 1)
    numbers: Array = rows.detach().double().cpu().numpy()
    return numbers


def _quietly() -> np.errstate:
    """Let outputs that are not finite give NaN or infinity without a warning, as in the loss."""
    return np.errstate(invalid="ignore", over="ignore")


def _any_tasks(classes: int | None) -> bool:  # noqa: ARG001  of the signature of `suits`
    return True


def _has_classes(classes: int | None) -> bool:
    return classes is not None


def _has_two_classes(classes: int | None) -> bool:
    return classes == 2


def _has_numbers(classes: int | None) -> bool:
    return classes is None


_ONE_CLASS = "all query samples are of one class"
ACCURACY = Metric("accuracy", "accuracy", _accuracy, _has_classes, percent=True)
ROC_AUC = Metric("roc_auc", "ROC AUC", _roc_auc, _has_two_classes, undefined_where=_ONE_CLASS)
AVERAGE_PRECISION = Metric(
    "average_precision",
    "average precision",
    _average_precision,
    _has_two_classes,
    undefined_where=_ONE_CLASS,
)
R2 = Metric("r2", "R2", _r2, _has_numbers, undefined_where="all query targets are equal")
RMSE = Metric("rmse", "RMSE", _rmse, _has_numbers, larger_is_better=False)
LOSS = Metric("loss", "loss", None, _any_tasks, larger_is_better=False)

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (ACCURACY, ROC_AUC, AVERAGE_PRECISION, R2, RMSE, LOSS)
}
"""The metrics by their names in recipes and files; of those that suit a task, the first is the main
one, by which parameters are chosen and methods compared."""


def metric_named(name: str) -> Metric:
    """Return the metric with this name, or raise a ValueError that lists the names."""
    if name not in METRICS:
        raise ValueError(f"Found the metric {name!r}; expected one of {', '.join(METRICS)}.")
    return METRICS[name]


def suited(metrics: Iterable[Metric], classes: int | None) -> list[Metric]:
    """Return the metrics that tasks of this many classes have; None stands for regression.

    >>> [metric.name for metric in suited(METRICS.values(), 5)]
    ['accuracy', 'loss']
    """
    return [metric for metric in metrics if metric.suits(classes)]
