import multiprocessing
import os
import stat
import time

import numpy as np
import pytest

from tests.data.makers import encoded, picture, write_tree, write_zip
from towpath.data.cache import Blueprint, StoredClass, discard_if_damaged, is_stored, stored
from towpath.data.errors import DataError
from towpath.data.own_folder import load_folder
from towpath.data.source import content_key
from towpath.files import write

KEY = "0123456789abcdef" * 4


def blueprint(value: int = 7, log: list | None = None, rows: int = 3):
    def fill(images):
        if log is not None:
            log.append(value)
        images[:] = value

    classes = (StoredClass("train", "g", "קלאס", 0, rows),)
    return lambda: Blueprint(classes, (rows, 1, 2, 2), fill, ("a note",))


def entry(cache):
    (folder,) = [path for path in cache.iterdir() if not path.name.startswith(".")]
    return folder


def test_a_second_load_builds_nothing(fresh_cache):
    log: list[int] = []
    first = stored("set", KEY, blueprint(7, log))
    second = stored("set", KEY, blueprint(8, log))
    assert log == [7]
    assert np.array_equal(first.images, second.images)
    assert second.classes == first.classes
    assert second.notes == ("a note",)
    assert isinstance(second.images, np.memmap)
    assert not second.images.flags.writeable


@pytest.mark.parametrize("file", ["images.npy", "classes.json"])
@pytest.mark.parametrize("damage", ["truncated", "emptied", "removed", "flipped"])
def test_a_damaged_entry_is_built_again(fresh_cache, file, damage):
    stored("set", KEY, blueprint(7))
    path = entry(fresh_cache) / file
    content = bytearray(path.read_bytes())
    if damage == "removed":
        path.unlink()
    elif damage == "flipped":
        content[-3 if file == "images.npy" else 0] ^= 0xFF
        path.write_bytes(content)
    else:
        path.write_bytes(content[: len(content) // 2] if damage == "truncated" else b"")
    log: list[int] = []
    assert (stored("set", KEY, blueprint(9, log)).images == 9).all()
    assert log == [9]
    assert (stored("set", KEY, blueprint(1, log)).images == 9).all()


def test_damage_between_the_blocks_looked_at_is_found_by_verifying(fresh_cache):
    rows = 130 * 2**18  # 130 blocks of a megabyte: every other one is looked at on loading
    stored("set", KEY, blueprint(7, rows=rows))
    path = entry(fresh_cache) / "images.npy"
    with path.open("r+b") as stream:
        stream.seek(2**20 + 5000)  # block 1; loading looks at 0, 2, 4, ...
        stream.write(b"\0")
    log: list[int] = []
    stored("set", KEY, blueprint(8, log, rows))
    assert log == []
    assert discard_if_damaged("set", KEY)
    assert not is_stored("set", KEY)
    assert not discard_if_damaged("set", KEY)


def test_a_build_that_fails_leaves_nothing(fresh_cache):
    def broken(images):
        raise DataError("unreadable image")

    with pytest.raises(DataError, match="unreadable"):
        stored("set", KEY, lambda: Blueprint((), (1, 1, 2, 2), broken))
    assert list(fresh_cache.iterdir()) == []


def test_leftovers_of_killed_builds_are_swept_once_old(fresh_cache):
    old, young = (fresh_cache / f".set-{name}.partial" for name in ("old", "young"))
    old.mkdir(parents=True)
    young.mkdir()
    os.utime(old, (1, 1))
    stored("set", KEY, blueprint())
    assert not old.exists()
    assert young.exists()


def _build_slowly(value):
    def fill(images):
        time.sleep(0.3)
        images[:] = value

    classes = (StoredClass("train", "g", "c", 0, 3),)
    return int(
        stored("set", KEY, lambda: Blueprint(classes, (3, 1, 2, 2), fill)).images[0, 0, 0, 0]
    )


def test_processes_that_build_at_once_agree(fresh_cache):
    with multiprocessing.get_context("fork").Pool(4) as processes:
        found = processes.map(_build_slowly, [1, 2, 3, 4], chunksize=1)
    assert len(set(found)) == 1
    assert _build_slowly(5) == found[0]
    assert [path.name for path in fresh_cache.iterdir()] == [f"set-{KEY[:24]}"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_cache_that_cannot_be_written_says_which_folder(fresh_cache):
    fresh_cache.mkdir()
    fresh_cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(DataError, match="TOWPATH_CACHE"):
        stored("set", KEY, blueprint())


def test_a_cache_that_is_a_file_says_which_folder(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TOWPATH_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"cannot be written to .*file.*TOWPATH_CACHE"):
        stored("set", KEY, blueprint())


def test_the_key_is_the_content_not_the_place(tmp_path, fresh_cache):
    files = {"a/1.png": encoded(picture(1)), "b/1.png": encoded(picture(2))}
    one = write_tree(tmp_path / "one", files)
    other = write_tree(tmp_path / "other", files)
    assert content_key(one) == content_key(other)
    (other / "b/1.png").write_bytes(encoded(picture(3)))
    assert content_key(one) != content_key(other)


def test_a_changed_source_is_decoded_again(tmp_path, fresh_cache):
    files = {f"{c}/1.png": encoded(picture(i)) for i, c in enumerate("abc")}
    for place in (write_tree(tmp_path / "own", files), write_zip(tmp_path / "own.zip", files)):
        before = load_folder(place, "all", image_size=12).images.copy()
        changed = files | {"a/1.png": encoded(picture(99))}
        if place.is_dir():
            write_tree(place, changed)
        else:
            write_zip(place, changed)
        after = load_folder(place, "all", image_size=12).images
        assert not np.array_equal(before, after)


def test_hashing_is_spared_while_no_file_changes(tmp_path, fresh_cache, monkeypatch):
    root = write_tree(tmp_path / "own", {"a/1.png": b"content"})
    long_ago = time.time() - 60
    os.utime(root / "a/1.png", (long_ago, long_ago))
    monkeypatch.setattr("towpath.data.source._SETTLED_SECONDS", 0.0)
    key = content_key(root)

    def forbidden(*_):
        raise AssertionError("hashed again")

    monkeypatch.setattr("towpath.data.source._digest", forbidden)
    assert content_key(root) == key


def test_a_file_changed_just_now_is_not_remembered(tmp_path, fresh_cache):
    root = write_tree(tmp_path / "own", {"a/1.png": b"content"})
    content_key(root)
    assert not (fresh_cache / "fingerprints").exists()


def test_a_file_that_is_written_whole_may_be_read_by_whom_the_user_allows(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "file", b"content")
    finally:
        os.umask(before)
    assert (tmp_path / "file").read_bytes() == b"content"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
