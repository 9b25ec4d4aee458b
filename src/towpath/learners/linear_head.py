"""A linear head that each task makes for itself, beside the weights of an embedding."""

from collections.abc import Mapping

from torch import Tensor

from towpath.learners.forward import Forward

# No parameter of a module can have an empty component in its name.
WEIGHT, BIAS = "..weight", "..bias"
"""names of the head's weight `[ways, D]` and bias `[ways]` among the weights of one task"""


def linear_head(embedding: Forward, fast: Mapping[str, Tensor], x: Tensor) -> Tensor:
    """Return the logits `[N, ways]` of x.

    Args:
        embedding: the embedding, called with its own part of the weights.
        fast: the weights of embedding and head.
        x: the inputs.
    """
    body = {name: tensor for name, tensor in fast.items() if name not in (WEIGHT, BIAS)}
    return embedding(body, x).flatten(1) @ fast[WEIGHT].T + fast[BIAS]
