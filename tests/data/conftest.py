"""Fixtures of the data tests: a cache of their own, and the folder of real data if there is one."""

import os
from pathlib import Path

import pytest

from towpath.data.locations import CACHE_VARIABLE, DATA_VARIABLE

_REAL = os.environ.get(DATA_VARIABLE)


@pytest.fixture(scope="session", autouse=True)
def decoded_copies(tmp_path_factory):
    """Tests never touch the user's cache; `TOWPATH_TEST_CACHE` keeps theirs between sessions."""
    kept = os.environ.get("TOWPATH_TEST_CACHE")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, kept or str(tmp_path_factory.mktemp("decoded")))
        patch.delenv(DATA_VARIABLE, raising=False)
        yield


@pytest.fixture
def fresh_cache(tmp_path, monkeypatch) -> Path:
    """An empty cache folder for this test alone."""
    folder = tmp_path / "fresh-cache"
    monkeypatch.setenv(CACHE_VARIABLE, str(folder))
    return folder


@pytest.fixture(scope="session")
def real_root() -> Path:
    """The folder of real data; tests that need it are skipped where there is none."""
    if not _REAL or not Path(_REAL).is_dir():
        pytest.skip(
            f"needs the folder of real data (Omniglot, mini-ImageNet, CUB): set {DATA_VARIABLE}; "
            f"it is {_REAL!r}"
        )
    return Path(_REAL).resolve()
