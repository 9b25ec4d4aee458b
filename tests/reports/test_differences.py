"""The fields in which a run differs from a recipe."""

import pytest

from towpath.recipes.reading import read_recipe
from towpath.recipes.recipe import Recipe
from towpath.reports.differences import MAY_DIFFER, differences
from towpath.reports.resolved import resolved


@pytest.mark.parametrize(
    ("override", "words"),
    [
        (("optimizer.meta_lr", "0.001"), "optimizer.meta_lr 0.001 instead of 0.0001"),
        (("optimizer.betas", "[0.5, 0.999]"), "optimizer.betas (0.5, 0.999) instead of"),
        (("episodes.query", "5"), "episodes.query 5 instead of 15"),
        (("episodes.shots", "5"), "episodes.shots 5 instead of 1"),
        (("data.alphabets", "25"), "data.alphabets 25 instead of 30"),
        (("data.rotations", "true"), "data.rotations true instead of false"),
        (("backbone.name", "resnet10"), "backbone.name resnet10 instead of conv4"),
        (("learner.first_order", "false"), "learner.first_order false instead of true"),
        (("training.horizon", "10"), "training.horizon 10 instead of 5"),
        (("dtype", "float64"), "dtype float64 instead of float32"),
        (("validation.patience", "3"), "validation.patience 3 instead of 0"),
        (("trusted.count", "20"), "trusted.count 20 instead of 0"),
    ],
)
def test_every_field_counts(override, words):
    wanted = read_recipe("omniglot-maml")
    found = read_recipe("omniglot-maml", [override])
    assert words in "; ".join(map(str, differences(found, wanted)))


def test_fields_that_no_result_depends_on_do_not_count():
    wanted = read_recipe("omniglot-maml")
    overrides = [
        ("seed", "7"),
        ("threads", "16"),
        ("device", "cuda"),
        ("training.checkpoint_every", "1000"),
        ("compare", "[uniform]"),
        ("about", "mine"),
    ]
    assert differences(read_recipe("omniglot-maml", overrides), wanted) == ()


def test_every_field_of_a_recipe_is_compared_or_listed():
    """A field that is added to recipes later counts until somebody lists it."""
    fields = {key.partition(".")[0] for key in resolved(read_recipe("omniglot-maml"))}
    assert fields >= set(Recipe().as_mapping())
    assert {name.partition(".")[0] for name in MAY_DIFFER} <= fields
