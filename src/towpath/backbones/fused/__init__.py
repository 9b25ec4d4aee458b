"""Batch norm, max-pooling and ReLU of a convolutional block in one pass over memory, on a CPU.

`choice` says where the fused operations may stand in for torch's own; `norm_block` and
`image_block` are the operations and their derivatives; `norm_loops` and `image_loops` are what
numba compiles. numba is imported when the first block runs.
"""

from typing import TYPE_CHECKING

from towpath.backbones.fused.choice import fuses_all, fuses_norm
from towpath.lazy import exports

if TYPE_CHECKING:
    from towpath.backbones.fused.image_block import first_block
    from towpath.backbones.fused.norm_block import norm_pool_relu

__all__ = ["first_block", "fuses_all", "fuses_norm", "norm_pool_relu"]
__getattr__, __dir__ = exports(
    __name__,
    {
        "towpath.backbones.fused.image_block": ("first_block",),
        "towpath.backbones.fused.norm_block": ("norm_pool_relu",),
    },
)
