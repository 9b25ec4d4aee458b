"""`made_with` of a configuration, and the version of the folder's format."""

from pathlib import Path

import pytest
import yaml

from towpath.data import TaskShape
from towpath.recipes.typed import RecipeError
from towpath.runs.identity import Identity
from towpath.runs.made_with import FORMAT, MadeWith, versions

HERE = Path("run/config.yaml")


def test_it_comes_back_from_the_configuration():
    identity = Identity({"training": "abc"}, {"data train": "def"}, 40)
    made = MadeWith(TaskShape((1, 28, 28), 5), "towpath train quick", versions(), identity)
    assert MadeWith.read(yaml.safe_load(yaml.safe_dump(made.as_mapping())), HERE) == made


@pytest.mark.parametrize(
    "shape", [TaskShape((7,), 2), TaskShape((7,), 1, is_regression=True), TaskShape((3, 8, 8), 2)]
)
def test_every_shape_comes_back(shape):
    made = MadeWith(shape, table="digest")
    assert MadeWith.read(yaml.safe_load(yaml.safe_dump(made.as_mapping())), HERE) == made


def test_a_folder_of_0_1_says_no_format_and_is_read_as_the_first():
    old = {"channels": 1, "image_size": 28, "ways": 5, "command": "", "versions": {"towpath": 1}}
    found = MadeWith.read(old, HERE)
    assert found.format == 1
    assert found.identity is None
    assert found.shape == TaskShape((1, 28, 28), 5)
    assert found.versions == {"towpath": "1"}


@pytest.mark.parametrize("found", [FORMAT + 1, "two"])
def test_a_folder_of_a_later_release_is_refused(found):
    with pytest.raises(RecipeError, match="Use the release that trained the run"):
        MadeWith.read({"format": found}, HERE)


@pytest.mark.parametrize("ways", [None, -5, "five"])
def test_a_shape_that_is_not_whole_is_unknown(ways):
    assert MadeWith.read({"channels": 1, "image_size": 28, "ways": ways}, HERE).shape is None
