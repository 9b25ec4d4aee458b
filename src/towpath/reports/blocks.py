"""The building blocks of a page, which the HTML template lays out."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field

from towpath.metrics import Metric


@dataclass(frozen=True)
class Cell:
    """A cell of a table, with its text and how it is highlighted."""

    text: str
    kind: str = ""
    """classes of the style sheet, such as good, bad, quiet, head, wide"""
    bar: float | None = None
    """length of a bar behind the number, from 0 to 1"""


@dataclass(frozen=True)
class Table:
    """A titled table of cells, with a name for each column."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    block = "table"


@dataclass(frozen=True)
class Legend:
    """An entry of a figure's legend: a name and the index of its colour."""

    label: str
    colour: int


@dataclass(frozen=True)
class Figure:
    """A chart with a title that says what it shows, and a note on how to read it."""

    title: str
    svg: str
    note: str = ""
    legend: Sequence[Legend] = ()
    heat: bool = False
    """whether the figure needs the colour key of heat maps"""
    block = "figure"


@dataclass(frozen=True)
class Figures:
    """Several figures that are laid out side by side."""

    items: Sequence[Figure]
    block = "figures"


@dataclass(frozen=True)
class Picture:
    """An image that is part of the page, with a title and a note on what is in it."""

    title: str
    source: str
    """the image itself, as a `data:` address"""
    note: str = ""
    block = "picture"

    @classmethod
    def of(cls, title: str, png: bytes, note: str = "") -> "Picture":
        """Return the block of a PNG file.

        Args:
            title: what the picture shows.
            png: content of the file.
            note: what is in it, for those who want to know more.
        """
        return cls(title, f"data:image/png;base64,{base64.b64encode(png).decode()}", note)


@dataclass(frozen=True)
class Note:
    """A sentence; its kind is `missing` where it names something that is not there."""

    text: str
    kind: str = ""
    block = "note"


@dataclass(frozen=True)
class Listing:
    """A text shown verbatim, folded away until the reader opens it."""

    title: str
    text: str
    open: bool = False
    block = "listing"


Block = Table | Figures | Picture | Note | Listing


@dataclass(frozen=True)
class Section:
    """A titled part of a chapter, made of blocks."""

    name: str
    title: str
    lead: str = ""
    blocks: Sequence[Block] = field(default_factory=tuple)


@dataclass(frozen=True)
class Chapter:
    """The part of a page that presents one study."""

    name: str
    title: str
    about: str
    finding: str
    badges: Sequence[str]
    missing: Sequence[str]
    sections: Sequence[Section]


def number(value: float | None, digits: int = 1, sign: bool = False) -> str:
    """Return a number with `digits` decimals, or a dash for None and NaN.

    >>> number(3.14159, 2), number(None), number(2.0, 1, sign=True)
    ('3.14', '–', '+2.0')
    """
    if value is None or value != value:  # NaN
        return "–"
    return f"{value:{'+' if sign else ''},.{digits}f}".replace("-", "−")


def score_text(value: float, metric: Metric) -> str:
    """Return the value of a metric as text, in per cent where the metric is shown so.

    >>> from towpath.metrics import ACCURACY, LOSS
    >>> score_text(0.5, ACCURACY), score_text(0.5, LOSS)
    ('50.0 %', '0.500')
    """
    return f"{figure_text(value, metric)}{' %' if metric.percent else ''}"


def figure_text(value: float, metric: Metric, sign: bool = False) -> str:
    """Return the value of a metric, or a difference of two, without its unit.

    Args:
        value: the value.
        metric: the metric.
        sign: whether a plus is shown.
    """
    return number(metric.scale * value, metric.decimals, sign)


def interval_text(mean: float, interval: float, metric: Metric, sign: bool = False) -> str:
    """Return a mean with the half-width of its interval, without the unit.

    Args:
        mean: the mean of the metric, or of a difference.
        interval: the half-width of its interval.
        metric: the metric.
        sign: whether a plus is shown before the mean.
    """
    return f"{figure_text(mean, metric, sign)} ±{figure_text(interval, metric)}"


def seconds_text(value: float | None) -> str:
    """Return a duration as text, in seconds, minutes or hours.

    >>> seconds_text(42.0), seconds_text(300.0), seconds_text(9000.0)
    ('42 s', '5.0 min', '2.5 h')
    """
    if value is None or value != value:
        return "–"
    if value < 120:
        return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"
    return f"{value / 60:.1f} min" if value < 7200 else f"{value / 3600:.1f} h"


def p_text(value: float) -> str:
    """Return a p-value as text; small ones only by their bound.

    >>> p_text(0.2), p_text(1e-9)
    ('0.20', '< 0.001')
    """
    return "< 0.001" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"
