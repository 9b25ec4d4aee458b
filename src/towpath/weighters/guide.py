"""The tables of docs/weighters.md, made from the cards.

python -m towpath weighters list --markdown      what stands between the markers of that page
"""

from collections.abc import Sequence

from towpath.weighters.registry import WEIGHTERS, WeighterEntry

HEAD = ("rule", "in Python", "weights", "assumes", "costs beyond training", "fails", "from")
AXES = ("rule", "horizon", "geometry", "projection", "shrinkage")


def table() -> str:
    """Return a table of every weighter: what it computes, assumes and costs, and when it fails."""
    rows = [
        (
            f"`{name}`",
            f"`{in_python(entry)}`",
            entry.card.formula,
            entry.card.assumes,
            entry.card.costs,
            entry.card.fails,
            entry.card.reference,
        )
        for name, entry in WEIGHTERS.items()
    ]
    return _markdown(HEAD, rows)


def factorial_table() -> str:
    """Return a table of the weighters that follow the targets' gradient, as one design."""
    rows = []
    for name, entry in WEIGHTERS.items():
        point = entry.card.point
        if point is not None:
            axes = (point.horizon, point.geometry, point.projection, point.shrinkage)
            rows.append((name, *axes))
    return _markdown(AXES, rows)


def in_python(entry: WeighterEntry) -> str:
    """Return the Python expression for a weighter, with the options in which a preset differs."""
    name = getattr(entry.make, "__name__", str(entry.make))
    options = ", ".join(f"{key}={value!r}" for key, value in entry.presets.items())
    return f"tp.{name}({options})"


def _markdown(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
