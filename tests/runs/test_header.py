"""The header of a checkpoint: it comes back as it went; forged and damaged ones are told."""

import json
import zlib

import pytest

from towpath.recipes.typed import RecipeError
from towpath.runs.header import (
    LAST,
    NEW,
    PREVIOUS,
    BestStep,
    DamagedCheckpointError,
    Header,
    checkpoint_files,
)

HEADER = Header(
    run="abc",
    records_bytes=120,
    records_digest="def",
    step=4,
    window=2,
    failures=0,
    evaluations=8.5,
    tasks=16,
    steps=(4, 4),
    weighter_state={"q": {"A": 0.5}},
    best=BestStep(2, 0.75),
    since_best=1,
    seconds=2.0,
    training_seconds=1.5,
    checksums={"params.w": 7},
)


def changed(change):
    content = {**json.loads(HEADER.as_metadata()["towpath"]), **change}
    text = json.dumps({key: value for key, value in content.items() if value != "gone"})
    return {"towpath": text, "checksum": str(zlib.crc32(text.encode()))}


def test_a_header_comes_back_from_its_file():
    assert Header.read(HEADER.as_metadata()) == HEADER


def test_a_header_of_0_1_has_no_digests():
    found = Header.read(changed({"run": "gone", "records_digest": "gone"}))
    assert (found.run, found.records_digest) == ("", "")


def test_a_header_of_another_format_asks_for_the_other_release():
    with pytest.raises(RecipeError, match="has format 99; expected 1"):
        Header.read(changed({"format": 99}))


@pytest.mark.parametrize(
    "change",
    [
        {"step": -1},
        {"step": "gone"},
        {"window": True},
        {"steps": 3},
        {"steps": ["a"]},
        {"evaluations": None},
        {"weighter_state": [1]},
        {"best": [1, 2]},
        {"best": {"step": 1}},
        {"best": {"step": 1, "score": "high"}},
        {"checksums": []},
        {"records_bytes": 3.5},
    ],
    ids=str,
)
def test_a_header_with_a_value_of_another_kind_is_damaged(change):
    with pytest.raises(DamagedCheckpointError):
        Header.read(changed(change))


@pytest.mark.parametrize(
    "metadata",
    [None, {}, {"towpath": "{}"}, {"towpath": "[", "checksum": str(zlib.crc32(b"["))}],
    ids=str,
)
def test_what_is_no_header_is_damaged(metadata):
    with pytest.raises(DamagedCheckpointError):
        Header.read(metadata)


def test_the_newest_checkpoint_comes_first(tmp_path):
    for name in (PREVIOUS, NEW, LAST, "other"):
        (tmp_path / name).touch()
    assert [path.name for path in checkpoint_files(tmp_path)] == [LAST, NEW, PREVIOUS]
    (tmp_path / LAST).unlink()
    assert [path.name for path in checkpoint_files(tmp_path)] == [NEW, PREVIOUS]
