"""What cannot fit into memory is refused with its size and the field to lower."""

import pytest

from tests.training.runs import tiny
from towpath.data.shape import TaskShape
from towpath.recipes.typed import RecipeError
from towpath.training.room import require_room

SHAPE = TaskShape((1, 28, 28), 2)


def test_a_window_that_fits_is_let_through_and_unknown_memory_is_no_obstacle():
    require_room(tiny("uniform"), SHAPE, 4, 10**9)
    require_room(tiny("uniform"), SHAPE, 4, None)


@pytest.mark.parametrize(
    ("sections", "field"),
    [
        ({"training": {"horizon": 9_000, "meta_batch_size": 9_000}}, "training.horizon"),
        ({"trusted": {"count": 90_000, "per_batch": 2}}, "trusted.count"),
        ({"probes": [{"name": "p", "horizon": 9_000, "meta_batch_size": 9_000}]}, "its horizon"),
    ],
    ids=["window", "trusted", "probe"],
)
def test_what_does_not_fit_names_the_field_to_lower(sections, field):
    with pytest.raises(RecipeError, match=f"Lower {field}"):
        require_room(tiny("uniform", **sections), SHAPE, 4, 10**8)
