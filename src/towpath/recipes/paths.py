"""The places of a user's own data and pretrained weights in a recipe."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from towpath.data.registry import is_own_data
from towpath.files import expanded
from towpath.recipes.mix import MIX
from towpath.recipes.pretrained import Pretrained
from towpath.recipes.recipe import Recipe


def with_lasting_paths(recipe: Recipe) -> Recipe:
    """Return the recipe with absolute paths, so that a run can be resumed from anywhere."""

    def lasting(name: str) -> str:
        """Return the absolute path of data of the user's own; other names stay as they are."""
        return str(expanded(name).resolve()) if name and is_own_data(name) else name

    data = replace(recipe.data, name=lasting(recipe.data.name))
    mix = recipe.data.options.get(MIX)
    if isinstance(mix, Mapping):
        data = data.given(mix={lasting(name): share for name, share in mix.items()})
    elif mix:
        names = [mix] if isinstance(mix, str) else mix
        data = data.given(mix=[lasting(name) for name in names])
    backbone, pretrained = recipe.backbone, Pretrained.of_backbone(recipe.backbone)
    if pretrained is not None:
        backbone = backbone.given(weights=pretrained.lasting())
    test = replace(recipe.test, also=[lasting(name) for name in recipe.test.also])
    trusted = replace(recipe.trusted, data=lasting(recipe.trusted.data))
    return replace(recipe, data=data, backbone=backbone, test=test, trusted=trusted)


def set_label(name: str) -> str:
    """Return the name of a data set, or the last part of the path of a user's folder."""
    return Path(name).name or name
