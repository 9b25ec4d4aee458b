"""The one reader and writer of the disk."""

import os

import pytest

from towpath.files import FileError, Output, expanded, inside, problem, read_bytes, read_text, write


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "deep" / "down" / "file"
    write(path, b"one")
    write(path, b"two")
    assert path.read_bytes() == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def test_a_write_that_fails_leaves_the_old_file_and_no_folder(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write(path, b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for target in (path, tmp_path / "new" / "folder" / "file"):
        with pytest.raises(FileError, match="the disk is full"):
            write(target, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_folders_that_were_there_are_kept_when_a_write_fails(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "in the way").write_text("")
    with pytest.raises(FileError, match="a part of the path is a file"):
        write(tmp_path / "there" / "in the way" / "file", b"")
    assert (tmp_path / "there" / "in the way").is_file()


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", ["pipe", "link", "dangling link", "folder"])
def test_nothing_but_a_regular_file_is_replaced(kind, force, tmp_path):
    path, theirs = tmp_path / "out", tmp_path / "theirs"
    theirs.write_text("theirs")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere" if kind.startswith("dangling") else theirs)
    before = path.lstat()
    for attempt in (lambda: write(path, b"x"), lambda: Output(path, force).write(b"x")):
        with pytest.raises(FileError, match=r"is a (named pipe|link|folder)"):
            attempt()
    assert path.lstat() == before
    assert theirs.read_text() == "theirs"
    assert not (tmp_path / "nowhere").exists()


def test_an_output_replaces_what_bears_our_signature(tmp_path):
    output = Output(tmp_path / "page", signature=b"made by us")
    output.write(b"<made by us> 1")
    output.write(b"<made by us> 2")
    assert output.path.read_bytes() == b"<made by us> 2"
    output.path.write_bytes(b"x" * 10_000 + b"<made by us>")
    with pytest.raises(FileError, match="--force"):
        output.write(b"<made by us> 3")
    Output(output.path, force=True).write(b"<made by us> 4")
    assert output.path.read_bytes() == b"<made by us> 4"


def test_an_output_does_not_take_the_place_of_a_file_that_came_meanwhile(tmp_path, monkeypatch):
    output = Output(tmp_path / "page")
    real = os.fsync

    def slow(descriptor):
        output.path.write_text("faster")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(FileError, match="something is in the way"):
        output.write(b"ours")
    assert output.path.read_text() == "faster"
    assert [p.name for p in tmp_path.iterdir()] == ["page"]


def test_reading_follows_links_to_files_and_opens_nothing_else(tmp_path):
    (tmp_path / "file").write_text("é")
    (tmp_path / "link").symlink_to("file")
    assert read_text(tmp_path / "link") == "é"
    os.mkfifo(tmp_path / "pipe")
    for name, found in (("pipe", "named pipe"), (".", "folder"), ("none", "No such file")):
        with pytest.raises(FileError, match=found):
            read_bytes(tmp_path / name)
    with pytest.raises(FileError, match="more than 1 bytes"):
        read_bytes(tmp_path / "file", largest=1)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/x", "a/b", "a\\b", "a\0b"])
def test_a_name_stays_inside_its_folder(name, tmp_path):
    with pytest.raises(FileError, match="outside"):
        inside(tmp_path, name, "the run")


def test_ordinary_names_are_inside_their_folder(tmp_path):
    assert inside(tmp_path, "my run, [v2].1", "the run") == tmp_path / "my run, [v2].1"
    assert str(expanded("~nouser-of-this-name/x")) == "~nouser-of-this-name/x"
    assert "~" not in str(expanded("~/x"))


def test_an_error_of_the_system_is_a_sentence_and_stays_an_error_of_the_system():
    error = problem(PermissionError(13, "Permission denied"), "/place", "written")
    assert str(error).startswith("/place cannot be written (no permission); expected")
    assert isinstance(error, OSError)
    assert isinstance(error, ValueError)
    assert error.strerror == "no permission"
