"""The page on a table shows its tasks, sizes, balance and missing values."""

import re

import pytest

from tests.data.tables.table_files import csv_bytes, wide_rows
from towpath.cli.main import main
from towpath.data import load_table
from towpath.reports.blocks import Table
from towpath.reports.table_preview import table_chapter, table_page


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = wide_rows(40)
    rows[7]["f1"] = ""
    (tmp_path / "t.csv").write_bytes(csv_bytes(rows))
    return tmp_path / "t.csv"


def pools(table, **options):
    return [load_table(table, s, tasks=["a", "b", "c"], **options) for s in ("train", "test")]


def test_every_task_is_listed_with_its_size_and_balance(table):
    chapter = table_chapter(pools(table))
    tasks = next(section for section in chapter.sections if section.name == "tasks")
    listed = tasks.blocks[1]
    assert isinstance(listed, Table)
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in listed.rows}
    found = {task.name: (task, pool.split) for pool in pools(table) for task in pool.tasks}
    assert rows.keys() == found.keys()
    for name, (task, split) in found.items():
        group, shown_split, size, share, classes = rows[name]
        assert (group, shown_split, int(size)) == (task.group, split, len(task))
        assert float(share.removesuffix(" %")) == pytest.approx(
            100 * min(task.class_counts) / len(task), abs=0.05
        )
        assert classes.startswith(("0: ", "1: "))


def test_missing_values_are_counted_by_column(table):
    text = table_page(pools(table))
    assert re.search(r"40 of 40 rows are in a task; 1 of their 80 values are missing", text)
    assert "filled in with the mean of its column over the training tasks" in text


def test_a_regression_shows_its_numbers(table):
    text = table_page(pools(table, kind="regression"))
    assert "standard deviation" in text
    assert "Smallest class" not in text


def test_the_command_writes_the_page_and_says_how_the_table_was_read(table, capsys):
    argv = ["data", "preview", "t.csv", "--data.tasks", "[a, b, c]"]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "layout: wide, 3 tasks" in out
    assert "preview-t/t.html" in out
    page = (table.parent / "preview-t" / "t.html").read_text()
    assert "<script" not in page
    assert main(argv) == 0  # its own page is replaced
    assert (table.parent / "preview-t" / "t.html").read_text() == page
    (table.parent / "preview-t" / "t.html").write_text("mine")
    capsys.readouterr()
    assert main(argv) == 2
    assert "--force" in capsys.readouterr().err


def test_names_of_strangers_are_no_markup(table):
    rows = [dict(row) for row in wide_rows(40)]
    renamed = [{("<b>&a" if k == "a" else k): v for k, v in row.items()} for row in rows]
    table.write_bytes(csv_bytes(renamed))
    text = table_page([load_table(table, "all", tasks=["<b>&a", "b", "c"])])
    assert "<b>&a" not in text
    assert "&lt;b&gt;&amp;a" in text


def test_the_sizes_of_tasks_of_nearly_one_size_have_numbers_on_their_axis(table):
    text = table_page([load_table(table, "all", tasks=["a", "b", "c"])])  # of 30 and of 40 rows
    sizes = re.search(r'<svg id="sizes".*?</svg>', text, re.DOTALL)
    assert sizes is not None
    ticks = [int(text) for text in re.findall(r'text-anchor="end">([^<]+)<', sizes[0])]
    assert len(ticks) >= 2
    assert 29 <= min(ticks) < max(ticks) <= 41


def test_the_page_is_not_headed_as_a_report(table):
    assert "towpath report" not in table_page(pools(table))
