"""Fixtures of all tests: decoded copies never land in the user's own cache."""

import os

import pytest

from towpath.data.folders import CACHE_VARIABLE


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """`TOWPATH_TEST_CACHE` keeps the decoded copies between sessions."""
    kept = os.environ.get("TOWPATH_TEST_CACHE")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, kept or str(tmp_path_factory.mktemp("decoded")))
        yield
