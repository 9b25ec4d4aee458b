"""The digest of a set's content: it changes with the data and with nothing else."""

import shutil

import pytest

from tests.data.makers import encoded, picture, write_tree, write_zip
from towpath.data import load_folder
from towpath.data.glyphs import load_glyphs


def files(splits=("train", "val", "test")):
    return {
        f"{split}/{split}{letter}/{i}.png": encoded(picture(hash((s, c, i)) % 1000))
        for s, split in enumerate(splits)
        for c, letter in enumerate("ab")
        for i in range(2)
    }


def content(place, split="train"):
    return load_folder(place, split, image_size=8, channels=3).content


@pytest.fixture
def own(tmp_path, fresh_cache):
    return write_tree(tmp_path / "own", files())


def replaced(own):
    (own / "train/traina/0.png").write_bytes(encoded(picture(4321)))


def renamed(own):
    (own / "train/traina").rename(own / "train/trainz")


def added(own):
    write_tree(own, {"test/testc/0.png": encoded(picture(77))})


def removed(own):
    shutil.rmtree(own / "test/testb")


def swapped(own):
    (own / "train").rename(own / "aside")
    (own / "test").rename(own / "train")
    (own / "aside").rename(own / "test")


@pytest.mark.parametrize("change", [replaced, renamed, added, removed, swapped])
def test_every_change_of_the_data_changes_the_content(own, change):
    before = content(own)
    assert before
    change(own)
    assert content(own) != before


def test_an_archive_and_a_folder_of_the_same_files_have_the_same_content(own, tmp_path):
    assert content(own) == content(write_zip(tmp_path / "own.zip", files()))


def test_notes_beside_the_images_and_another_place_are_no_change(own, tmp_path):
    before = content(own)
    write_tree(own, {"train/README.txt": b"mine"})
    own.rename(tmp_path / "elsewhere")
    assert content(tmp_path / "elsewhere") == before


def test_all_splits_of_a_set_have_one_content(own):
    assert content(own, "train") == content(own, "test")


def test_drawn_sets_have_a_content_too(fresh_cache):
    few = {"drawings": 2, "scripts": ("Coptic", "Hebrew")}
    assert load_glyphs(**few).content == load_glyphs(**few).content
    assert load_glyphs(**few).content != load_glyphs(seed=1, **few).content
