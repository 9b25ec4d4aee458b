"""A tiny recipe as a file, and runs of it that the tests of several commands look at."""

from pathlib import Path

import pytest
import yaml

from tests.data.conftest import decoded_copies  # noqa: F401 - pytest finds it by its name here
from tests.training.runs import TINY
from towpath.cli.main import main

SHORT = {
    "training": {"steps": 4, "horizon": 2, "meta_batch_size": 2, "checkpoint_every": 2},
    "test": {"tasks": 2},
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a tiny recipe of four steps, as the working folder."""
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(yaml.safe_dump({**TINY, **SHORT}))
    return tmp_path


@pytest.fixture(scope="session")
def done(tmp_path_factory) -> Path:
    """A finished run of the tiny recipe; tests read it and write nothing into it."""
    folder = tmp_path_factory.mktemp("done")
    (folder / "tiny.yaml").write_text(yaml.safe_dump({**TINY, **SHORT}))
    assert main(["train", str(folder / "tiny.yaml"), "--out", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture
def torchrun(monkeypatch):
    """The environment of the second of two processes that torchrun started."""
    for name, value in {
        "RANK": "1",
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "1",
    }.items():
        monkeypatch.setenv(name, value)
