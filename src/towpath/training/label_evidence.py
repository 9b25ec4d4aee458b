"""The evidence that the labels of a task mean something: are they better than shuffled ones?

For the n query samples of a task, `B [n, n]` is the score of sample q under the label of sample r:
the logarithm of the probability of its class, or minus the squared error in regression. The labels
as they are score `S = sum_q B_qq`. Over all n! ways to shuffle them among the samples (Hoeffding
1951, "A combinatorial central limit theorem")

    E S = 1/n sum_qr B_qr,    Var S = 1/(n - 1) sum_qr D_qr^2,
    D_qr = B_qr - mean_r B_qr - mean_q B_qr + mean B

so that `z = (S - E S) / sqrt(Var S)` needs no draws. Labels that say nothing about the samples have
a z of mean 0 and variance 1, whatever the network is, and nearly a normal distribution; labels that
the network tells from shuffled ones have a large z. Hard tasks have a small one, but not 0.
"""

import math

import numpy as np
import numpy.typing as npt
from torch import Tensor

from towpath.metrics import Metric

Array = npt.NDArray[np.float64]


def label_evidence(outputs: Tensor, targets: Tensor) -> float:
    """Return z of a task; NaN where the labels, or the outputs, are all alike.

    Args:
        outputs: the outputs of the query samples, `[n, C]`.
        targets: their labels `[n]`, or their numbers in the outputs' shape.
    """
    f = outputs.detach().double().cpu()
    y = targets.detach().cpu()
    if y.is_floating_point():
        numbers = y.double().reshape(f.shape)
        B = -(f[:, None] - numbers[None]).square().sum(-1).numpy()
    else:
        B = f.log_softmax(-1)[:, y.reshape(-1)].numpy()
    return standardised(B)


def standardised(B: Array) -> float:
    """Return how far the trace of `B [n, n]` lies above that of its rows in any other order.

    In standard deviations over all n! orders; NaN where all orders have the same one.
    """
    n = len(B)
    if n < 2 or not np.isfinite(B).all():
        return math.nan
    D = B - B.mean(0, keepdims=True) - B.mean(1, keepdims=True) + B.mean()
    variance = float((D**2).sum()) / (n - 1)
    if variance <= 1e-20 * float((B**2).sum()) or variance == 0.0:
        return math.nan
    return (float(np.trace(B)) - float(B.sum()) / n) / math.sqrt(variance)


def _any_tasks(classes: int | None) -> bool:  # noqa: ARG001  of the signature of `suits`
    return True


LABEL_EVIDENCE = Metric(
    "label_evidence",
    "evidence that the labels mean something",
    label_evidence,
    _any_tasks,
    undefined_where="all query targets are equal",
)
"""the evidence as a metric, which an objective measures with one forward pass a task"""
