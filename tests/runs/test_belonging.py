"""Files of a run folder: only regular ones are opened, and a prefix has its digest."""

import hashlib
import os

import pytest

from towpath.recipes.typed import RecipeError
from towpath.runs.belonging import prefix_digest, regular_bytes, require_regular


def test_a_regular_file_is_read(tmp_path):
    (tmp_path / "a").write_bytes(b"content")
    assert regular_bytes(tmp_path / "a", "a file") == b"content"


def test_a_pipe_is_not_waited_for_and_a_folder_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder", "nothing"):
        with pytest.raises(RecipeError, match="is not a regular file; expected a checkpoint"):
            require_regular(tmp_path / name, "a checkpoint")


@pytest.mark.parametrize("size", [0, 1, 2**20, 2**20 + 3])
def test_the_digest_of_a_prefix_goes_on_where_it_ends(tmp_path, size):
    content = bytes(range(256)) * 4097
    (tmp_path / "a").write_bytes(content)
    digest = prefix_digest(tmp_path / "a", size)
    assert digest is not None
    digest.update(content[size:])
    assert digest.hexdigest() == hashlib.sha256(content).hexdigest()


def test_there_is_no_digest_of_more_bytes_than_there_are(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert prefix_digest(tmp_path / "a", 4) is None
