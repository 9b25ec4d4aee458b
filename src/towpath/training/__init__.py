"""Training: one pure step, the loop around it, evaluation, checkpoints, comparison."""

from typing import TYPE_CHECKING

from towpath.lazy import exports

if TYPE_CHECKING:
    from towpath.training.compare import (
        ComparisonIncompleteError,
        begin_comparison,
        is_comparison,
        run_comparison,
    )
    from towpath.training.deploy import TrainedLearner, load
    from towpath.training.errors import TrainingStoppedError
    from towpath.training.evaluation import PairedDifference, Score, evaluate, paired_difference
    from towpath.training.folder import RunFolder
    from towpath.training.loop import resume, train
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
__getattr__, __dir__ = exports(
    __name__,
    {
        "towpath.training.compare": (
            "ComparisonIncompleteError",
            "begin_comparison",
            "is_comparison",
            "run_comparison",
        ),
        "towpath.training.deploy": ("TrainedLearner", "load"),
        "towpath.training.evaluation": (
            "PairedDifference",
            "Score",
            "evaluate",
            "paired_difference",
        ),
        "towpath.training.folder": ("RunFolder",),
        "towpath.training.errors": ("TrainingStoppedError",),
        "towpath.training.loop": ("resume", "train"),
        "towpath.training.recipe": ("Recipe",),
        "towpath.training.reporter": ("Reporter",),
        "towpath.training.state": ("TrainState",),
        "towpath.training.step": ("train_step",),
        "towpath.training.typed": ("RecipeError",),
    },
)
