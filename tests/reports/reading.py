"""Reads a report back: sections, tables and the values that its charts show."""

import re
from html.parser import HTMLParser


class Page(HTMLParser):
    """What a report's HTML holds, by id."""

    def __init__(self, text):
        super().__init__()
        self.sections, self.ids, self.svgs, self.outside = [], [], {}, []
        self.tags, self.rows, self._svg, self._cell = [], [], None, None
        self._label = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "section":
            self.sections.append(found["id"])
        for name in ("src", "href", "xlink:href", "action", "data"):
            if name in found and not found[name].startswith(("#", "data:")):
                self.outside.append(found[name])
        if tag == "svg" and "role" in found:
            self._svg = {"shapes": [], "text": "", **found}
            self.svgs[found["id"]] = self._svg
        elif self._svg is not None and tag in ("path", "circle", "rect"):
            self._svg["shapes"].append((tag, found))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self._cell = []

    def handle_endtag(self, tag):
        if tag == "svg":
            self._svg = None
        if tag in ("td", "th") and self._cell is not None:
            self.rows[-1].append("".join(self._cell).strip())
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell.append(data)
        if self._svg is not None:
            self._svg["text"] += data

    def lines(self, name, style="bold"):
        """Points of the lines of a style in a chart, as values."""
        svg = self.svgs[name]
        x, y = _axis(svg["data-x"]), _axis(svg["data-y"])
        return [
            [
                (x(float(a)), y(float(b)))
                for a, b in re.findall(r"(-?[\d.]+),(-?[\d.]+)", found["d"])
            ]
            for tag, found in svg["shapes"]
            if tag == "path" and found.get("class") == f"line {style}"
        ]


def _axis(text):
    low, high, start, end, *log = text.split()
    assert not log, "a linear axis was expected"
    a, b, c, d = float(low), float(high), float(start), float(end)
    return lambda pixel: a + (pixel - c) / (d - c) * (b - a)


def rows_of(section):
    """The texts of the cells of a section's only table, by the first one of each row."""
    (table,) = section.blocks
    return {row[0].text: [cell.text for cell in row] for row in table.rows}
