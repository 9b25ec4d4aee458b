"""Hostile archives are real archives here, made with the standard library."""

import io
import stat
import tarfile
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.makers import write_zip
from towpath.data.archive import Limits, open_zip, unpack
from towpath.data.errors import DataError
from towpath.data.source import open_source


def tar_with(path, *members: tarfile.TarInfo, content: bytes = b"x"):
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            if member.isreg():
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
            else:
                archive.addfile(member)
    return path


def zip_with(path, name: str, content: bytes = b"x", mode: int = 0):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return path


def nothing_written(tmp_path):
    return not [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix == ".txt"]


OUTSIDE = ["/etc/evil.txt", "../evil.txt", "a/../../evil.txt", "C:/evil.txt", "..\\evil.txt"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_members_outside_the_folder_are_refused(tmp_path, name):
    zipped = zip_with(tmp_path / "a.zip", name)
    tarred = tar_with(tmp_path / "a.tgz", tarfile.TarInfo("fine.txt"), tarfile.TarInfo(name))
    for archive in (zipped, tarred):
        with pytest.raises(DataError, match="outside the folder"):
            unpack(archive, tmp_path / "out" / "files")
        assert nothing_written(tmp_path)
        with pytest.raises(DataError, match="outside the folder"), open_source(archive):
            pass


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path, kind):
    member = tarfile.TarInfo("link.txt")
    member.type = kind
    member.linkname = "/etc/passwd"
    archive = tar_with(tmp_path / "a.tgz", member)
    with pytest.raises(DataError, match=r"a link|a device"):
        unpack(archive, tmp_path / "files")
    assert nothing_written(tmp_path)


def test_a_link_in_a_zip_is_refused(tmp_path):
    archive = zip_with(tmp_path / "a.zip", "link.txt", b"/etc/passwd", stat.S_IFLNK | 0o777)
    with pytest.raises(DataError, match="is a link"):
        open_zip(archive)


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path, kind):
    bomb = bytes(80 * 2**20)
    path = tmp_path / f"bomb.{kind}"
    if kind == "zip":
        zip_with(path, "zeros.txt", bomb)
    else:
        tar_with(path, tarfile.TarInfo("zeros.txt"), content=bomb)
    assert path.stat().st_size < 2**20
    with pytest.raises(DataError, match=r"83,886,080 bytes unpacked from .* at most 200 times"):
        unpack(path, tmp_path / "files")
    assert not (tmp_path / "files").exists()


def test_limits_on_members_and_bytes_hold(tmp_path):
    archive = tmp_path / "many.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        for number in range(20):
            stream.writestr(f"{number}.txt", bytes(100))
    for limits, message in (
        (Limits(members=19), "20 members; expected at most 19"),
        (Limits(total_bytes=1999), "2,000 bytes unpacked"),
        (Limits(member_bytes=99), "a member of 100 bytes"),
    ):
        with pytest.raises(DataError, match=message):
            unpack(archive, tmp_path / "files", limits)
    unpack(archive, tmp_path / "files", Limits(members=20, total_bytes=2000))
    assert len(list((tmp_path / "files").iterdir())) == 20


def test_a_member_that_declares_another_size_is_refused(tmp_path):
    archive = zip_with(tmp_path / "a.zip", "x.txt", b"abcdefgh" * 100)
    raw = bytearray(archive.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = raw.index(signature) + offset
        raw[at : at + 4] = (10).to_bytes(4, "little")
    archive.write_bytes(raw)
    opened = open_zip(archive)
    with pytest.raises(DataError, match=r"unpacks to more|cannot be read as an archive"):
        opened.read("x.txt")
    opened.close()


def test_the_same_path_twice_is_refused(tmp_path):
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr("a.txt", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            stream.writestr("a.txt", b"2")
    with pytest.raises(DataError, match="there twice"):
        open_zip(archive)
    twice = tar_with(tmp_path / "a.tgz", tarfile.TarInfo("a.txt"), tarfile.TarInfo("./a.txt"))
    with pytest.raises(DataError, match="two members"):
        unpack(twice, tmp_path / "files")


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_a_truncated_archive_is_a_clear_error(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    noise = bytes(range(256)) * 40
    if kind == "zip":
        zip_with(path, "a.txt", noise)
    else:
        tar_with(path, tarfile.TarInfo("a.txt"), content=noise)
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:length])
        with pytest.raises(
            DataError, match=r"cannot be read as an archive|neither a zip nor a tar"
        ):
            unpack(path, tmp_path / "files")
        assert not (tmp_path / "files").exists()


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tar.bz2", "tar.xz"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damage_anywhere_is_a_clear_error_or_no_matter(tmp_path_factory, kind, data):
    folder = tmp_path_factory.mktemp("damaged")
    path = folder / f"a.{kind}"
    content = {f"класс/{i}.txt": bytes([i]) * 50 for i in range(3)}
    if kind == "zip":
        write_zip(path, content)
    else:
        with tarfile.open(path, f"w:{kind[4:]}") as archive:
            for name, text in content.items():
                info = tarfile.TarInfo(name)
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text))
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw)
    try:
        unpack(path, folder / "files")
    except DataError:
        assert not (folder / "files").exists()
    outside = [p for p in folder.rglob("*") if p.is_file() and folder / "files" not in p.parents]
    assert outside == [path]


def test_an_encrypted_member_is_refused(tmp_path):
    archive = zip_with(tmp_path / "a.zip", "x.txt")
    raw = bytearray(archive.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(signature) + offset] |= 1
    archive.write_bytes(raw)
    with pytest.raises(DataError, match="encrypted"):
        open_zip(archive)


def test_an_existing_folder_is_never_unpacked_into(tmp_path):
    archive = zip_with(tmp_path / "a.zip", "x.txt")
    (tmp_path / "files").mkdir()
    with pytest.raises(DataError, match="exists already"):
        unpack(archive, tmp_path / "files")


def test_an_honest_archive_unpacks_with_its_folders(tmp_path):
    member = tarfile.TarInfo("./deep/er")
    member.type = tarfile.DIRTYPE
    archive = tar_with(tmp_path / "a.tgz", member, tarfile.TarInfo("./deep/er/ネコ.txt"))
    unpack(archive, tmp_path / "files")
    assert (tmp_path / "files/deep/er/ネコ.txt").read_bytes() == b"x"
