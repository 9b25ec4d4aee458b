"""`table.json` of a run on a table: what predictions on other tables need of the training table.

It holds the names of the features, how they are standardised, and the classes in the order of the
outputs. `made_with` of the configuration has its digest, so that a file of another run is noticed.
"""

from collections.abc import Mapping

import numpy as np

from towpath.data.tables import Scaling
from towpath.data.tables.trained import TrainedTable
from towpath.runs.plain import Json, JsonObject, json_digest, number_at

TABLE = "table.json"


def table_as_json(table: TrainedTable) -> dict[str, Json]:
    """Return the plain values from which `table_from_json` makes the object again."""
    return {
        "features": list(table.feature_names),
        "mean": table.scaling.mean.tolist(),
        "scale": table.scaling.scale.tolist(),
        "computed": [dict(kind) for kind in table.computed_features],
        "classes": list(table.classes),
        "spread": table.spread,
    }


def table_from_json(content: JsonObject, digest: str) -> TrainedTable:
    """Return what a file holds.

    Args:
        content: the content of the file.
        digest: the digest that the run recorded of it.

    Raises:
        ValueError: if it is another file than the run wrote.
        KeyError, TypeError: if it cannot be such a file.
    """
    if json_digest(content) != digest:
        raise ValueError("it is not the file that the run wrote")
    computed = content["computed"]
    if not isinstance(computed, list) or not all(isinstance(kind, Mapping) for kind in computed):
        raise TypeError(f"computed is {repr(computed)[:80]}")
    return TrainedTable(
        feature_names=_texts(content, "features"),
        scaling=Scaling(_numbers(content, "mean"), _numbers(content, "scale")),
        computed_features=tuple(computed),
        classes=_texts(content, "classes"),
        spread=number_at(content, "spread"),
    )


def _texts(content: JsonObject, key: str) -> tuple[str, ...]:
    value = content[key]
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise TypeError(f"{key} is {repr(value)[:80]}")
    return tuple(value)


def _numbers(content: JsonObject, key: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    value = content[key]
    if not isinstance(value, list):
        raise TypeError(f"{key} is {repr(value)[:80]}")
    return np.array(value, dtype=np.float32)
