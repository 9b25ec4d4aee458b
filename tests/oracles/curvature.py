"""Dense Gauss-Newton matrices and Hessians, from Jacobians of the whole query set."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import jacrev

LOSSES: dict[str, Callable[..., Tensor]] = {"cross_entropy": F.cross_entropy, "mse": F.mse_loss}


def hessian(f):
    """Reverse over reverse: torch's own (forward over reverse) warns about `torch.jit`."""
    return jacrev(jacrev(f))


def flat_function(fn, params, task):
    """The task's outputs as a function of one vector, its target, and the vector."""
    sizes = [p.numel() for p in params.values()]

    def outputs(x):
        pieces = x.split(sizes)
        shaped = {
            name: piece.reshape(p.shape)
            for piece, (name, p) in zip(pieces, params.items(), strict=True)
        }
        return fn(shaped, task)[0]

    x = torch.cat([p.detach().reshape(-1) for p in params.values()])
    return outputs, fn(params, task)[1], x


def gauss_newton(fn, params, task, loss, *, functorch=True):
    """`J'HJ [P, P]` of a loss by its name."""
    return dense_gauss_newton(fn, params, task, LOSSES[loss], functorch=functorch)


def dense_gauss_newton(fn, params, task, loss, *, functorch=True):
    """`J'HJ [P, P]`: J of all outputs, H of the loss (outputs, target) in all outputs.

    `functorch=False` for functions that write to a module's buffers, which jacrev refuses.
    """
    J, H = _jacobian_and_hessian(fn, params, task, loss, functorch)
    return J.T @ H @ J


def gauss_newton_diagonal(fn, params, task, loss, *, functorch=True):
    """Diagonal `[P]` of the same matrix, for more parameters than a matrix has room for."""
    J, H = _jacobian_and_hessian(fn, params, task, LOSSES[loss], functorch)
    return (J * (H @ J)).sum(0)


def _jacobian_and_hessian(fn, params, task, loss, functorch):
    outputs, target, x = flat_function(fn, params, task)
    at = outputs(x).detach()
    J = (
        jacrev(outputs)(x) if functorch else torch.autograd.functional.jacobian(outputs, x)
    ).detach()
    H = hessian(lambda f: loss(f, target))(at)
    J = J.reshape(-1, len(x))
    return J, H.reshape(len(J), len(J))


def loss_hessian(fn, params, task, loss):
    """Hessian `[P, P]` of the task's loss in the parameters."""
    outputs, target, x = flat_function(fn, params, task)
    return hessian(lambda x: LOSSES[loss](outputs(x), target))(x)
