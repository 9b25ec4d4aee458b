"""Wrong tables: each gets one sentence that says what to do, exit code 2, and writes nothing."""

import gzip
import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tests.data.tables.table_files import csv_bytes, npz_bytes, parquet_bytes, wide_rows
from tests.refusal import refused

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Wrong:
    """A table that cannot be used, the options to load it with, and words of the answer."""

    content: bytes | Callable[[Path], None]
    words: tuple[str, ...]
    options: Mapping[str, object] = field(default_factory=lambda: {"tasks": ["a", "b", "c"]})
    file: str = "t.csv"
    beside: Files = field(default_factory=dict)


GOOD = csv_bytes(wide_rows())
LINES = GOOD.decode().splitlines()


def with_cell(column: str, row: int, text: str) -> bytes:
    """The good table with another text in one cell."""
    rows = wide_rows()
    rows[row][column] = text
    return csv_bytes(rows)


def with_column(column: str, make: Callable[[int], object]) -> bytes:
    """The good table with another column, or one replaced."""
    return csv_bytes([row | {column: make(i)} for i, row in enumerate(wide_rows())])


def semicolons(*rows: str) -> bytes:
    """A table that is separated by semicolons."""
    return "\n".join(rows).encode()


def bomb() -> bytes:
    """A gzip file of 64 KB that unpacks to 64 MB."""
    return gzip.compress(b"a,b\n" + b"1,0\n" * (16 * 2**20), 9)


def zip_of(files: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """The files as a zip."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def npy(array: np.ndarray) -> bytes:
    """An array as NumPy stores it."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def declared(shape: tuple[int, ...]) -> bytes:
    """An array that declares to be larger than it is."""
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue() + b"\0" * 64


def link_to_device(path: Path) -> None:
    """A link to a file that never ends."""
    path.symlink_to("/dev/zero")


def pandas_index(text: bytes) -> bytes:
    """The table as pandas writes it, with a column without a name."""
    first, *rest = text.decode().splitlines()
    return "\n".join([f",{first}", *(f"{i},{line}" for i, line in enumerate(rest))]).encode()


LONG = csv_bytes(
    [
        {"x": i / 7, "task": f"t{i % 4}", "site": f"s{i % 2}", "target": i % 3, "note": "good"}
        for i in range(48)
    ]
)
SMILES = csv_bytes([row | {"smiles": "not a molecule"} for row in wide_rows()])
NAMED: Mapping[str, object] = {"tasks": ["a", "b", "c"]}
NO_TASKS: Mapping[str, object] = {}
TYPED: Mapping[str, object] = {"task": "task", "target": "target"}

CASES: dict[str, Wrong] = {
    # bytes
    "empty": Wrong(b"", ("t.csv is empty",)),
    "blanks only": Wrong(b" \n\n \t\n", ("t.csv is empty",)),
    "a byte order mark only": Wrong(b"\xef\xbb\xbf", ("t.csv is empty",)),
    "UTF-16": Wrong(GOOD.decode().encode("utf-16"), ("UTF-16", "expected a CSV file in UTF-8")),
    "UTF-16 without a mark": Wrong(GOOD.decode().encode("utf-16-le"), ("NUL byte", "UTF-8")),
    "UTF-32": Wrong(GOOD.decode().encode("utf-32"), ("begins like UTF-16", "UTF-8")),
    "latin-1": Wrong(GOOD + "1,2,0,1,é\n".encode("latin-1"), ("0xe9", "UTF-8")),
    "NUL bytes": Wrong(GOOD + b"1,2,0,\0,1\n", ("NUL byte", "UTF-8")),
    "binary": Wrong(bytes(range(128, 256)) * 9, ("0x80 at byte 0", "UTF-8")),
    "a picture": Wrong(b"\x89PNG\r\n\x1a\n" + b"\0" * 40, ("a picture", "expected a CSV file")),
    "a spreadsheet": Wrong(zip_of({"xl/workbook.xml": b"<x/>"}), ("spreadsheet", "as CSV")),
    "an old spreadsheet": Wrong(b"\xd0\xcf\x11\xe0\xa1\xb1" + b"\0" * 40, ("(xls)", "as CSV")),
    "a pickle": Wrong(pickle.dumps({"a": [1]}), ("a pickle", "expected a CSV file")),
    "Parquet called CSV": Wrong(parquet_bytes(), ("a Parquet file", "after what it is")),
    # lines and cells
    "header only": Wrong(b"f1,f2,a,b,c\n", ("5 columns and no rows", "at least one row")),
    "one column": Wrong(b"a\n1\n2\n", ("one column, 'a'", "semicolon, tab, bar")),
    "one column of features": Wrong(
        b"a\n1\n2\n", ("one column, 'a'", "in the first line"), {"features": ["a"]}
    ),
    "real numbers in a column called y": Wrong(
        with_column("y", lambda i: i + 0.5), ("has 0.5 in column 'y', line 2",), {}
    ),
    "spaces as separator": Wrong(GOOD.replace(b",", b" "), ("one column", "separated by")),
    "a short row": Wrong(GOOD + b"1,2,0\n", ("3 cells in line 14", "expected 5")),
    "a long row": Wrong(GOOD + b"1,2,0,1,1,1\n", ("6 cells in line 14", "put quotes")),
    "a comment first": Wrong(b"# made by hand\n" + GOOD, ("'# made by hand'", "first line")),
    "duplicate columns": Wrong(
        GOOD.replace(b"f2", b"f1", 1), ("two columns named 'f1'", "each name once")
    ),
    "pandas index": Wrong(pandas_index(GOOD), ("no name for column 1", "index=False")),
    "no header": Wrong(
        "\n".join(LINES[1:]).replace(",,", ",1,").encode(), ("only numbers in its first line",)
    ),
    "quote never closed": Wrong(GOOD + b'1,"2,0,1,1\n', ("line 14", "quotes that are closed")),
    "text after a quote": Wrong(GOOD + b'1,"2"x,0,1,1\n', ("line 14", "nothing between")),
    "an endless cell": Wrong(
        GOOD + b"1," + b"9" * 200_000 + b",0,1,1\n", ("field limit", "131,072 characters")
    ),
    "a number of 100,000 digits": Wrong(
        GOOD + b"1," + b"9" * 100_000 + b",0,1,1\n", ("'f2', line 14", "at most 3.4e+38")
    ),
    "too many columns": Wrong(
        ",".join(f"c{i}" for i in range(100_001)).encode() + b"\n", ("100,001 columns", "100,000")
    ),
    # numbers
    "inf in a feature": Wrong(with_cell("f1", 3, "inf"), ("'inf'", "'f1', line 5", "finite")),
    "-Infinity in a task": Wrong(with_cell("b", 2, "-Infinity"), ("'b', line 4", "leave the cell")),
    "1e400": Wrong(with_cell("f1", 0, "1e400"), ("'1e400'", "line 2", "at most 3.4e+38")),
    "1e39": Wrong(with_cell("f2", 1, "-1e39"), ("'-1e39'", "line 3", "finite number")),
    "decimal commas": Wrong(
        semicolons("f1;f2;a;b", *(f"{i},5;{i};{i % 2};{i // 2 % 2}" for i in range(8))),
        ("'0,5'", "decimal comma", "with a point"),
        {"tasks": ["a", "b"]},
    ),
    "separators of thousands": Wrong(
        with_column("f1", lambda i: f'"{i + 1},000.5"'), ("'1,000.5'", "separators of thousands")
    ),
    "dates": Wrong(with_column("f1", lambda i: f"2024-01-{i + 1:02}"), ("a date", "days since")),
    "dates with dots": Wrong(
        with_column("f1", lambda i: f"{i + 1}.3.2024"), ("'1.3.2024'", "date")
    ),
    "percentages": Wrong(with_column("f1", lambda i: f"{i}%"), ("'0%'", "a percentage")),
    "bounds": Wrong(with_column("a", lambda i: f">{i}"), ("'>0'", "a bound")),
    "money": Wrong(with_column("f1", lambda i: f"${i}"), ("'$0'", "an amount of money")),
    "formulas": Wrong(with_column("f1", lambda i: "=SYSTEM(1)"), ("'=SYSTEM(1)'", "a formula")),
    "a word in a task": Wrong(with_cell("a", 1, "n.d."), ("'n.d.'", "'a', line 3", "a number")),
    "a word in a feature": Wrong(
        with_cell("f2", 4, "high"), ("'high'", "line 6", "11 other cells")
    ),
    "true among numbers": Wrong(with_cell("f2", 4, "true"), ("'true'", "expected a number")),
    "an underscore": Wrong(with_cell("f2", 4, "1_000"), ("'1_000'", "expected a number")),
    # compressed
    "a bomb": Wrong(bomb(), ("200 times", "made to fill the memory"), file="t.csv.gz"),
    "truncated gzip": Wrong(
        gzip.compress(GOOD)[:-12], ("cannot be unpacked", "complete gzip"), file="t.csv.gz"
    ),
    "damaged gzip": Wrong(
        gzip.compress(GOOD)[:12] + b"\xff" * 40, ("cannot be unpacked", "again"), file="t.csv.gz"
    ),
    # no file
    "a missing file": Wrong(lambda path: None, ("No such file", "Check the path")),
    "a folder": Wrong(lambda path: path.mkdir(), ("t.csv is a folder", "expected a file")),
    "a pipe": Wrong(lambda path: os.mkfifo(path), ("a named pipe", "expected a file")),
    "a device": Wrong(link_to_device, ("a device", "expected a file")),
    # columns and options
    "nothing named": Wrong(GOOD, ("'f1', 'f2', 'a'", "data.tasks (one column"), NO_TASKS),
    "misspelt task": Wrong(
        with_column("assay", lambda i: i % 2),
        ("'asay'", "Did you mean 'assay'?"),
        {"tasks": ["asay"]},
    ),
    "misspelt option": Wrong(GOOD, ("'taks'", "Did you mean 'tasks'?"), {"taks": ["a"]}),
    "tasks is a word": Wrong(GOOD, ("data.tasks is 'a'", "a list"), {"tasks": "a"}),
    "misspelt target": Wrong(
        LONG, ("'tarrget'", "Did you mean 'target'?"), {"task": "task", "target": "tarrget"}
    ),
    "misspelt id": Wrong(GOOD, ("data.id is 'name'", "'f1', 'f2'"), {**NAMED, "id": "name"}),
    "misspelt layout": Wrong(GOOD, ("'wied'", "Did you mean 'wide'?"), {**NAMED, "layout": "wied"}),
    "task without target": Wrong(GOOD, ("data.target is not given",), {"task": "a"}),
    "tasks and target": Wrong(GOOD, ("tasks, target", "does not apply"), {**NAMED, "target": "c"}),
    "a task twice": Wrong(GOOD, ("'a' twice", "each column once"), {"tasks": ["a", "a"]}),
    "a task that is a feature": Wrong(
        GOOD, ("'a' which is a feature", "each column once"), {**NAMED, "features": ["a", "f1"]}
    ),
    "text as a feature": Wrong(
        LONG, ("a column of text", "hashed-text"), {**TYPED, "features": ["note"]}
    ),
    "no features": Wrong(
        GOOD, ("no column of numbers", "expected features"), {"tasks": ["f1", "f2", "a", "b", "c"]}
    ),
    "constant features": Wrong(
        with_column("f1", lambda i: 5), ("same value in every row",), {**NAMED, "features": ["f1"]}
    ),
    "unknown kind of features": Wrong(
        GOOD,
        ("'morgn'", "Did you mean 'morgan'?"),
        {**NAMED, "features": {"kind": "morgn", "column": "f1"}},
    ),
    "unknown option of a kind": Wrong(
        SMILES,
        ("'bitts'", "Did you mean 'bits'?"),
        {**NAMED, "features": {"kind": "morgan", "column": "smiles", "bitts": 8}},
    ),
    "a wrong number of bits": Wrong(
        SMILES,
        ("bits='many'", "a whole number from 8"),
        {**NAMED, "features": {"kind": "morgan", "column": "smiles", "bits": "many"}},
    ),
    "a kind without its column": Wrong(
        SMILES, ("lack an option", "column"), {**NAMED, "features": {"kind": "morgan"}}
    ),
    "no molecule at all": Wrong(
        SMILES,
        ("no row with features", "'not a molecule'"),
        {**NAMED, "features": {"kind": "morgan", "column": "smiles"}},
    ),
    "a missing feature file": Wrong(
        GOOD, ("x.npz", "No such file"), {**NAMED, "features": "x.npz"}
    ),
    "a feature file of other rows": Wrong(
        GOOD,
        ("3 rows and t.csv 12", "aligned"),
        {**NAMED, "features": "x.npz"},
        beside={"x.npz": npz_bytes(x=np.arange(6.0).reshape(3, 2))},
    ),
    "a feature file without some ids": Wrong(
        with_column("id", lambda i: f"r{i}"),
        ("no row for 1 of the 12 ids", "'r11'"),
        {**NAMED, "id": "id", "features": "x.csv"},
        beside={"x.csv": csv_bytes([{"id": f"r{i}", "x": i} for i in range(11)])},
    ),
    # tasks
    "one task only": Wrong(GOOD, ("1 tasks", "expected several"), {"tasks": ["a"]}),
    "one class everywhere": Wrong(
        csv_bytes([row | dict.fromkeys("abc", 1) for row in wide_rows()]),
        ("left out 3 of 3 tasks (one class only): 'a', 'b', 'c'",),
    ),
    "nothing measured": Wrong(
        csv_bytes([row | dict.fromkeys("abc", "") for row in wide_rows()]),
        ("no row was measured", "measure more rows"),
    ),
    "words in a regression": Wrong(
        LONG,
        ("the target 'good'", "kind: classification"),
        {"task": "task", "target": "note", "kind": "regression"},
    ),
    "fractions as labels": Wrong(
        LONG, ("expected classes", "data.task"), {"target": "x", "layout": "labels"}
    ),
    "a regression of labels": Wrong(
        csv_bytes([{"x": i, "label": i} for i in range(40)]),
        ("kind is regression", "data.task"),
        {"target": "label", "kind": "regression", "layout": "labels"},
    ),
    "rows without a task": Wrong(
        LONG.replace(b"t1", b"  "), ("no task in column 'task', line 3 (12 such rows)",), TYPED
    ),
    # groups and splits
    "unknown way to group": Wrong(
        GOOD, ("'perfix'", "Did you mean 'prefix'?"), {**NAMED, "groups": {"perfix": "_"}}
    ),
    "groups of columns by a column": Wrong(
        GOOD, ("by prefix or by mapping",), {**NAMED, "groups": {"column": "f1"}}
    ),
    "misspelt group column": Wrong(
        LONG, ("'sit'", "Did you mean 'site'?"), {**TYPED, "groups": {"column": "sit"}}
    ),
    "two groups of a task": Wrong(
        LONG.replace(b"t2,s0", b"t2,s1", 1),
        ("'s0', 's1'", "expected one group"),
        {**TYPED, "groups": {"column": "site"}},
    ),
    "a prefix that nobody has": Wrong(
        GOOD, ("groups.prefix is '_'", "Correct it"), {**NAMED, "groups": {"prefix": "_"}}
    ),
    "a mapping of unknown tasks": Wrong(
        GOOD,
        ("names 'd'", "which t.csv does not have"),
        {**NAMED, "groups": {"mapping": {"a": "x", "b": "x", "c": "y", "d": "y"}}},
    ),
    "a mapping that lacks tasks": Wrong(
        GOOD, ("no group for 2 of the 3", "'b', 'c'"), {**NAMED, "groups": {"mapping": {"a": "x"}}}
    ),
    "a mapping file of other columns": Wrong(
        GOOD,
        ("'name', 'family'", "'task' and 'group'"),
        {**NAMED, "groups": {"mapping": "m.csv"}},
        beside={"m.csv": b"name,family\na,x\n"},
    ),
    "splits that overlap": Wrong(
        GOOD,
        ("'b' in validation and in test", "in one split"),
        {**NAMED, "splits": {"validation": ["b"], "test": ["b", "c"]}},
    ),
    "splits of unknown tasks": Wrong(
        GOOD, ("splits names 'z'", "tasks of it"), {**NAMED, "splits": {"test": ["z"]}}
    ),
    "misspelt split": Wrong(
        GOOD, ("'tets'", "Did you mean 'test'?"), {**NAMED, "splits": {"tets": ["a"]}}
    ),
    "splits without training": Wrong(
        GOOD, ("no tasks to train on",), {**NAMED, "splits": {"test": ["a", "b", "c"]}}
    ),
    "a split file with another word": Wrong(
        GOOD,
        ("the split 'tset'", "Did you mean 'test'?"),
        {**NAMED, "splits": {"by": "file", "file": "s.csv"}},
        beside={"s.csv": b"task,split\na,train\nb,train\nc,tset\n"},
    ),
    "a split file that contradicts itself": Wrong(
        GOOD,
        ("'train' and 'test' (line 3)", "one split"),
        {**NAMED, "splits": {"file": "s.csv"}},
        beside={"s.csv": b"task,split\na,train\na,test\n"},
    ),
    "a split file that lacks tasks": Wrong(
        GOOD,
        ("no split for 1 of the 3 tasks: 'c'",),
        {**NAMED, "splits": {"file": "s.csv"}},
        beside={"s.csv": b"task,split\na,train\nb,test\n"},
    ),
    # NPZ
    "pickled objects": Wrong(
        npz_bytes(a=np.array([{"x": 1}, None], dtype=object)),
        ("runs code", "refused"),
        file="t.npz",
    ),
    "a bomb in NPZ": Wrong(
        zip_of({"a.npy": npy(np.zeros(8 * 2**20))}), ("unpacked", "200 times"), file="t.npz"
    ),
    "NPZ that is no archive": Wrong(GOOD, ("no NPZ file", "numpy.savez"), file="t.npz"),
    "NPZ of another size": Wrong(
        npz_bytes(a=np.zeros(3), b=np.zeros(4)), ("4 rows in 'b' and 3 in 'a'",), file="t.npz"
    ),
    "NPZ with a text file": Wrong(
        zip_of({"a.npy": b"hello"}), ("'a.npy' that is no NumPy array",), file="t.npz"
    ),
    "NPZ with three dimensions": Wrong(
        npz_bytes(a=np.zeros((2, 2, 2))), ("one or two dimensions",), file="t.npz"
    ),
    "NPZ that declares too much": Wrong(
        zip_of({"a.npy": declared((10**12,))}), ("8,000,000,000,000 bytes", "damaged"), file="t.npz"
    ),
    "NPZ with infinite numbers": Wrong(
        npz_bytes(a=np.array([0.0, np.inf]), f=np.zeros(2)), ("'inf'", "'a', row 1"), file="t.npz"
    ),
    "NPZ truncated": Wrong(npz_bytes(a=np.zeros(9))[:-30], ("no NPZ file",), file="t.npz"),
    # Parquet
    "bad Parquet": Wrong(GOOD, ("cannot be read as Parquet",), file="t.parquet"),
    "Parquet truncated": Wrong(
        parquet_bytes()[:-20], ("cannot be read as Parquet", "again"), file="t.parquet"
    ),
    "Parquet with lists": Wrong(
        parquet_bytes(lists=[[1], [2], [3]]), ("'lists'", "expected numbers"), file="t.parquet"
    ),
}


def test_there_are_at_least_fifty():
    assert len(CASES) >= 50


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_table_gets_one_sentence(case, tmp_path, fresh_cache, monkeypatch, capsys):
    wrong = CASES[case]
    monkeypatch.chdir(tmp_path)
    path = tmp_path / wrong.file
    if callable(wrong.content):
        wrong.content(path)
    else:
        path.write_bytes(wrong.content)
    for name, content in wrong.beside.items():
        (tmp_path / name).write_bytes(content)
    before = sorted(tmp_path.iterdir())
    options = [f"--data.{name}={json.dumps(value)}" for name, value in wrong.options.items()]
    answer = refused(["data", "preview", wrong.file, *options], capsys)
    for words in wrong.words:
        assert words in answer
    assert "expected" in answer
    assert len(answer) < 1600
    assert sorted(path for path in tmp_path.iterdir() if path != fresh_cache) == before
    assert not list(fresh_cache.glob("*/*.npy"))
