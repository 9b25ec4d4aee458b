"""Training: one pure step, the loop around it, evaluation and checkpoints."""

from typing import TYPE_CHECKING

from towpath.lazy import exports

if TYPE_CHECKING:
    from towpath.recipes.recipe import Recipe
    from towpath.recipes.typed import RecipeError
    from towpath.runs.differences import PairedDifference, paired_difference
    from towpath.runs.folder import RunFolder
    from towpath.runs.scores import Score
    from towpath.training.deploy import TrainedLearner, load
    from towpath.training.errors import TrainingStoppedError
    from towpath.training.evaluation import evaluate
    from towpath.training.loop import resume, train
    from towpath.training.reporter import Reporter
    from towpath.training.state import TrainState
    from towpath.training.step import train_step

__all__ = [
    "PairedDifference",
    "Recipe",
    "RecipeError",
    "Reporter",
    "RunFolder",
    "Score",
    "TrainState",
    "TrainedLearner",
    "TrainingStoppedError",
    "evaluate",
    "load",
    "paired_difference",
    "resume",
    "train",
    "train_step",
]
__getattr__, __dir__ = exports(
    __name__,
    {
        "towpath.training.deploy": ("TrainedLearner", "load"),
        "towpath.runs.differences": ("PairedDifference", "paired_difference"),
        "towpath.runs.scores": ("Score",),
        "towpath.training.evaluation": ("evaluate",),
        "towpath.runs.folder": ("RunFolder",),
        "towpath.training.errors": ("TrainingStoppedError",),
        "towpath.training.loop": ("resume", "train"),
        "towpath.recipes.recipe": ("Recipe",),
        "towpath.training.reporter": ("Reporter",),
        "towpath.training.state": ("TrainState",),
        "towpath.training.step": ("train_step",),
        "towpath.recipes.typed": ("RecipeError",),
    },
)
