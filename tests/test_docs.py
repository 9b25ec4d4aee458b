"""Docs that show Python run it: a file's blocks in order, in one namespace, in an empty folder."""

import re
import shlex
from pathlib import Path

import pytest

from towpath.cli.main import main
from towpath.learners import LEARNERS
from towpath.weighters import WEIGHTERS, guide

ROOT = Path(__file__).parents[1]
# a page whose Python goes on from its shell commands runs whole in a test of its own
WHOLE = {
    "your-own-data.md": "tests/test_your_own_data.py",
    "your-own-table.md": "tests/test_your_own_table.py",
}
PAGES = [
    page
    for page in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    )
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


def test_the_commands_of_the_readme_run_as_they_stand(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOWPATH_DATA", raising=False)  # they need nothing that is not built in
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split("## From the command line")[1].split("\n## ")[0]
    shell = section.split("```bash\n")[1].split("```")[0]
    assert section.count("```") == 2, "every example runs"
    commands = [shlex.split(line, comments=True) for line in shell.splitlines()]
    assert {words[1] for words in commands} >= {"compare", "train", "report", "audit"}
    for program, *argv in commands:
        assert program == "towpath"
        assert main(argv) == 0, f"{argv}\n{capsys.readouterr().err}"
    assert (tmp_path / "report.html").is_file()
    assert (tmp_path / "to-check.csv").is_file()


def test_blocks_are_found_in_order_with_their_lines(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("one\n```python\na = 1\n```\n```text\nno\n```\n```python\nb = a\n```\n")
    assert blocks(page) == ["\n\na = 1\n", "\n" * 8 + "b = a\n"]


def test_the_page_of_weighters_names_them_all_and_shows_how_to_add_one():
    page = ROOT / "docs" / "weighters.md"
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == list(WEIGHTERS)
    assert any("class InverseGradient(tp.MiniBatchWeighter)" in block for block in blocks(page))


def test_the_page_of_learners_names_them_all():
    page = (ROOT / "docs" / "learners.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| `(\w+)` \|", page, re.MULTILINE)
    assert dict(rows) == {name: kind.__name__ for name, kind in LEARNERS.items()}


def test_the_tables_of_weighters_are_those_of_the_cards():
    """After a change of a card: towpath weighters list --markdown."""
    page = (ROOT / "docs" / "weighters.md").read_text(encoding="utf-8")
    for name, made in (("weighters", guide.table()), ("factorial", guide.factorial_table())):
        found = page.split(f"<!-- {name}: ")[1].split("-->\n", 1)[1].split("\n<!-- end -->")[0]
        assert found == made


LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)[^)]*\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_files_that_contributors_are_sent_to_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "(CONTRIBUTING.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:src|tests|docs)/[\w/.-]+)`", text))
    assert len(paths) > 15
    invented = {"src/towpath/room/name.py", "tests/room/test_name.py"}  # of an example
    assert invented <= paths
    assert [path for path in sorted(paths - invented) if not (ROOT / path).exists()] == []


def test_every_page_of_results_is_in_their_index():
    folder = ROOT / "docs" / "results"
    index = (folder / "README.md").read_text(encoding="utf-8")
    by_hand = {page.stem: page.read_text(encoding="utf-8") for page in folder.glob("reading*.md")}
    pages = {page.stem for page in folder.glob("*.md")} - {"README", *by_hand}
    assert {
        name for name in pages if f"({name}.md)" in index.split("## How to read it")[0]
    } == pages
    short, how, rest = by_hand.pop("reading").partition("## How to read it")
    assert index.startswith(f"# Results\n\n{short}")
    assert index.endswith(how + rest)
    for name, text in by_hand.items():  # what is written by hand about one page closes it
        page = folder / f"{name.removeprefix('reading-')}.md"
        assert page.read_text(encoding="utf-8").endswith(text)


def test_the_papers_table_stands_only_where_it_is_rerun_and_says_what_differs():
    for page in (ROOT / "docs" / "results").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        if "accuracy in the paper" in text:
            assert page.stem in ("paper-maml", "paper-protonet", "length-maml", "length-protonet")
            assert "not that setting: " in text
            assert "training.steps" in text
