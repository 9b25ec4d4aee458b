"""The head of a model: the layer from features to outputs, told by the names of its parameters."""

from collections.abc import Iterable


def head_names(names: Iterable[str], head: str | None = None) -> tuple[str, ...]:
    """Return the names of the head's parameters.

    Args:
        names: the names of all parameters of the model, in the model's order.
        head: name of the layer, as in `model.named_modules()`: every parameter whose name is
            `head` or begins with `head + '.'`. None means the layer that owns the last parameter,
            which is the last layer *registered* (`head` in our backbones).

    Raises:
        ValueError: if no parameter belongs to a layer of this name.
    """
    known = list(names)
    if head is None:
        head = known[-1].rpartition(".")[0] if known else ""
    found = tuple(name for name in known if name == head or name.startswith(f"{head}."))
    if not found:
        layers = sorted({name.rpartition(".")[0] for name in known} - {""})
        raise ValueError(
            f"Found no parameters of a layer {head!r} in the model; expected a head among "
            f"{layers}. Pass head='name of the last layer'."
        )
    return found
