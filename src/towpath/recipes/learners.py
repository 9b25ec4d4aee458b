"""From the sections `backbone` and `learner` of a recipe to a learner that is ready to train.

Besides the options of their classes, `learner.loss` names a loss (`towpath.losses`), and
`backbone.weights` and `backbone.frozen` say where its parameters come from and which of them are
not trained (`towpath.recipes.pretrained`).
"""

import inspect
import math
from collections.abc import Callable, Collection
from functools import partial

import torch
from torch import nn

from towpath.backbones import BACKBONES
from towpath.data import TaskShape
from towpath.learners import LEARNERS, Learner
from towpath.losses import LOSSES, Loss, class_loss, number_loss
from towpath.recipes.component import Component, Options
from towpath.recipes.components import named
from towpath.recipes.memory import require_memory
from towpath.recipes.pretrained import OPTIONS, Pretrained, freeze, has_untrained
from towpath.recipes.typed import RecipeError, options_for
from towpath.wording import one_line, quoted

LOSS = "loss"


def make_learner(
    backbone: Component,
    learner: Component,
    *,
    shape: TaskShape,
    seed: int,
    allowed: Collection[str] = (),
    free: int | None = None,
    trained: bool = False,
) -> Learner:
    """Build backbone and learner, initialised from the seed alone.

    Args:
        backbone: the network, as the recipe names it.
        learner: the learner around it, as the recipe names it.
        shape: what the network must take and return.
        seed: seed of the initial parameters.
        allowed: packages that classes may be imported from.
        free: bytes that the backbone may take, where that is known.
        trained: whether the caller replaces the trained parameters by those of a checkpoint;
            pretrained weights are then read only if anything else comes from them.
    """
    make = named(LEARNERS, learner, "learner", allowed)
    net = named(BACKBONES, backbone, "backbone", allowed)
    chosen_options = _learner_options(make, learner, shape, allowed)
    # a class of the user's need not be derived from ours
    outputs = None if getattr(make, "wants_embedding", False) else shape.outputs
    inferred = _network_sizes(net, backbone, shape, outputs)
    taken = inspect.signature(net).parameters
    ours = {key: v for key, v in backbone.options.items() if key in OPTIONS and key not in taken}
    own = {key: value for key, value in backbone.options.items() if key not in ours}
    options = options_for(net, own, "backbone", leave_out=inferred)
    if net in BACKBONES.values():
        _require_room(net, {**inferred, **options}, free)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: nn.Module = net(**inferred, **options)
        # before the learner is made: Meta-SGD has rates for what is trained only
        freeze(model, ours.get("frozen"))
        made: Learner = make(model, **chosen_options)
    if "frozen" in ours:
        _require_trainable(made, ours["frozen"])
    pretrained = Pretrained.of(ours.get("weights"))
    if pretrained is not None and (not trained or has_untrained(model)):
        pretrained.load_into(model)
    return made


def _require_trainable(learner: Learner, frozen: object) -> None:
    """Raise RecipeError if the learner itself froze what `backbone.frozen` had left to train."""
    if not any(p.requires_grad for p in learner.module.parameters()):
        raise RecipeError(
            f"backbone.frozen is {quoted(frozen)}, and the learner freezes the rest (zero_head: a "
            "head that starts every task at zero is not learned); expected something left to "
            "train. Take a layer off the list, leave learner.zero_head out, or set --learner.name "
            "meta-sgd, which learns the rates of that head."
        )


def _learner_options(
    make: Callable[..., Learner], learner: Component, shape: TaskShape, allowed: Collection[str]
) -> Options:
    """Return the learner's options, with a loss that suits the data; refuse one that does not.

    Args:
        make: the class of the learner.
        learner: the learner, as the recipe names it.
        shape: the tasks, of classes or of numbers.
        allowed: packages that a loss may be imported from.
    """
    if shape.is_regression and not getattr(make, "predicts_numbers", True):
        able = [name for name, each in LEARNERS.items() if each.predicts_numbers]
        raise RecipeError(
            f"learner.name is {learner.name!r}, which predicts classes, and the targets of the "
            f"data are real numbers; expected a learner of regression: {', '.join(able)}. Set for "
            "example --learner.name maml, or --data.kind classification."
        )
    if LOSS not in inspect.signature(make).parameters:
        return options_for(make, learner.options, "learner", leave_out=("model",))
    own = {key: value for key, value in learner.options.items() if key != LOSS}
    options = options_for(make, own, "learner", leave_out=("model", LOSS))
    given = learner.options.get(LOSS)
    if given is None or given == shape.loss:
        return {**options, LOSS: shape.loss}
    return {**options, LOSS: make_loss(given, shape, allowed)}


def make_loss(given: object, shape: TaskShape, allowed: Collection[str] = ()) -> Loss:
    """Make the loss that `learner.loss` names.

    Args:
        given: a name, or a mapping with `name` and options. The name may be the import path of a
            class of losses, or of a function (outputs, targets, options) -> scalar.
        shape: the tasks, of classes or of numbers, which the loss must suit.
        allowed: packages that it may be imported from.
    """
    where = f"learner.{LOSS}"
    component = Component.of(where, given)
    found = named(LOSSES, component, where, allowed)
    if isinstance(found, type):
        made = found(**options_for(found, component.options, where))
    else:
        first_two = list(inspect.signature(found).parameters)[:2]
        made = partial(found, **options_for(found, component.options, where, leave_out=first_two))
    try:
        return number_loss(made) if shape.is_regression else class_loss(made)
    except ValueError:
        kind, able = ("real numbers", "'mse' or 'huber'")
        if not shape.is_regression:
            kind, able = ("labels of classes", "'cross_entropy' or 'nll'")
        raise RecipeError(
            f"{where} is {component.name!r}, and the targets of the data are {kind}; expected "
            f"{able}, or a function of yours. Leave {where} out for {shape.loss!r}."
        ) from None


def _network_sizes(
    net: Callable[..., nn.Module], backbone: Component, shape: TaskShape, outputs: int | None
) -> Options:
    """Return the sizes of a network that follow from the data; refuse one that cannot take them."""
    if "inputs" in inspect.signature(net).parameters:  # a plain network of numbers
        return {"inputs": math.prod(shape.inputs), "outputs": outputs}
    if not shape.of_images:
        raise RecipeError(
            f"backbone.name is {backbone.name!r}, which takes images, and the data are rows of "
            f"{shape.inputs[0]:,} numbers; expected a network of numbers. Set --backbone.name mlp."
        )
    channels, height, _ = shape.inputs
    return {"channels": channels, "image_size": height, "ways": outputs}


def _require_room(net: Callable[..., nn.Module], options: Options, free: int | None) -> None:
    """Raise RecipeError if the backbone cannot fit; it is counted without being allocated."""
    smaller = "Choose a smaller backbone, or smaller images."
    try:
        with torch.device("meta"):
            model = net(**options)
        needed = sum(p.numel() * p.element_size() for p in model.parameters())
    except (RuntimeError, OverflowError) as error:  # more numbers than a tensor can count
        raise RecipeError(
            f"The backbone is too large to be built ({one_line(error)}); expected one that fits "
            f"into memory. {smaller}"
        ) from error
    require_memory(needed, free, f"A backbone of {needed // 4:,} parameters", smaller)
