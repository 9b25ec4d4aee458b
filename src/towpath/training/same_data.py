"""Whether a run's data are those that it began with."""

from towpath.runs.folder import RunFolder
from towpath.runs.identity import tell_of_old
from towpath.training.setup import Setup


def check_data(folder: RunFolder, setup: Setup) -> None:
    """Raise RecipeError if the data have changed since the run began.

    A run folder of towpath 0.1 has no digests to compare with; a warning says so.
    """
    identity = folder.identity()
    if identity is None:
        tell_of_old(folder.path)
    else:
        identity.check_data(setup.contents, folder.path)
