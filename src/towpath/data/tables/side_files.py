"""Files that an option names beside a table: the group or the split of each task."""

from pathlib import Path

from towpath.data.errors import DataError
from towpath.data.tables.columns import listed
from towpath.data.tables.reading import read_table
from towpath.files import expanded
from towpath.wording import quoted

NAMES = ("task", "class", "group", "name")


def beside(name: str, folder: Path) -> Path:
    """Return the path of a file; a relative one begins at the folder of the table.

    Args:
        name: the path as the option has it.
        folder: the folder of the table.
    """
    path = expanded(name)
    return path if path.is_absolute() else folder / path


def text_of(value: object, what: str) -> str:
    """Return the value of an option that must be a text which is not empty.

    Args:
        value: what was given.
        what: the option, for the message.
    """
    if not isinstance(value, str) or not value:
        raise DataError(f"{what} is {quoted(value)}; expected a word. Put it in quotes.")
    return value


def pairs_of_file(name: str, folder: Path, second: str) -> dict[str, str]:
    """Return what a table of two columns says of each name.

    Args:
        name: the path of the file.
        folder: the folder of the table, where relative paths begin.
        second: the column of what is said: group or split.
    """
    path = beside(name, folder)
    firsts = tuple(first for first in NAMES if first != second)
    table = read_table(path, frozenset((*firsts, second)))
    first = next((column for column in firsts if column in table.columns), None)
    if first is None or second not in table.columns:
        raise DataError(
            f"{path.name} has the columns {listed(table.columns)}; expected 'task' and "
            f"{second!r}. Rename them."
        )
    pairs: dict[str, str] = {}
    for row, (key, value) in enumerate(
        zip(table.columns[first].texts, table.columns[second].texts, strict=True)
    ):
        if not key or not value or pairs.get(key, value) != value:
            found = f"{pairs[key]!r} and {value!r}" if key in pairs else f"{value!r}"
            raise DataError(
                f"{path.name} gives {quoted(key)} the {second} {found} ({table.place(row)}); "
                f"expected one {second} for each {first}. Correct the line."
            )
        pairs[key] = value
    return pairs
