"""Whether a run's data are still there, and are those that it began with."""

from pathlib import Path

from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.runs.folder import CONFIG, RunFolder
from towpath.runs.identity import tell_of_old
from towpath.training.setup import Setup


def require_in_place(folder: RunFolder, recipe: Recipe) -> None:
    """Raise RecipeError if the user's table or folder that a run was trained on was moved away.

    Args:
        folder: the run's folder.
        recipe: the recipe of its configuration, where a user's own data have an absolute path.
    """
    place = Path(recipe.data.name)
    if place.is_absolute() and not place.exists():
        raise RecipeError(
            f"{place}, the data of {folder.path}, are not there (No such file or folder); expected "
            f"them where data.name in {folder.path / CONFIG} says. Put them back, or change "
            "data.name to the place that they were moved to, under the same last name."
        )


def check_data(folder: RunFolder, setup: Setup) -> None:
    """Raise RecipeError if the data have changed since the run began.

    A run folder of towpath 0.1 has no digests to compare with; a warning says so.
    """
    identity = folder.identity()
    if identity is None:
        tell_of_old(folder.path)
    else:
        identity.check_data(setup.contents, folder.path)
