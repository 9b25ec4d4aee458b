"""What differs between two traces, in words.

A value that both have and that differs is a difference, and so is a place (a step, a part of the
checkpoint) that is gone. A field or place that only one version writes cannot be compared: it is
a note.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.golden.trace import Fields, Trace

LISTED = 6
"""fields of the first place that are shown with their values"""


@dataclass
class Comparison:
    """What was found in one case."""

    compared: int = 0
    """values that both traces have"""
    differences: list[str] = field(default_factory=list)
    """lines for people; empty where the traces agree"""
    added: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    """fields, with the kind of place that they are in"""


def compare(recorded: Trace, found: Trace) -> Comparison:
    """Compare place by place, in the order in which the recorded run reached them."""
    result = Comparison()
    later: list[str] = []
    for place, before in recorded.items():
        if place not in found:
            result.differences.append(f"{place}: recorded, but not there any more")
            continue
        after = found[place]
        result.compared += len(before.keys() & after.keys())
        result.added |= {f"{_kind(place)}: {name}" for name in after.keys() - before.keys()}
        result.removed |= {f"{_kind(place)}: {name}" for name in before.keys() - after.keys()}
        names = [n for n in before if n in after and before[n].digest != after[n].digest]
        if names and result.differences:
            later.append(place)
        elif names:
            result.differences += _lines(place, names, before, after)
    if later:
        result.differences.append(f"and values in {len(later)} later places: {', '.join(later)}")
    result.added |= {f"{_kind(place)}: the whole" for place in found.keys() - recorded.keys()}
    if not result.compared:
        result.differences.append("no value is in both traces, so nothing was compared")
    return result


def _lines(place: str, names: list[str], before: Fields, after: Fields) -> Iterator[str]:
    for name in names[:LISTED]:
        yield f"{place}: {name}"
        yield f"    recorded {before[name].shown}"
        yield f"    found    {after[name].shown}"
    if len(names) > LISTED:
        yield f"{place}: and {len(names) - LISTED} more fields: {', '.join(names[LISTED:])}"


def _kind(place: str) -> str:
    """The place without its step: a field added to all records is one note."""
    return re.sub(r"^step \d+ (.*?)(, line \d+)?$", r"\1 record", place)
