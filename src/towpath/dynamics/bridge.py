"""Real `torch.optim` objects in and out: read their state before a plan, write it back after.

Only what is modelled is read. An optimiser or an option without a model is a ValueError that names
it: planning with the wrong dynamics would be worse than not planning.
"""

import difflib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from towpath.dynamics.adam import Adam, AdamDynamics
from towpath.dynamics.sgd import SGD, SGDDynamics
from towpath.dynamics.state import Dynamics, OptimiserState, State
from towpath.flat import Layout

MODELLED = ("SGD", "Adam", "AdamW")
# Options that change the step itself; `foreach`, `fused` and `capturable` only change its speed.
UNMODELLED_OPTIONS = ("amsgrad", "maximize", "differentiable")


def read_torch(
    model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, Tensor], OptimiserState]:
    """The optimised parameters by name, detached, and the optimiser's dynamics and moments."""
    names = {id(p): name for name, p in model.named_parameters()}
    group_of = {id(p): group for group in optimizer.param_groups for p in group["params"]}
    strangers = [
        p for group in optimizer.param_groups for p in group["params"] if id(p) not in names
    ]
    if strangers:
        raise ValueError(
            f"The optimiser holds a parameter of shape {tuple(strangers[0].shape)} that is not one "
            "of the model's; expected an optimiser made from this model's parameters()."
        )
    held = {
        name: p for name, p in model.named_parameters() if id(p) in group_of and p.requires_grad
    }
    if not held:
        raise ValueError(
            "The optimiser holds no trainable parameter of the model; expected at least one. "
            "Make it with e.g. torch.optim.Adam(model.parameters())."
        )
    check_uniform(held)
    params = {name: p.detach().clone() for name, p in held.items()}
    layout = Layout.of(params)
    tensors = list(held.values())
    rule, dynamics = _rules(optimizer)
    rules = tuple(rule(group_of[id(p)]) for p in tensors)
    model_of_step = dynamics(layout, rules)
    x = layout.flatten(list(params.values()))
    empty = model_of_step.initial(x)
    saved = [dict(optimizer.state.get(p, {})) for p in tensors]
    slots = tuple(
        layout.flatten(
            [
                p.detach().new_zeros(p.shape) if entry.get(key) is None else entry[key].detach()
                for p, entry in zip(tensors, saved, strict=True)
            ]
        ).to(x)
        for key in _slot_keys(optimizer)[: len(empty.slots)]
    )
    steps = tuple(_steps_taken(optimizer, entry) for entry in saved)
    return params, OptimiserState(model_of_step, slots, steps)


def write_torch(
    model: nn.Module, optimizer: torch.optim.Optimizer, layout: Layout, state: State
) -> None:
    """Parameters and moments as after the planned steps; the objects stay the same objects."""
    held = dict(model.named_parameters())
    values = layout.unflatten(state.x)
    moments = [layout.unflatten(slot) for slot in state.slots]
    keys = _slot_keys(optimizer)
    group_of = {id(p): group for group in optimizer.param_groups for p in group["params"]}
    with torch.no_grad():
        for index, name in enumerate(layout.names):
            p = held[name]
            p.copy_(values[name])
            is_adam = isinstance(optimizer, torch.optim.Adam | torch.optim.AdamW)
            if not is_adam and not group_of[id(p)].get("momentum"):
                continue  # torch keeps no entry either
            entry = optimizer.state[p]
            if is_adam:
                entry["step"] = _step_tensor(entry.get("step"), state.steps[index])
            for key, moment in zip(keys, moments, strict=False):
                entry[key] = moment[name].clone()
    # torch's schedulers ask whether a step was taken before theirs, and warn if not
    optimizer._opt_called = True  # type: ignore[attr-defined]


def check_uniform(params: Mapping[str, Tensor]) -> None:
    """ValueError unless all parameters share one device and one dtype that can be planned in."""
    kinds = {(p.dtype, p.device) for p in params.values()}
    if len(kinds) > 1:
        raise ValueError(
            f"The optimised parameters differ in dtype or device ({sorted(map(str, kinds))}); "
            "expected one of each. Move the model with .to(device, dtype)."
        )
    dtype = next(iter(params.values())).dtype
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"The parameters are {dtype}; expected torch.float32 or torch.float64. "
            "Convert the model with model.float()."
        )


def _rules(
    optimizer: torch.optim.Optimizer,
) -> tuple[Callable[[dict[str, Any]], Any], Callable[[Layout, Any], Dynamics]]:
    kind = type(optimizer)
    if kind is torch.optim.SGD:
        return _sgd_rule, SGDDynamics
    if kind in (torch.optim.Adam, torch.optim.AdamW):
        return _adam_rule(decoupled=kind is torch.optim.AdamW), AdamDynamics
    close = difflib.get_close_matches(kind.__name__, MODELLED, 1, 0.6)
    hint = f" Did you mean {close[0]}?" if close and close[0] != kind.__name__ else ""
    raise ValueError(
        f"The optimiser {kind.__module__}.{kind.__name__} is not modelled; expected one of "
        f"torch.optim.{{{', '.join(MODELLED)}}}.{hint}"
    )


def _number(value: Any) -> float:
    return float(value.item()) if isinstance(value, Tensor) else float(value)


def _check_options(kind: str, group: dict[str, Any]) -> None:
    for option in UNMODELLED_OPTIONS:
        if group.get(option):
            raise ValueError(
                f"torch.optim.{kind} with {option}={group[option]} is not modelled; expected "
                f"{option}=False. Make the optimiser without it."
            )


def _sgd_rule(group: dict[str, Any]) -> SGD:
    _check_options("SGD", group)
    return SGD(
        lr=_number(group["lr"]),
        momentum=_number(group["momentum"]),
        dampening=_number(group["dampening"]),
        nesterov=bool(group["nesterov"]),
        weight_decay=_number(group["weight_decay"]),
    )


def _adam_rule(*, decoupled: bool) -> Callable[[dict[str, Any]], Adam]:
    def rule(group: dict[str, Any]) -> Adam:
        _check_options("AdamW" if decoupled else "Adam", group)
        return Adam(
            lr=_number(group["lr"]),
            betas=(_number(group["betas"][0]), _number(group["betas"][1])),
            eps=_number(group["eps"]),
            weight_decay=_number(group["weight_decay"]),
            decoupled=bool(group.get("decoupled_weight_decay", decoupled)),
        )

    return rule


def _slot_keys(optimizer: torch.optim.Optimizer) -> tuple[str, ...]:
    is_sgd = isinstance(optimizer, torch.optim.SGD)
    return ("momentum_buffer",) if is_sgd else ("exp_avg", "exp_avg_sq")


def _steps_taken(optimizer: torch.optim.Optimizer, entry: dict[str, Any]) -> int:
    """For SGD only whether a momentum buffer exists matters: torch's first step differs."""
    if isinstance(optimizer, torch.optim.SGD):
        return int(entry.get("momentum_buffer") is not None)
    return int(_number(entry.get("step", 0)))


def _step_tensor(old: Any, steps: int) -> Tensor:
    if isinstance(old, Tensor):
        return torch.full_like(old, float(steps))
    # torch's own choice: its counters stay on the CPU, in the default dtype
    return torch.tensor(float(steps), dtype=torch.get_default_dtype(), device="cpu")
