"""A checkpoint must be of the run in its folder, and the records those it was written with."""

import hashlib
from dataclasses import replace

import pytest

from tests.runs.test_header import HEADER
from towpath.recipes.typed import RecipeError
from towpath.runs.origin import ForeignRecordsError, Origin


@pytest.fixture
def origin(tmp_path):
    records = tmp_path / "records.jsonl"
    records.write_bytes(b"one\ntwo\n")
    return Origin("abc", records)


def header(content: bytes):
    digest = hashlib.sha256(content).hexdigest()
    return replace(HEADER, records_bytes=len(content), records_digest=digest)


def test_lines_after_the_checkpoint_may_be_anything(origin):
    origin.check(origin.records, header(b"one\n"))


def test_a_checkpoint_of_another_run_is_refused(origin):
    with pytest.raises(RecipeError, match="of another run"):
        origin.check(origin.records, replace(header(b"one\n"), run="xyz"))


def test_records_that_were_edited_or_cut_are_not_the_checkpoints(origin):
    with pytest.raises(ForeignRecordsError, match="was edited"):
        origin.check(origin.records, header(b"two\n"))
    with pytest.raises(ForeignRecordsError, match="has 8 bytes; expected at least 12"):
        origin.check(origin.records, header(b"one\ntwo\nsix\n"))


def test_without_a_digest_the_length_is_all_that_is_known(origin):
    old = Origin("", origin.records)
    old.check(origin.records, replace(header(b"two\n"), run="", records_digest=""))
