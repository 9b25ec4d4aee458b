"""Pieces of the reports on data sets."""

import hashlib

from towpath.data.cache import StoredClass
from towpath.data.download import RemoteFile
from towpath.data.set_report import Report, checksum_lines, classes_and_images


def test_a_report_without_problems_is_right():
    assert Report("mine", ("five classes",)).ok
    assert not Report("mine", ("five classes",), ("six were expected",)).ok


def test_only_a_file_that_can_be_downloaded_has_a_checksum_and_another_is_told(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(b"content")
    digest = hashlib.sha256(b"content").hexdigest()
    official = RemoteFile("a.zip", f"sha256:{digest}", ())
    assert checksum_lines([official], path) == ["a.zip: the official checksum"]
    (line,) = checksum_lines([RemoteFile("a.zip", f"sha256:{'0' * 64}", ())], path)
    assert "not the official checksum" in line
    assert checksum_lines([official], tmp_path) == []


def test_images_of_a_class_are_one_number_or_from_the_least_to_the_most():
    stored = [
        StoredClass(split, "", f"{split} {i}", 0, count)
        for split, counts in (("train", (20, 20)), ("test", (20, 3)))
        for i, count in enumerate(counts)
    ]
    assert classes_and_images(stored) == (4, "3 to 20")
    assert classes_and_images(stored, "train") == (2, "20")
    assert classes_and_images(stored, "validation") == (0, "0")
