"""The convergence theorem of the paper as functions: its bound, and its assumptions.

The theorem covers MAML with one inner step, trained by plain SGD. With `z` drawn uniformly from the
iterates `x_1 .. x_T`, it says

    E |grad (u_t . l)(z)|^2  <=  epsilon_0 + kappa / T.

| letter | argument | meaning |
|---|---|---|
| B | `loss_bound` | no sample's loss exceeds it |
| L | `lipschitz` | Lipschitz constant of a sample's loss in the parameters |
| S | `smoothness` | Lipschitz constant of its gradient |
| rho | `hessian_lipschitz` | Lipschitz constant of its Hessian |
| gamma | `inner_lr` | learning rate of the one inner step |
| alpha | `meta_lr` | learning rate of SGD |
| M | `tasks` | tasks of a mini-batch |
| delta | `delta` | `max_t |u_t - 1/M|_2`, how far the weights move from uniform |
| sigma | `sigma` | bound on the standard deviation of a sample's gradient |

Where the paper's argument does not hold as written, the tests keep a counterexample
(`tests/test_theory.py`) and the docstring says what does hold; docs/theory.md presents them all.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class OutsideTheoryError(ValueError):
    """The numbers that were passed violate an assumption of the theorem."""


def _checked(name: str, value: float, *, zero: bool) -> float:
    low = "of at least 0" if zero else "above 0"
    if not math.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise OutsideTheoryError(f"{name} is {value!r}; expected a finite number {low}.")
    return float(value)


def _tasks(tasks: int) -> int:
    if isinstance(tasks, bool) or not isinstance(tasks, int) or tasks < 1:
        raise OutsideTheoryError(f"tasks is {tasks!r}; expected a whole number of at least 1.")
    return tasks


def weight_deviation(weights: Iterable[Sequence[float]]) -> float:
    """Return delta, the largest `|u_t - 1/M|_2` over mini-batches.

    Each item of `weights` is the task weights of one mini-batch.

    >>> round(weight_deviation([[0.5, 0.5], [0.8, 0.2]]), 6)  # sqrt(0.3^2 + 0.3^2)
    0.424264
    """
    largest = 0.0
    for u in weights:
        if not len(u):
            raise OutsideTheoryError("A mini-batch has no weights; expected one a task.")
        away = math.sqrt(math.fsum((w - 1 / len(u)) ** 2 for w in u))
        if not math.isfinite(away):
            raise OutsideTheoryError("A weight is not finite; expected numbers.")
        largest = max(largest, away)
    return largest


def gradient_sigma(lipschitz: float, *, inner_lr: float = 0.0, smoothness: float = 0.0) -> float:
    """Return sigma, a bound on the standard deviation of a sample's gradient.

    The paper takes 2L, which bounds the deviation of the gradient at the adapted parameters. The
    gradient of the outer loop is `(I - gamma H)` times it, of norm up to `(1 + gamma S) L`. So pass
    `inner_lr` and `smoothness` for an inner step; the result is then `2 L (1 + gamma S)`.
    """
    L = _checked("lipschitz", lipschitz, zero=True)
    gamma = _checked("inner_lr", inner_lr, zero=True)
    return 2 * L * (1 + gamma * _checked("smoothness", smoothness, zero=True))


def weighted_sigma(sigma: float, delta: float, tasks: int) -> float:
    """Return sigma~ = sigma (delta + 1/sqrt(M)), sigma for the weighted loss of a mini-batch."""
    delta = _checked("delta", delta, zero=True)
    return _checked("sigma", sigma, zero=True) * (delta + 1 / math.sqrt(_tasks(tasks)))


def adapted_smoothness(
    smoothness: float, inner_lr: float, hessian_lipschitz: float, lipschitz: float
) -> float:
    """Return S~ = S (1 + gamma S)^2 + gamma rho L, the smoothness of the loss after adaptation.

    Args:
        smoothness: S, the Lipschitz constant of the gradient of a sample's loss.
        inner_lr: gamma, the learning rate of the one inner step.
        hessian_lipschitz: rho, the Lipschitz constant of the Hessian of a sample's loss.
        lipschitz: L, the Lipschitz constant of a sample's loss.
    """
    S = _checked("smoothness", smoothness, zero=False)
    gamma = _checked("inner_lr", inner_lr, zero=True)
    rho = _checked("hessian_lipschitz", hessian_lipschitz, zero=True)
    return S * (1 + gamma * S) ** 2 + gamma * rho * _checked("lipschitz", lipschitz, zero=True)


def weight_sum_bound(delta: float, tasks: int) -> float:
    """Return delta sqrt(M) + 1, which the weights of no mini-batch exceed in sum."""
    return _checked("delta", delta, zero=True) * math.sqrt(_tasks(tasks)) + 1


def largest_learning_rate(adapted: float, delta: float, tasks: int) -> float:
    """Return 2 / (S~ (delta sqrt(M) + 1)); the theorem holds for meta learning rates below it.

    Args:
        adapted: S~, from `adapted_smoothness`.
        delta: how far the weights move from uniform, from `weight_deviation`.
        tasks: M, the tasks of a mini-batch.
    """
    return 2 / (_checked("adapted", adapted, zero=False) * weight_sum_bound(delta, tasks))


@dataclass(frozen=True)
class Bound:
    """The right-hand side of the theorem, epsilon_0 + kappa / T, and its two constants.

    >>> bound = Bound(meta_lr=0.1, adapted=2.0, sigma=1.0, loss_bound=1.0, delta=0.0, tasks=4,
    ...               initial_loss=1.0)
    >>> round(bound.epsilon_0, 6), round(bound.kappa, 6), round(bound.after(100), 6)
    (0.027778, 11.111111, 0.138889)
    """

    meta_lr: float
    adapted: float
    """S~, from `adapted_smoothness`"""
    sigma: float
    loss_bound: float
    delta: float
    tasks: int
    initial_loss: float
    """`u_1 . l(x_1)`, the weighted loss before training"""

    def __post_init__(self) -> None:
        _checked("meta_lr", self.meta_lr, zero=False)
        _checked("loss_bound", self.loss_bound, zero=True)
        # the proof drops u . l at the end of training, so losses must not be negative
        _checked("initial_loss", self.initial_loss, zero=True)
        limit = largest_learning_rate(self.adapted, self.delta, self.tasks)
        if self.meta_lr >= limit:
            raise OutsideTheoryError(
                f"meta_lr is {self.meta_lr:g}; expected less than 2 / (S~ (delta sqrt(M) + 1)) = "
                f"{limit:g}. The theorem says nothing of larger steps; lower the learning rate."
            )

    @property
    def _denominator(self) -> float:
        sums = weight_sum_bound(self.delta, self.tasks)
        return self.meta_lr * (2 - self.meta_lr * self.adapted * sums)

    @property
    def epsilon_0(self) -> float:
        """The part of the bound on the squared gradient norm that longer training does not reduce.

        The paper remarks that it vanishes with delta, but with uniform weights it still is
        `alpha sigma~^2 S~ / (2 - alpha S~)`.
        """
        spread = weighted_sigma(self.sigma, self.delta, self.tasks)
        sums = weight_sum_bound(self.delta, self.tasks)
        drift = 4 * self.delta * self.loss_bound * math.sqrt(self.tasks)
        return (drift + self.meta_lr**2 * spread**2 * self.adapted * sums) / self._denominator

    @property
    def kappa(self) -> float:
        """The constant of the part of the bound, `kappa / T`, that longer training reduces."""
        return 2 * self.initial_loss / self._denominator

    def after(self, steps: int) -> float:
        """Return the bound on the mean squared gradient norm over the first `steps` iterates."""
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            raise OutsideTheoryError(f"steps is {steps!r}; expected a whole number of at least 1.")
        return self.epsilon_0 + self.kappa / steps


def smallest_epsilon_0(meta_lr: float, loss_bound: float, delta: float, tasks: int) -> float:
    """Return 2 delta B sqrt(M) / alpha; epsilon_0 is never below it, whatever S~ and sigma are.

    Args:
        meta_lr: alpha, the learning rate of SGD.
        loss_bound: B, which no sample's loss exceeds.
        delta: how far the weights move from uniform, from `weight_deviation`.
        tasks: M, the tasks of a mini-batch.
    """
    alpha = _checked("meta_lr", meta_lr, zero=False)
    B = _checked("loss_bound", loss_bound, zero=True)
    return 2 * _checked("delta", delta, zero=True) * B * math.sqrt(_tasks(tasks)) / alpha


@dataclass(frozen=True)
class LossConstants:
    """The constants L, S and rho of a loss, for a model that is linear in its parameters: A x."""

    lipschitz: float
    smoothness: float
    hessian_lipschitz: float


def squared_error_constants(inputs: Array, target: Array, radius: float) -> LossConstants:
    """Return the constants of the squared error `|A x - y|^2` for `|x| <= radius`.

    A, the `inputs`, is `[C, P]`, and y, the `target`, is `[C]`. As in the paper's table,
    L = 2 (radius |A'A| + |A'y|), S = 2 |A'A|, rho = 0 (operator norms).
    """
    A, y = np.asarray(inputs, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if A.ndim != 2 or y.shape != A.shape[:1]:
        raise OutsideTheoryError(
            f"Found inputs of shape {A.shape} and a target of shape {y.shape}; expected [C, P] and "
            "[C]."
        )
    gram = float(np.linalg.norm(A.T @ A, 2))
    X0 = _checked("radius", radius, zero=True)
    return LossConstants(2 * (X0 * gram + float(np.linalg.norm(A.T @ y))), 2 * gram, 0.0)


def cross_entropy_constants(inputs: Array) -> LossConstants:
    """Return the constants of softmax cross-entropy of the logits `A x`; A is `[C, P]`.

    The paper gives L = 2 |A|_1, which holds for the sum of absolute entries (not for the operator
    norm that its notation defines: see the tests), and no S or rho. With the spectral norm `s`:
    L = min(2 sum |A_ij|, sqrt(2) s), S = s^2 / 2, rho = (sqrt 2)^3 / (6 sqrt 3) s^3: the gradient
    is A'(p - y) with |p - y| <= sqrt 2, the Hessian of log-sum-exp along a unit direction is a
    variance and its derivative a third central moment of a variable of range at most sqrt 2.
    """
    A = np.asarray(inputs, dtype=np.float64)
    if A.ndim != 2:
        raise OutsideTheoryError(f"Found inputs of shape {A.shape}; expected [C, P].")
    s = float(np.linalg.norm(A, 2))
    third = math.sqrt(2) ** 3 / (6 * math.sqrt(3))
    L = min(2 * float(np.abs(A).sum()), math.sqrt(2) * s)
    return LossConstants(L, s * s / 2, third * s**3)


def reasons_outside(
    *,
    optimizer: str,
    momentum: float,
    weight_decay: float,
    learner: str,
    adaptation_steps: int,
    first_order: bool,
    targets: bool,
    fresh_tasks: bool = True,
    plain_steps: bool = True,
) -> list[str]:
    """List the reasons why the theorem does not cover a run; none if it does.

    That the loss is smooth is not checked. It takes nine arguments because each is a condition of
    the theorem by itself.

    Args:
        optimizer: the name of the outer optimiser.
        momentum: its momentum.
        weight_decay: its weight decay.
        learner: the name of the learner.
        adaptation_steps: inner steps of an adaptation.
        first_order: whether second derivatives were left out of the gradients.
        targets: whether the weights were planned for trusted tasks.
        fresh_tasks: whether every mini-batch drew new tasks.
        plain_steps: whether gradients were not clipped and the rate was constant.
    """
    reasons = []
    if optimizer != "sgd":
        reasons.append(f"it was trained by {optimizer}; the theorem covers plain SGD")
    if momentum or weight_decay:
        reasons.append("SGD had momentum or weight decay; the theorem covers plain steps")
    if not plain_steps:
        reasons.append(
            "gradients were clipped or the rate was scheduled; the theorem covers neither"
        )
    if learner not in ("maml", "anil"):
        reasons.append(f"the learner is {learner}; the theorem covers MAML")
    elif adaptation_steps != 1:
        reasons.append(f"{adaptation_steps} inner steps were taken; the theorem covers one")
    if learner in ("maml", "anil") and first_order:
        reasons.append("gradients are first-order, not those of the adapted loss")
    if targets:
        reasons.append("the weights were planned for trusted tasks, not for the trained ones")
    if fresh_tasks:
        reasons.append(
            "every mini-batch drew new tasks; the proof telescopes over the same M tasks"
        )
    return reasons
