"""The commands that load data have a cache of their own, as the tests of the data have."""

from tests.data.conftest import decoded_copies  # noqa: F401 - pytest finds it by its name here
