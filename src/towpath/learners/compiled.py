"""Models compiled by `torch.compile` are refused, because planning asks of them what they lack.

A plan differentiates gradients (second-order inner loops, exact adjoints, Hutchinson's estimator),
and torch's compiled graphs cannot be differentiated twice ("torch.compile with aot_autograd does
not currently support double backward"). Besides, workers copy the model and swap its parameters for
each task, so that a compiled one would be compiled for each of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

_TWICE = "a plan differentiates graphs twice, and compiled ones allow that once"
_TORCH_SAYS = ("donated buffer", "does not currently support double backward")
"""parts of torch's messages about compiled graphs that are used, or differentiated, once more"""


def check_not_compiled(model: nn.Module) -> None:
    """Raise a ValueError if the model or a part of it was compiled by `torch.compile`."""
    for name, module in model.named_modules():
        # by the name of its class: importing torch's compiler takes seconds
        wrapped = type(module).__name__ == "OptimizedModule"
        if wrapped or getattr(module, "_compiled_call_impl", None) is not None:
            found = f"a model whose part {name!r} is" if name else "a model that is"
            raise ValueError(
                f"Found {found} compiled by torch.compile; expected a plain nn.Module, because "
                f"{_TWICE}. Pass the model as it was before torch.compile."
            )


@contextmanager
def compiled_graphs_told() -> Iterator[None]:
    """Turn torch's errors about a compiled graph in a task function into one with the cure.

    A plan sees the parameters that it hands to a task function, not the modules that the function
    calls, so there a compiled model shows only when it is differentiated for the second time.
    """
    try:
        yield
    except RuntimeError as error:
        if not any(words in str(error) for words in _TORCH_SAYS):
            raise
        raise ValueError(
            "The task function calls something that is compiled by torch.compile; expected plain "
            f"modules and functions, because {_TWICE}. Call the model as it was before "
            "torch.compile."
        ) from error
