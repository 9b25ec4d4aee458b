"""The building blocks of a page, which the HTML template lays out."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field


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
