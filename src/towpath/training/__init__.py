"""Training: one pure step, the loop around it, evaluation, checkpoints, comparison."""

from towpath.training.compare import (
    ComparisonIncompleteError,
    begin_comparison,
    is_comparison,
    run_comparison,
)
from towpath.training.deploy import TrainedLearner, load
from towpath.training.evaluation import PairedDifference, Score, evaluate, paired_difference
from towpath.training.folder import RunFolder
from towpath.training.loop import TrainingStoppedError, resume, train
from towpath.training.recipe import Recipe
from towpath.training.reporter import Reporter
from towpath.training.state import TrainState
from towpath.training.step import train_step
from towpath.training.typed import RecipeError

__all__ = [
    "ComparisonIncompleteError",
    "PairedDifference",
    "Recipe",
    "RecipeError",
    "Reporter",
    "RunFolder",
    "Score",
    "TrainState",
    "TrainedLearner",
    "TrainingStoppedError",
    "begin_comparison",
    "evaluate",
    "is_comparison",
    "load",
    "paired_difference",
    "resume",
    "run_comparison",
    "train",
    "train_step",
]
