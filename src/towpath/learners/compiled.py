"""Models compiled by `torch.compile` are refused, because planning asks of them what they lack.

A plan differentiates gradients (second-order inner loops, exact adjoints, Hutchinson's estimator),
and torch's compiled graphs cannot be differentiated twice ("torch.compile with aot_autograd does
not currently support double backward"). Besides, workers copy the model and swap its parameters for
each task, so that a compiled one would be compiled for each of them.
"""

from torch import nn


def check_not_compiled(model: nn.Module) -> None:
    """Raise a ValueError if the model or a part of it was compiled by `torch.compile`."""
    for name, module in model.named_modules():
        # by the name of its class: importing torch's compiler takes seconds
        wrapped = type(module).__name__ == "OptimizedModule"
        if wrapped or getattr(module, "_compiled_call_impl", None) is not None:
            part = f"its part {name!r}" if name else "the model"
            raise ValueError(
                f"Found a model of which {part} is compiled by torch.compile; expected a plain "
                "nn.Module, because a plan differentiates graphs twice, and compiled ones allow "
                "that once. Pass the model as it was before torch.compile."
            )
