"""The CSV file of classes: a line for each pair that met, and no formula of a spreadsheet."""

import csv

from towpath.runs.confusion import Confusion
from towpath.runs.confusion_csv import COLUMNS, confusion_csv


def test_every_pair_is_a_line():
    one = Confusion.of([(("=cat", "dog"), [[3, 1], [0, 4]])])
    lines = list(csv.reader(confusion_csv({"pets": one}).decode().splitlines()))
    assert tuple(lines[0]) == COLUMNS
    assert lines[2] == ["pets", "'=cat", "dog", "4", "1", "0.250000"]
    assert [line[5] for line in lines[1:]] == ["0.750000", "0.250000", "0.000000", "1.000000"]
