"""The code that the page on data shows runs."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "data.md"


def test_the_python_of_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert blocks
    names: dict[str, object] = {}  # a block goes on from those above it, as a reader does
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)


def test_the_pictures_of_the_page_are_there_and_small():
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", PAGE.read_text())
    assert len(pictures) == 3
    for picture in pictures:
        assert 0 < (PAGE.parent / picture).stat().st_size < 300_000
