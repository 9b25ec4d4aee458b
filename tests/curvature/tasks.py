"""Small functions of (params, task) of every kind that the curvature must follow."""

import torch
import torch.nn.functional as F
from torch.func import grad

from tests.oracles.training import network


def plain(params, task):
    return network(params, task[0]), task[1]


def batch_normalised(params, task):
    """Batch statistics mix the samples; no buffers."""
    hidden = F.batch_norm(task[0] @ params["a"].T + params["b"], None, None, training=True)
    return torch.tanh(hidden) @ params["c"].T, task[1]


def adapted(loss, *, first_order):
    """MAML in one line a step: adapt on the first two samples, answer for the rest."""
    value = F.cross_entropy if loss == "cross_entropy" else F.mse_loss

    def fn(params, task):
        inputs, targets = task
        fast = dict(params)
        for _ in range(2):
            slopes = grad(lambda p: value(network(p, inputs[:2]), targets[:2]))(fast)
            if first_order:
                slopes = {name: slope.detach() for name, slope in slopes.items()}
            fast = {name: p - 0.5 * slopes[name] for name, p in fast.items()}
        return network(fast, inputs[2:]), targets[2:]

    return fn


def images(params, task):
    """Class scores for every position, `[n, C, positions]`, as in segmentation."""
    scores = torch.stack([network(params, task[0]), network(params, -task[0].flip(0))], -1)
    return scores, task[1]


def functions(loss):
    return {
        "plain": plain,
        "batch norm": batch_normalised,
        "first-order inner loop": adapted(loss, first_order=True),
        "second-order inner loop": adapted(loss, first_order=False),
    }
