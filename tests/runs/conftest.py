"""A study, and a finished comparison, that tests of their numbers share."""

import pytest

from tests.reports import synthetic
from towpath.runs.read_studies import read_studies


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "c"
    synthetic.write_comparison(path, 30, weighters=("uniform", "tow"), seeds=(0, 1), validate=1)
    (found,) = read_studies([path])
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("comparison") / "both"
    return synthetic.write_comparison(path, 6, weighters=("uniform", "tow"), seeds=(0, 3))
