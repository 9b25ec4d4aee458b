"""towpath weights the tasks of meta-learning by trajectory optimisation."""

from towpath import data
from towpath.data.episode import Episode

__version__ = "0.1.0"

__all__ = ["Episode", "data"]
