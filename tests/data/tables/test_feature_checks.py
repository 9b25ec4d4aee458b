"""Options of the kinds of features."""

import pytest

from towpath.data.errors import DataError
from towpath.data.tables.feature_checks import made
from towpath.data.tables.feature_option import FEATURE_KINDS
from towpath.data.tables.molecules import MorganFeatures


def test_options_of_a_kind_are_its_fields():
    found = made(FEATURE_KINDS, {"kind": "morgan", "column": "smiles", "bits": 64})
    assert found == MorganFeatures("smiles", 64)
    with pytest.raises(DataError, match=r"features\.kind is None"):
        made(FEATURE_KINDS, {"column": "smiles"})
    with pytest.raises(DataError, match=r"no option 'text_columns'; expected columns\."):
        made(FEATURE_KINDS, {"kind": "columns", "columns": ["x"], "text_columns": ["x"]})
