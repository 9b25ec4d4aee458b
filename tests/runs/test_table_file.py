"""What a run keeps of its table comes back from the file, and nothing else passes for it."""

import json

import numpy as np
import pytest

from towpath.data.tables import Scaling
from towpath.data.tables.trained import TrainedTable
from towpath.runs.plain import json_digest, json_file
from towpath.runs.table_file import table_as_json, table_from_json

KEPT = TrainedTable(
    ("mass", "smiles.0"),
    Scaling(np.array([0.1, 0], np.float32), np.array([1 / 3, 1], np.float32)),
    ({"kind": "morgan", "column": "smiles", "bits": 8},),
    ("no", "yes"),
    1.5,
)


def test_it_comes_back_to_the_bit():
    content = json.loads(json_file(table_as_json(KEPT)))
    found = table_from_json(content, json_digest(table_as_json(KEPT)))
    assert found.feature_names == KEPT.feature_names
    np.testing.assert_array_equal(found.scaling.mean, KEPT.scaling.mean)
    np.testing.assert_array_equal(found.scaling.scale, KEPT.scaling.scale)
    assert found.computed_features == KEPT.computed_features
    assert (found.classes, found.spread) == (KEPT.classes, KEPT.spread)


@pytest.mark.parametrize(
    ("key", "value"),
    [("features", [1]), ("mean", 3), ("computed", ["x"]), ("classes", None), ("spread", "x")],
)
def test_other_content_is_an_error(key, value):
    content = {**table_as_json(KEPT), key: value}
    with pytest.raises(TypeError):
        table_from_json(content, json_digest(content))
    with pytest.raises(ValueError, match="not the file that the run wrote"):
        table_from_json(content, json_digest(table_as_json(KEPT)))
