"""Confusion matrices as a CSV file: a line for each pair of classes that met in a test task."""

import csv
import io
from collections.abc import Mapping

from towpath.runs.confusion import Confusion
from towpath.wording import spreadsheet_cell

COLUMNS = ("test set", "class", "taken for", "samples", "taken", "share")


def confusion_csv(sets: Mapping[str, Confusion]) -> bytes:
    """Return the CSV file of the test sets; where both classes are one, it is its accuracy.

    Args:
        sets: the matrices by test set.
    """
    stream = io.StringIO()
    lines = csv.writer(stream, lineterminator="\n")
    lines.writerow(COLUMNS)
    for test, one in sets.items():
        for (a, b), count in one.pairs.items():
            names = [spreadsheet_cell(text) for text in (test, one.names[a], one.names[b])]
            lines.writerow([*names, count.met, count.taken, f"{count.share:.6f}"])
    return stream.getvalue().encode()
