"""Docs that show Python run it: a file's blocks in order, in one namespace, in an empty folder."""

import re
from pathlib import Path

import pytest

from towpath.weighters import WEIGHTERS

ROOT = Path(__file__).parents[1]
# a page whose Python goes on from its shell commands runs whole in a test of its own
WHOLE = {"your-own-data.md": "tests/test_your_own_data.py"}
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if page.name not in WHOLE
]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[str]:
    """The page's Python, padded so that a traceback names the line of the page."""
    text = page.read_text(encoding="utf-8")
    return [
        "\n" * text.count("\n", 0, match.start(1)) + match.group(1)
        for match in BLOCK.finditer(text)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "docs"}
    for block in blocks(page):
        exec(compile(block, str(page), "exec"), namespace)


def test_blocks_are_found_in_order_with_their_lines(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("one\n```python\na = 1\n```\n```text\nno\n```\n```python\nb = a\n```\n")
    assert blocks(page) == ["\n\na = 1\n", "\n" * 8 + "b = a\n"]


def test_the_page_of_weighters_names_them_all_and_shows_how_to_add_one():
    page = ROOT / "docs" / "weighters.md"
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == list(WEIGHTERS)
    assert any("class InverseGradient(tp.MiniBatchWeighter)" in block for block in blocks(page))
