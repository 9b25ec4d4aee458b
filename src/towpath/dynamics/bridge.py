"""The bridge to `torch.optim`: reads an optimiser's state before a plan and writes it afterwards.

Only what is modelled is read. An optimiser or an option without a model is a ValueError that names
it: planning with the wrong dynamics would be worse than not planning.
"""

import difflib
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from towpath.dynamics.amsgrad import TorchAdamOrAMSGrad, TorchAdamW
from towpath.dynamics.clipping import clipped
from towpath.dynamics.kind import TorchKind
from towpath.dynamics.optimiser_state import OptimiserState
from towpath.dynamics.radam import TorchRAdam
from towpath.dynamics.rmsprop import TorchRMSprop
from towpath.dynamics.sgd import TorchSGD
from towpath.dynamics.state import Dynamics, State
from towpath.dynamics.stepping import Stepping, TorchSchedule
from towpath.flat import Layout

KINDS: dict[type[torch.optim.Optimizer], TorchKind] = {
    torch.optim.SGD: TorchSGD(),
    torch.optim.Adam: TorchAdamOrAMSGrad(),
    torch.optim.AdamW: TorchAdamW(),
    torch.optim.RAdam: TorchRAdam(),
    torch.optim.RMSprop: TorchRMSprop(),
}
"""The classes of `torch.optim` that are modelled. A subclass may step otherwise, and is not."""


def read_torch(
    model: nn.Module, optimizer: torch.optim.Optimizer | Stepping
) -> tuple[dict[str, Tensor], OptimiserState]:
    """Return the optimised parameters by name, detached, and the optimiser's state."""
    stepping = Stepping.of(optimizer)
    optimizer = stepping.optimizer
    held = _held(model, optimizer)
    check_uniform(held)
    _check_hooks(held, optimizer)
    params = {name: p.detach().clone() for name, p in held.items()}
    layout = Layout.of(params)
    tensors = list(held.values())
    kind = kind_of(optimizer)
    place = {id(p): i for i, group in enumerate(optimizer.param_groups) for p in group["params"]}
    places = [place[id(p)] for p in tensors]
    rules = [kind.rule(optimizer.param_groups[i]) for i in places]
    kept = {name: None for i in places for name in kind.kept(optimizer.param_groups[i])}
    dynamics = kind.dynamics(layout, rules).holding(tuple(kept))
    x = layout.flatten(list(params.values()))
    saved = [dict(optimizer.state.get(p, {})) for p in tensors]
    slots = tuple(
        layout.flatten(
            [
                p.detach().new_zeros(p.shape) if entry.get(key) is None else entry[key].detach()
                for p, entry in zip(tensors, saved, strict=True)
            ]
        ).to(x)
        for key in dynamics.slot_names
    )
    steps = tuple(kind.steps_taken(entry) for entry in saved)
    schedule = None
    if stepping.scheduler is not None:
        schedule = TorchSchedule(stepping.scheduler, kind, places)
    return params, OptimiserState(clipped(dynamics, stepping.clip), slots, steps, schedule)


def _held(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, nn.Parameter]:
    """Return the model's trainable parameters that the optimiser holds, by name."""
    names = {id(p) for p in model.parameters()}
    in_groups = {id(p): p for group in optimizer.param_groups for p in group["params"]}
    strangers = [p for p in in_groups.values() if id(p) not in names]
    if strangers:
        raise ValueError(
            f"The optimiser holds a parameter of shape {tuple(strangers[0].shape)} that is not one "
            "of the model's; expected an optimiser made from this model's parameters()."
        )
    held = {
        name: p for name, p in model.named_parameters() if id(p) in in_groups and p.requires_grad
    }
    if not held:
        frozen = not any(p.requires_grad for p in model.parameters())
        raise ValueError(
            "The optimiser holds no trainable parameter of the model; expected at least one. "
            + (
                "All parameters of the model are frozen: unfreeze a layer with "
                "layer.requires_grad_(True)."
                if frozen
                else "Make it with e.g. torch.optim.Adam(model.parameters())."
            )
        )
    return held


def _check_hooks(held: Mapping[str, nn.Parameter], optimizer: torch.optim.Optimizer) -> None:
    """Raise a ValueError for hooks that torch calls at a step, which a plan would not call."""
    instead = (
        "a plan takes its steps itself and would leave it out. Remove the hook; clip gradients "
        "with tp.Stepping(optimizer, clip_norm=...), and do anything else after plan.apply_."
    )
    if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
        raise ValueError(
            f"The optimiser has a hook that torch calls at every optimizer.step(); {instead}"
        )
    for name, p in held.items():
        if p._backward_hooks or p._post_accumulate_grad_hooks:
            raise ValueError(
                f"The parameter {name!r} has a hook that torch calls in backward(); {instead}"
            )


def write_torch(
    model: nn.Module, optimizer: torch.optim.Optimizer, dynamics: Dynamics, state: State
) -> None:
    """Write parameters and moments after the planned steps into the model and the optimiser.

    The model, its parameters and the optimiser stay the same objects.

    Args:
        model: the model whose parameters are written.
        optimizer: the optimiser whose moments are written.
        dynamics: the dynamics that the state belongs to.
        state: the state after the planned steps.
    """
    held, layout = dict(model.named_parameters()), dynamics.layout
    values = layout.unflatten(state.x)
    moments = dict(zip(dynamics.slot_names, map(layout.unflatten, state.slots), strict=True))
    kind = kind_of(optimizer)
    group_of = {id(p): group for group in optimizer.param_groups for p in group["params"]}
    with torch.no_grad():
        for index, name in enumerate(layout.names):
            p = held[name]
            p.copy_(values[name])
            kept = kind.kept(group_of[id(p)])
            if not kept:
                continue
            entry = optimizer.state[p]
            kind.write_steps(entry, state.steps[index])
            for key in kept:
                entry[key] = moments[key][name].clone()
    # torch's schedulers warn unless the optimiser took a step before theirs
    optimizer._opt_called = True  # type: ignore[attr-defined]


def check_uniform(params: Mapping[str, Tensor]) -> None:
    """Raise a ValueError unless all parameters share one device and a dtype for planning."""
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
            "Convert the model with model.float(); to compute in bfloat16, put torch.autocast "
            "into the model's forward, which leaves the parameters as they are."
        )


def kind_of(optimizer: torch.optim.Optimizer) -> TorchKind:
    """Return the object that reads and writes this optimiser, or raise a ValueError."""
    cls = type(optimizer)
    if cls in KINDS:
        return KINDS[cls]
    names = [kind.name for kind in KINDS.values()]
    close = difflib.get_close_matches(cls.__name__, names, 1, 0.6)
    hint = f" Did you mean {close[0]}?" if close and close[0] != cls.__name__ else ""
    raise ValueError(
        f"The optimiser {cls.__module__}.{cls.__name__} is not modelled; expected one of "
        f"torch.optim.{{{', '.join(names)}}}.{hint}"
    )
