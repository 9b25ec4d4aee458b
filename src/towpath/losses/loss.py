"""What a loss is: a scalar of the outputs and targets of a task, and what its outputs mean.

The outputs `f` of a task are all of its numbers, whatever their shape; the loss is one scalar
`L(f)`, usually a mean over samples. For the curvature, `R` is a factor of the Hessian of the loss
in the outputs, `R R' = d2 L / df2`. A loss that knows a closed form of it gives one (`factor`); for
every other loss the Hessian is computed by autograd (`towpath.curvature.output_hessian`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from towpath.losses.label_range import known_range


@dataclass(frozen=True, eq=False)
class Factor:
    """A factor R of the Hessian in the outputs, row by row: `R R' = count * d2 L / df2`."""

    rows: Tensor
    """the outputs cut into rows `[n, C]` that the Hessian does not couple, with their graph"""
    times: Callable[[Tensor], Tensor]
    """e `[n, C]` -> R e `[n, C]`"""
    count: int
    """what the squares of backward passes with cotangent `R e` are divided by"""


class Loss(ABC):
    """The loss of a task; a new one implements `value`."""

    name: str
    """its name in recipes and messages"""
    classifies: bool = False
    """whether integer targets are classes with their scores in dimension 1: they have accuracies"""
    regresses: bool = False
    """whether targets are numbers that the outputs should equal: they have an R2"""
    ignore_index: int | None = None
    """label of samples that do not count; None for no such label"""

    @abstractmethod
    def value(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss, a scalar, usually the mean over everything."""

    def curved(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the scalar whose Hessian in the outputs is the curvature's: the loss itself.

        A loss may give another one that equals it for all outputs that it accepts.
        """
        return self.value(outputs, targets)

    def factor(self, outputs: Tensor, targets: Tensor) -> Factor | None:  # noqa: ARG002
        """Return a factor of the Hessian in closed form; None where autograd has to compute it."""
        return None

    def rows(self, outputs: Tensor) -> Tensor:
        """Return outputs of any shape as one sample a row `[n, C]`."""
        if self.classifies:
            return class_rows(outputs)
        return outputs.reshape(outputs.shape[0], -1) if outputs.ndim else outputs.reshape(1, 1)

    def counted(self, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the class scores `[n, C]` and labels `[n]` of the samples that count in metrics.

        A sample does not count if its label is ignored or, with a function of the user's that
        takes such labels, if it is none of the classes.

        Args:
            outputs: the class scores, `[N, C, ...]`.
            labels: their integer labels.
        """
        rows, known = self.rows(outputs), known_range(labels)
        labels = labels.reshape(-1)
        ways, ignored = rows.shape[-1], self.ignore_index
        if known is not None and known.within(ways) and not known.may_have(ignored):
            return rows, labels  # all of them count, which takes no look at the labels
        counts = (labels >= 0) & (labels < ways)
        if ignored is not None:
            counts &= labels != ignored
        return rows[counts], labels[counts]

    def natural(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor] | None:  # noqa: ARG002
        """Return rows a `[n, C]` and targets b of which `a . b` is a sample's log-likelihood.

        It may lack what does not depend on the targets. The evidence of float targets is computed
        of them (`towpath.label_evidence`); None for a loss, or targets, without such a form.

        Args:
            outputs: the outputs of a task.
            targets: their targets.
        """
        return None

    def predictions(self, outputs: Tensor, dim: int = -1) -> Tensor:  # noqa: ARG002
        """Return what people read of the outputs: the outputs, or the probabilities of classes.

        Args:
            outputs: the outputs of a task.
            dim: the dimension of the classes, where there are some.
        """
        return outputs

    def __repr__(self) -> str:
        """Return the name of the loss."""
        return f"<loss {self.name}>"


def class_rows(outputs: Tensor) -> Tensor:
    """Return the class scores of each sample in a row: they are in dimension 1, or the only one."""
    if outputs.ndim == 1:
        outputs = outputs[None]
    return outputs.movedim(1, -1).reshape(-1, outputs.shape[1])
