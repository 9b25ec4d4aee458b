"""CSV files as people save them."""

import csv
import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towpath.data.errors import DataError
from towpath.data.tables.columns import NumberColumn, TextColumn
from towpath.data.tables.comma_separated import read_csv, sniffed
from towpath.data.tables.limits import TableLimits

TEXT = 'name,x,y\n"Smith, A.",1,2\n"two\nlines",3,\n'


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_delimiters_line_ends_and_marks_make_no_difference(delimiter, end, mark):
    rows = (("name", "x"), ("a", "1"), ("b", "2.5"))
    text = end.join(delimiter.join(row) for row in rows) + end
    table = read_csv("t.csv", mark + text.encode())
    assert list(table.columns) == ["name", "x"]
    assert table.columns["name"].texts == ("a", "b")
    column = table.columns["x"]
    assert isinstance(column, NumberColumn)
    assert column.values.tolist() == [1.0, 2.5]


def test_quoted_cells_hold_separators_and_line_breaks_and_lines_stay_right():
    table = read_csv("t.csv", (TEXT + '\n"c",5,6\n').encode())
    assert table.columns["name"].texts == ("Smith, A.", "two\nlines", "c")
    assert table.lines == (2, 3, 6)  # as an editor counts them
    assert np.isnan(table.numbers("y", "x")[1])


def test_a_separator_inside_cells_does_not_mislead():
    assert sniffed(b"a;b\n1,5;2,5\n3,5;4,5\n") == ";"
    assert sniffed(b"smiles,a\nC|C;N,1\nCC;O|N,0\n") == ","
    assert sniffed(b"a\tb, c\n1\t2\n") == "\t"


def test_the_beginning_of_a_long_file_is_enough():
    line = ",".join(["1"] * 5000)
    content = f"{','.join(f'c{i}' for i in range(5000))}\n" + f"{line}\n" * 300
    assert len(content) > 2**20
    assert sniffed(content.encode()) == ","


def test_gzip_is_known_by_its_content():
    table = read_csv("t.csv", gzip.compress(TEXT.encode()))
    assert len(table) == 2


def test_columns_are_kept_as_text_on_request():
    content = b"id,x\n007,1\n008,2\n"
    assert isinstance(read_csv("t.csv", content).columns["id"], NumberColumn)
    kept = read_csv("t.csv", content, frozenset(("id",))).columns["id"]
    assert isinstance(kept, TextColumn)
    assert kept.texts == ("007", "008")


def test_a_table_beyond_the_limits_is_refused_while_it_is_read():
    content = b"a,b\n" + b"1,2\n" * 5000
    with pytest.raises(DataError, match=r"1,024 rows of 2 columns.*more than 1,000 cells"):
        read_csv("t.csv", content, limits=TableLimits(cells=1000))
    packed = gzip.compress(content)
    with pytest.raises(DataError, match="unpacks to more than 1,000 bytes"):
        read_csv("t.csv", packed, limits=TableLimits(file_bytes=1000))


cells = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8)


@given(st.lists(st.tuples(cells, st.floats(-1e30, 1e30)), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_what_the_csv_module_writes_is_read_back(rows):
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["text", "number"])
    writer.writerows((f"x{text}", repr(value)) for text, value in rows)
    table = read_csv("t.csv", stream.getvalue().encode(), frozenset(("text",)))
    assert table.columns["text"].texts == tuple(f"x{text}".strip() for text, _ in rows)
    assert table.numbers("number", "x").tolist() == [value for _, value in rows]


def test_one_column_is_a_table_and_its_cells_may_be_quoted():
    table = read_csv("t.csv", b'utterance\nplay music\n"book a flight, now"\n')
    assert table.columns["utterance"].texts == ("play music", "book a flight, now")
    assert table.notes == ("2 rows of one column",)
    with pytest.raises(DataError, match=r"one name .*'utterance', and 2 cells in line 3 .* quotes"):
        read_csv("t.csv", b"utterance\nplay music\nbook a flight, now\n")
