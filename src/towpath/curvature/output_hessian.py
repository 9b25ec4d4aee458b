"""A factor of the Hessian of any convex loss in the outputs, by autograd.

`H = d2 L / df2 [N, N]` of the N outputs is seldom full: most losses couple only the classes of one
sample, or nothing at all. So the outputs are cut into rows `[n, C]`, from the finest cut to the
coarsest, until the blocks `B [n, C, C]` of the rows are all of H:

    single numbers    C = 1                    binary cross-entropy, Huber, squared error
    class scores      C = the classes          cross-entropy with class weights
    samples           C = numbers of a sample  a loss of vectors
    everything        C = N                    a loss that couples samples (contrastive)

The blocks take C products with H (product c has the unit vector of entry c in every row at once),
and whether they are all of H is tried with one product with a random vector. `R = V sqrt(D)` from
the eigenvalues D of each block; a negative one says that the loss is not convex there.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from towpath.losses import Factor, Loss, class_rows

LARGEST_BLOCK = 256
"""the most outputs of a row: each takes a product with H, and a block is decomposed"""


class NoFactorError(Exception):
    """The Hessian of a loss in the outputs has no factor that can be computed."""


class NotConvexError(NoFactorError):
    """The Hessian has a negative eigenvalue at these outputs."""


class LinearError(NoFactorError):
    """The Hessian is zero at these outputs, so that a Gauss-Newton matrix would be, too."""


class TooCoupledError(NoFactorError):
    """The loss couples more than `LARGEST_BLOCK` outputs with each other."""


class NotTwiceError(NoFactorError):
    """Torch cannot differentiate the loss twice."""


def output_factor(loss: Loss, outputs: Tensor, targets: Tensor) -> Factor:
    """Return a factor of the loss's Hessian in the outputs.

    Args:
        loss: the loss.
        outputs: the task's outputs, with their graph.
        targets: the task's targets.

    Raises:
        NoFactorError: one of its subclasses, which says why there is none.
    """
    try:
        product = _product(loss, outputs.detach(), targets)
        order, blocks = _blocks(product, outputs.detach())
    except (RuntimeError, NotImplementedError) as error:
        raise NotTwiceError(str(error)) from error
    if not bool(blocks.any()):
        raise LinearError
    root = _root(blocks)  # [n, C, C]
    rows = outputs.reshape(-1)[order]
    return Factor(rows, lambda e: torch.einsum("nij,nj->ni", root, e), 1)


def _product(loss: Loss, outputs: Tensor, targets: Tensor) -> Callable[[Tensor], Tensor]:
    """Return the function from a vector of the outputs' shape to its product with H."""
    with torch.enable_grad():
        at = outputs.clone().requires_grad_()
        value = loss.curved(at, targets)
        (slope,) = torch.autograd.grad(value, at, create_graph=True)

    def product(vector: Tensor) -> Tensor:
        """Return H times the vector."""
        if not slope.requires_grad:  # the loss is linear
            return torch.zeros_like(vector)
        (found,) = torch.autograd.grad(slope, at, vector, retain_graph=True, allow_unused=True)
        return torch.zeros_like(vector) if found is None else found

    return product


def _blocks(product: Callable[[Tensor], Tensor], outputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return the finest cut `[n, C]` of the outputs' numbers that H respects, and its blocks."""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(outputs.shape, generator=generator, dtype=torch.float64, device="cpu")
    z = z.to(outputs)
    expected = product(z).reshape(-1)
    tolerance = torch.finfo(outputs.dtype).eps ** 0.5
    for order in _cuts(outputs):
        n, C = order.shape
        blocks = outputs.new_zeros(n, C, C)
        for c in range(C):
            unit = outputs.new_zeros(outputs.numel())
            unit[order[:, c]] = 1.0
            blocks[:, :, c] = product(unit.reshape(outputs.shape)).reshape(-1)[order]
        rebuilt = torch.einsum("nij,nj->ni", blocks, z.reshape(-1)[order])
        error = (rebuilt - expected[order]).abs().max()
        if bool(error <= tolerance * expected.abs().max()):
            return order, (blocks + blocks.mT) / 2
    raise TooCoupledError


def _cuts(outputs: Tensor) -> Iterator[Tensor]:
    """Yield ways to cut the outputs into rows, as indices `[n, C]`, finest first."""
    numbers = torch.arange(outputs.numel(), device=outputs.device)
    shaped = numbers.reshape(outputs.shape)
    cuts = [numbers[:, None]]
    if outputs.ndim:
        cuts += [class_rows(shaped), shaped.reshape(outputs.shape[0], -1), numbers[None]]
    seen: set[int] = set()
    for order in cuts:
        C = order.shape[1]
        if C <= LARGEST_BLOCK and C not in seen:
            seen.add(C)
            yield order


def _root(blocks: Tensor) -> Tensor:
    """Return R of each block, `R R' = B`; raise NotConvexError for a negative eigenvalue."""
    if blocks.shape[-1] == 1:
        D, V = blocks[..., 0], torch.ones_like(blocks)
    else:
        D, V = torch.linalg.eigh(blocks)
    if bool(D.min() < -(torch.finfo(D.dtype).eps ** 0.5) * D.abs().max()):
        raise NotConvexError
    root: Tensor = V * D.clamp_min(0.0).sqrt()[:, None, :]
    return root
