"""A confusion matrix as a picture: a row for each class, a cell for each class it is taken for.

The darker a cell, the larger the share; a pair that never met in a task has no cell.
"""

from collections.abc import Sequence
from html import escape

from towpath.reports.charts.heat import wrapped
from towpath.reports.charts.scale import Scale
from towpath.reports.charts.svg import CHARACTER, WIDTH, Words, series_class, svg

TOP = 10
FAINTEST = 0.03
"""opacity of a cell whose share is zero, so that it is told from one that never met"""


def matrix_chart(
    words: Words, names: Sequence[str], shares: Sequence[Sequence[float | None]], colour: int = 0
) -> str:
    """Return the picture of a confusion matrix.

    Args:
        words: name, title and description.
        names: the classes, from top to bottom and from left to right.
        shares: for each true class the share of its samples that was taken for each class, from 0
            to 1; None where the two never met.
        colour: index of the series whose colour is used.
    """
    if not names:
        return ""
    labels = [wrapped(name)[0] for name in names]
    left = 10 + CHARACTER * max(map(len, labels))
    side = min(24.0, (WIDTH - 8 - left) / len(names))
    bottom = TOP + side * len(names)
    x = Scale(0.0, float(len(names)), left, left + side * len(names))
    y = Scale(0.0, float(len(names)), TOP, bottom)
    parts = [f'<g class="{series_class(colour)}">']
    for i, row in enumerate(shares):
        for j, share in enumerate(row):
            if share is None:
                continue
            told = f"{names[i]} taken for {names[j]}: {100 * share:.1f}%"
            parts.append(
                f'<rect x="{x(j):.1f}" y="{y(i):.1f}" width="{side - 1:.1f}" '
                f'height="{side - 1:.1f}" fill="currentColor" '
                f'fill-opacity="{max(FAINTEST, share):.2f}"><title>{escape(told)}</title></rect>'
            )
    parts.append("</g>")
    for i, label in enumerate(labels):
        parts.append(
            f'<text class="tick" x="{left - 5:.0f}" y="{y(i) + side / 2 + 4:.1f}" '
            f'text-anchor="end">{escape(label)}<title>{escape(names[i])}</title></text>'
        )
    middle = (x.start + x.end) / 2
    parts.append(
        f'<text class="name" x="{middle:.0f}" y="{bottom + 18:.0f}" text-anchor="middle">'
        "taken for, in the same order</text>"
    )
    return svg(words, bottom + 26, "".join(parts), x, y)
