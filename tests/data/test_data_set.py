"""What is known of a named set before it is loaded."""

import pytest

from tests.data.makers import encoded, picture, write_tree
from towpath.data import SETS, load
from towpath.data.data_set import DataSet, nothing
from towpath.data.set_report import Report

LAYOUTS = {
    "omniglot": "omniglot/images_background/Greek/character{c:02}/{i:04}_01.png",
    "mini-imagenet": "mini-imagenet/train/n{c}/{i}.png",
    "cub": "CUB_200_2011/images/00{c}.Bird/{i}.png",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_set_is_decoded_once_it_was_loaded_from_this_folder(name, tmp_path, monkeypatch):
    monkeypatch.setenv("TOWPATH_CACHE", str(tmp_path / "cache"))
    entry, data = SETS[name], tmp_path / "data"
    assert entry.sources(data) == []
    assert not entry.is_decoded(data)
    files = {
        LAYOUTS[name].format(c=c, i=i): encoded(picture(c + i)) for c in (1, 3) for i in (1, 2)
    }
    write_tree(data, files)
    assert [path.is_dir() for path in entry.sources(data)] == [True]
    assert not entry.is_decoded(data)
    assert len(load(name, data, "train")) == 2
    assert entry.is_decoded(data)


def whole(_root):
    return Report("mine", ())


def test_a_set_that_says_nothing_of_a_cache_is_never_decoded(tmp_path):
    entry = DataSet("mine", "what", "licence", "counts", load, nothing, whole, "By hand.")
    assert entry.sources(tmp_path) == []
    assert not entry.is_decoded(tmp_path)


def test_every_set_is_listed_under_its_own_name():
    assert [entry.name for entry in SETS.values()] == list(SETS)
