"""What a page is made of; the template knows these and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cell:
    """A table's cell."""

    text: str
    kind: str = ""
    """good, bad, quiet, head, wide"""
    bar: float | None = None
    """0 to 1: a bar behind the number"""


@dataclass(frozen=True)
class Table:
    """Rows under named columns."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    block = "table"


@dataclass(frozen=True)
class Legend:
    """A name and its colour."""

    label: str
    colour: int


@dataclass(frozen=True)
class Figure:
    """A chart with a title that says what to see, and a note that says how to read it."""

    title: str
    svg: str
    note: str = ""
    legend: Sequence[Legend] = ()
    heat: bool = False
    """whether it needs the heat map's key"""
    block = "figure"


@dataclass(frozen=True)
class Figures:
    """Charts side by side."""

    items: Sequence[Figure]
    block = "figures"


@dataclass(frozen=True)
class Note:
    """A sentence; `missing` where it says what is not there."""

    text: str
    kind: str = ""
    block = "note"


@dataclass(frozen=True)
class Listing:
    """Text as it is, to be opened."""

    title: str
    text: str
    open: bool = False
    block = "listing"


Block = Table | Figures | Note | Listing


@dataclass(frozen=True)
class Section:
    """A titled part."""

    name: str
    title: str
    lead: str = ""
    blocks: Sequence[Block] = field(default_factory=tuple)


@dataclass(frozen=True)
class Chapter:
    """A study."""

    name: str
    title: str
    about: str
    finding: str
    badges: Sequence[str]
    missing: Sequence[str]
    sections: Sequence[Section]


def number(value: float | None, digits: int = 1, sign: bool = False) -> str:
    """A number with so many decimals; a dash for none.

    >>> number(3.14159, 2), number(None), number(2.0, 1, sign=True)
    ('3.14', '–', '+2.0')
    """
    if value is None or value != value:  # NaN
        return "–"
    return f"{value:{'+' if sign else ''},.{digits}f}".replace("-", "−")


def score_text(value: float, metric: str) -> str:
    """An accuracy in per cent, a loss as it is.

    >>> score_text(0.5, "accuracy"), score_text(0.5, "loss")
    ('50.0 %', '0.500')
    """
    return f"{number(100 * value)} %" if metric == "accuracy" else number(value, 3)


def seconds_text(value: float | None) -> str:
    """A duration.

    >>> seconds_text(42.0), seconds_text(300.0), seconds_text(9000.0)
    ('42 s', '5.0 min', '2.5 h')
    """
    if value is None or value != value:
        return "–"
    if value < 120:
        return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"
    return f"{value / 60:.1f} min" if value < 7200 else f"{value / 3600:.1f} h"


def p_text(value: float) -> str:
    """A p-value.

    >>> p_text(0.2), p_text(1e-9)
    ('0.20', '< 0.001')
    """
    return "< 0.001" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"
