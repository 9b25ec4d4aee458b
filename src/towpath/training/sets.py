"""The data sets of a run beside its training set: loaded, fitted to it, and made streams of tasks.

Sets are mixed into training, validated on, tested on, or trusted. The inputs of each are those of
the training set: images of its size, columns as it has scaled them.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from towpath.data import ClassPool, Pool, TaskStream, load, mixed, stream_of
from towpath.data.augmentation import augmented
from towpath.data.registry import is_own_features, is_own_folder
from towpath.data.tables import TablePool
from towpath.data.tables.splitting import TRUSTED
from towpath.recipes.components import data_options, options_beside
from towpath.recipes.mix import mix_shares
from towpath.recipes.paths import set_label
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError


def training_stream(
    recipe: Recipe, train: Pool, data_root: str | Path | None
) -> tuple[TaskStream, dict[str, str]]:
    """Return the training tasks, and the digests of the sets that are mixed into them.

    Args:
        recipe: the recipe of the run.
        train: the pool to train on.
        data_root: the data folder.
    """
    shares = mix_shares(recipe.data, recipe.episodes)
    if not shares:
        plain = stream_of(train, recipe.episodes, recipe.seed)
        return augmented(plain, recipe.augmentation), {}
    others: list[tuple[float, Pool]] = []
    contents: dict[str, str] = {}
    for name, share in shares.items():
        pool = _beside(recipe, train, name, "data.mix", "train", data_root)
        contents[f"data.mix {set_label(name)}"] = content_of(pool)
        others.append((share, pool))
    both = mixed(train, others, recipe.episodes, recipe.seed)
    return augmented(both, recipe.augmentation), contents


@dataclass(frozen=True, eq=False)
class OtherSets:
    """The data sets that are loaded beside the training data."""

    validation: TaskStream | None
    tests: dict[str, TaskStream]
    trusted: Pool | None
    """the pool of `trusted.data`, or of a table's trusted tasks; None for none"""
    contents: dict[str, str]
    """digests of the sets, keyed by the recipe's fields that name them"""


def other_sets(recipe: Recipe, train: Pool, data_root: str | Path | None) -> OtherSets:
    """Load the sets for validation and tests, and that of the trusted tasks.

    Args:
        recipe: the recipe of the run.
        train: the training pool, which the inputs of other sets have to fit.
        data_root: the data folder.
    """
    name, options = recipe.data.name, data_options(recipe.data)
    clean = replace(recipe.episodes, label_noise=0.0, groups="auto")
    contents: dict[str, str] = {}
    validation = None
    if recipe.validation.every:
        held_out = load(name, root=data_root, split="validation", **options)
        validation = stream_of(held_out, clean, 0, "validation")
        contents["data validation"] = content_of(held_out)
    own_test = load(name, root=data_root, split="test", **options)
    contents["data test"] = content_of(own_test)
    tests = {set_label(name): stream_of(own_test, clean, 0, "test")}
    for other in recipe.test.also:
        label = set_label(other)
        if label in tests:
            raise RecipeError(
                f"test.also names {other!r}, whose results would be those of {label!r}, as another "
                "test set's; expected names that differ. Rename the folder or leave it out."
            )
        pool = _beside(recipe, train, other, "test.also", "test", data_root)
        contents[f"test.also {label}"] = content_of(pool)
        tests[label] = stream_of(pool, clean, 0, "test")
    trusted: Pool | None = None
    if recipe.trusted.count and not recipe.trusted.data and names_trusted(train):
        trusted = load(name, root=data_root, split=TRUSTED, **options)
        contents["data trusted"] = content_of(trusted)
    if recipe.trusted.count and recipe.trusted.data:
        trusted = _beside(recipe, train, recipe.trusted.data, "trusted.data", "all", data_root)
        contents["trusted.data"] = content_of(trusted)
    return OtherSets(validation, tests, trusted, contents)


def content_of(pool: Pool) -> str:
    """Return the digest of a set; raise RecipeError if a name in it cannot be recorded."""
    for name in pool.names:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            shown = name.encode("utf-8", "backslashreplace").decode()
            raise RecipeError(
                f"The class {shown!r} of {pool.name} has a name that is not UTF-8; expected names "
                "that can be written into records. Rename the folder."
            ) from error
    return pool.content


def _beside(
    recipe: Recipe,
    train: Pool,
    name: str,
    where: str,
    split: str,
    data_root: str | Path | None,
) -> Pool:
    """Load a second set as the training set was; raise RecipeError if the inputs differ."""
    options = options_beside(recipe.data, name, train.input_shape)
    if is_own_folder(name) or is_own_features(name):
        # nothing is trained on the set's own training split
        options = {**options, "shared_classes": True}
    pool = load(name, root=data_root, split=split, **options)
    if where == "data.mix" and isinstance(pool, ClassPool) and len(train.input_shape) == 3:
        pool = pool.with_channels(train.input_shape[0])
    if isinstance(pool, TablePool) and isinstance(train, TablePool):
        return pool.scaled_as(train)
    if isinstance(pool, TablePool) != isinstance(train, TablePool):
        one, other = (
            f"{'a table' if isinstance(each, TablePool) else 'images'}" for each in (pool, train)
        )
        raise RecipeError(
            f"{where} names {name!r}, which is {one}, and {train.name} is {other}; expected the "
            "same kind, because one network cannot take rows and images. Choose another, or leave "
            "it out."
        )
    if pool.input_shape != train.input_shape:
        shapes = (pool.input_shape, train.input_shape)
        of_images = all(len(shape) == 3 for shape in shapes)
        remedy = "set data.image_size to what both can be read as" if of_images else "leave it out"
        raise RecipeError(
            f"The {'images' if len(pool.input_shape) == 3 else 'rows'} of {where} {name!r} are "
            f"{list(pool.input_shape)}; expected {list(train.input_shape)}, as those of "
            f"{train.name}. Choose a set of that shape, or {remedy}."
        )
    return pool


def names_trusted(pool: Pool) -> bool:
    """Return whether a table says which of its tasks are trusted; images do not."""
    return isinstance(pool, TablePool) and TRUSTED in pool.splits
