"""The picture of a confusion matrix: a cell for each pair that met, as dark as its share."""

import re

from towpath.reports.charts.matrix import FAINTEST, matrix_chart
from towpath.reports.charts.svg import Words

WORDS = Words("m", "Matrix", "words")


def test_cells_are_as_dark_as_their_shares_and_a_pair_that_never_met_has_none():
    made = matrix_chart(WORDS, ["a<b", "c"], [[0.75, 0.25], [None, 0.0]])
    cells = re.findall(r'fill-opacity="([\d.]+)"><title>(.*?)</title>', made)
    assert cells == [
        ("0.75", "a&lt;b taken for a&lt;b: 75.0%"),
        ("0.25", "a&lt;b taken for c: 25.0%"),
        (f"{FAINTEST:.2f}", "c taken for c: 0.0%"),
    ]
    assert made.count("<text") == 3
    assert matrix_chart(WORDS, [], []) == ""
