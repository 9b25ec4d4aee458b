"""The evidence that the labels of a task mean something: are they better than shuffled ones?

For the n query samples of a task, `B [n, n]` is the score of sample q under the label of sample r:
the logarithm of the probability of its class, or minus the squared error in regression. The labels
as they are score `S = sum_q B_qq`. Over all n! ways to shuffle them among the samples (Hoeffding
1951, "A combinatorial central limit theorem")

    E S = 1/n sum_qr B_qr,    Var S = 1/(n - 1) sum_qr D_qr^2,    S - E S = sum_q D_qq
    D_qr = B_qr - mean_r B_qr - mean_q B_qr + mean B

so that `z = (S - E S) / sqrt(Var S)` needs no draws. Labels that say nothing about the samples have
a z of mean 0 and variance 1, whatever the network is, and nearly a normal distribution; labels that
the network tells from shuffled ones have a large z. Hard tasks have a small one, but not 0.

B itself is never made. Samples of one class have equal columns, so `[n, C]` numbers are enough; and
in regression `D_qr = 2 a_q . b_r`, with a the outputs and b the targets less their means. So it is,
but for the factor, wherever a log-likelihood is `a_q . b_r` up to what only one of them decides:
logits of yes-or-no questions, and class probabilities as targets (`Loss.natural`).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from towpath.metrics import Metric

ALIKE = {torch.float64: 1e-24, torch.float32: 1e-12}
"""the largest sum of squared deviations that is rounding, as a share of the sum of squares"""


def label_evidence(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return z of a task, a scalar; NaN where the labels, or the outputs, are all alike.

    Args:
        outputs: the outputs of the query samples, `[n, C]`, or `[M, n, C]` of M tasks at once.
        targets: their labels `[n]`, or their numbers in the outputs' shape.
    """
    f = outputs.detach()
    f = f if f.dtype in ALIKE else f.float()
    if f.shape[-2] < 2:
        return f.new_full(f.shape[:-2], torch.nan)
    real = targets.is_floating_point()
    surplus, variance, known = _of_numbers(f, targets) if real else _of_classes(f, targets)
    known &= variance > 0
    return torch.where(known, surplus / torch.where(known, variance, 1.0).sqrt(), torch.nan)


def label_evidences(tasks: Sequence[tuple[Tensor, Tensor] | None]) -> list[Tensor | None]:
    """Return z of several tasks, those of equal shapes at once.

    Args:
        tasks: the outputs and targets of each task; None where a task has none, as its z then is.
    """
    found: list[Tensor | None] = [None] * len(tasks)
    alike: dict[tuple[object, ...], list[int]] = {}
    for i, task in enumerate(tasks):
        if task is not None:
            f, y = task
            alike.setdefault((f.shape, f.dtype, y.shape, y.dtype), []).append(i)
    for places in alike.values():
        both = [task for i in places if (task := tasks[i]) is not None]
        z = label_evidence(torch.stack([f for f, _ in both]), torch.stack([y for _, y in both]))
        for place, value in zip(places, z, strict=True):
            found[place] = value
    return found


def _of_classes(f: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return `S - E S`, `Var S`, and whether it is more than rounding."""
    n = f.shape[-2]
    y = labels.long().reshape(f.shape[:-1])
    L = f.log_softmax(-1)  # [..., n, C]; B_qr = L[q, y_r]
    own = torch.nn.functional.one_hot(y, L.shape[-1]).to(L)
    counts = own.sum(-2, keepdim=True)  # [..., 1, C]
    L = L.masked_fill(counts == 0, 0.0)  # a class that no sample has may have a logit of -inf
    of_sample = (L * counts).sum(-1, keepdim=True) / n
    of_class = L.mean(-2, keepdim=True)
    D = L - of_sample - of_class + (of_class * counts).sum(-1, keepdim=True) / n
    both = (-2, -1)
    squares, size = (D.square() * counts).sum(both), (L.square() * counts).sum(both)
    return (D * own).sum(both), squares / (n - 1), squares > ALIKE[f.dtype] * size


def _of_numbers(f: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return half of `S - E S`, a quarter of `Var S`, and whether it is more than rounding."""
    n, d = f.shape[-2:]
    numbers = targets.detach().to(f).reshape(f.shape)
    a, b = f - f.mean(-2, keepdim=True), numbers - numbers.mean(-2, keepdim=True)
    both = (-2, -1)
    # sum_qr (a_q . b_r)^2 in the smaller of two ways
    squares = (a @ b.mT).square() if d > n else (a.mT @ a) * (b.mT @ b)
    # each by itself: both may vary little about a large mean
    varies = [
        part.square().sum(both) > ALIKE[f.dtype] * whole.square().sum(both)
        for part, whole in ((a, f), (b, numbers))
    ]
    return (a * b).sum(both), squares.sum(both) / (n - 1), varies[0] & varies[1]


def _as_number(outputs: Tensor, targets: Tensor) -> float:
    return float(label_evidence(outputs.double().cpu(), targets.cpu()))


def _any_tasks(classes: int | None) -> bool:  # noqa: ARG001  of the signature of `suits`
    return True


LABEL_EVIDENCE = Metric(
    "label_evidence",
    "evidence that the labels mean something",
    _as_number,
    _any_tasks,
    undefined_where="all query targets are equal",
)
"""the evidence as a metric, which an objective measures with one forward pass a task"""
