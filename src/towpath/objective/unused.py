"""Why a parameter has no gradient: what a task function did instead of using it, and the cure."""

from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor

from towpath.objective.task import Params


def check_gradients_on() -> None:
    """Raise a ValueError inside `torch.no_grad()` or `torch.inference_mode()`."""
    if not torch.is_grad_enabled():
        raise ValueError(
            "Gradients are switched off (torch.no_grad() or torch.inference_mode() around this "
            "call); expected them on, because planning and training need the gradients of the "
            "tasks. Move the call out of that block; plan.apply_ needs no such block either."
        )


def unused_error(unused: Collection[str], leaves: Params, loss: Tensor | None) -> ValueError:
    """Return the error for parameters that no task uses, with the cure for its cause.

    Args:
        unused: names of the parameters without a gradient.
        leaves: all parameters by name, as the task function received them.
        loss: the loss of a task, with its graph; None if this process has no task.
    """
    name = min(unused)
    if loss is not None and _leads_elsewhere(loss, leaves):
        return ValueError(
            f"The task function does not use params[{name!r}]: it calls a model that has "
            "parameters of its own, which a plan cannot move; expected everything to be computed "
            "from `params`. Call the model as torch.func.functional_call(model, params, (x,))."
        )
    if loss is not None and not loss.requires_grad:
        return ValueError(
            "The loss of a task depends on no parameter: its graph is cut; expected a loss that "
            "leads back to `params`. Look for torch.no_grad(), .detach(), .item() or NumPy in the "
            "task function."
        )
    return ValueError(
        f"No task of the mini-batch uses the parameter {name!r}: its gradient is "
        "undefined; expected every optimised parameter to enter a loss. Freeze it with "
        "requires_grad_(False) or leave it out of the optimiser."
    )


def _leads_elsewhere(loss: Tensor, leaves: Params) -> bool:
    """Return whether the graph of a loss ends in tensors that are none of the given leaves."""
    own = {id(leaf) for leaf in leaves.values()}
    seen: set[Any] = set()
    queue: list[Any] = [loss.grad_fn]
    while queue:
        node = queue.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)  # of a leaf of the graph
        if variable is not None and id(variable) not in own:
            return True
        queue += [following for following, _ in node.next_functions]
    return False
