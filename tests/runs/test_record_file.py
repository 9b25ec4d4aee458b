"""`records.jsonl`: what is written is read, damage is told by its line, a cut leaves a prefix."""

import hashlib

import pytest

from towpath.recipes.typed import RecipeError
from towpath.runs.record_file import (
    CutOffRecordError,
    DamagedRecordError,
    NoRecords,
    RecordWriter,
    read_records,
)
from towpath.runs.records import SkippedWindow, StepRecord

LINES = [StepRecord(i, 0, [1.0], [{"index": i}], [0.1 * i], 0.1 * i) for i in range(1, 4)]


def written(path, records=LINES):
    with RecordWriter(path, 0) as writer:
        for record in records:
            writer.write(record)
    return path


def test_records_are_read_as_they_were_written(tmp_path):
    assert list(read_records(written(tmp_path / "r"))) == LINES
    assert list(read_records(tmp_path / "nothing")) == []


def test_the_digest_is_that_of_the_file_as_far_as_it_is_written(tmp_path):
    path = tmp_path / "r"
    with RecordWriter(path, 0) as writer:
        for record in LINES:
            writer.write(record)
            writer.flush()
            content = path.read_bytes()
            assert writer.digest == hashlib.sha256(content).hexdigest()
            assert writer.bytes_written == len(content)
        assert writer.in_place()
        path.rename(tmp_path / "elsewhere")
        assert not writer.in_place()


def test_going_on_keeps_the_bytes_that_the_checkpoint_knows_of(tmp_path):
    path = written(tmp_path / "r")
    first = len(path.read_bytes().splitlines(keepends=True)[0])
    with RecordWriter(path, first) as writer:
        writer.write(SkippedWindow(1, 1))
    assert list(read_records(path)) == [LINES[0], SkippedWindow(1, 1)]
    with pytest.raises(RecipeError, match="fewer than 100000 bytes"):
        RecordWriter(path, 100_000)


def test_a_truncated_writer_forgets_the_lines_after_it(tmp_path):
    path = tmp_path / "r"
    with RecordWriter(path, 0) as writer:
        writer.write(LINES[0])
        kept = writer.bytes_written
        writer.write(LINES[1])
        writer.truncate(kept)
    assert list(read_records(path)) == LINES[:1]


@pytest.mark.parametrize("line", [b"3\n", b"\xff\n", b"{}\n", b'{"step":1', b"[" * 9999 + b"\n"])
def test_the_records_before_a_damaged_line_are_read_and_the_line_is_named(tmp_path, line):
    path = written(tmp_path / "r", LINES[:2])
    path.write_bytes(path.read_bytes() + line)
    found = read_records(path)
    assert [next(found), next(found)] == LINES[:2]
    with pytest.raises(DamagedRecordError, match="Line 3 of") as told:
        next(found)
    assert told.value.number == 3
    assert isinstance(told.value, CutOffRecordError) == (not line.endswith(b"\n"))


def test_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "r").mkdir()
    with pytest.raises(RecipeError, match="not a regular file"):
        list(read_records(tmp_path / "r"))


def test_ranks_that_write_nothing_have_written_nothing():
    nothing = NoRecords()
    nothing.write(LINES[0])
    nothing.flush()
    nothing.truncate(3)
    assert (nothing.bytes_written, nothing.digest, nothing.in_place()) == (0, "", True)
