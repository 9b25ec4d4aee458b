"""A trained learner outside the training loop: adapt to a few examples, then predict.

Only the run folder is read. It names components by their registry names, and classes of the user's
are imported only from packages that the caller allows.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from towpath.data import TaskShape
from towpath.data.tables.trained import TrainedTable
from towpath.learners import Learner, Predictor
from towpath.recipes.learners import make_learner
from towpath.recipes.optimizers import make_optimizer
from towpath.recipes.paths import set_label
from towpath.recipes.pretrained import has_untrained, weights_content
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.runs.folder import RunFolder
from towpath.runs.made_with import MadeWith
from towpath.runs.origin import Origin
from towpath.training.checkpoint import load_checkpoint
from towpath.training.judging import chosen_params
from towpath.training.place import torch_dtype
from towpath.training.state import TrainState


@dataclass(frozen=True, eq=False, repr=False)
class TrainedLearner:
    """A learner with the parameters that a run chose.

    Example:
        trained = tp.load("runs/omniglot")
        probabilities = trained.adapt(support_x, support_y).predict(query_x)  # [Q, ways]
    """

    learner: Learner
    params: dict[str, Tensor]
    recipe: Recipe
    shape: TaskShape
    step: int
    table: TrainedTable | None = None
    """how rows of a table become inputs, for a run on a table"""

    def __repr__(self) -> str:
        """Return one line on what was trained; the tensors are in `params`."""
        count = sum(p.numel() for p in self.params.values())
        return (
            f"TrainedLearner({self.recipe.learner.name} on {set_label(self.recipe.data.name)}, "
            f"{self.recipe.weighter.name}, seed {self.recipe.seed}, step {self.step}, "
            f"{count:,} parameters)"
        )

    def adapt(self, support_x: Tensor, support_y: Tensor) -> Predictor:
        """Adapt to the task of a support set; a learner that draws does so from the run's seed.

        Args:
            support_x: images `[S, C, H, W]` in 0..1, or standardised rows of a table `[S, D]`.
            support_y: labels `[S]`, or standardised targets `[S, 1]` of a regression.
        """
        dtype = torch_dtype(self.recipe.dtype)
        targets = support_y.to(dtype) if support_y.is_floating_point() else support_y
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.recipe.seed)
            adapted = self.learner.adapt(self.params, support_x.to(dtype), targets)
        return replace(adapted, outputs=lambda query_x: adapted(query_x.to(dtype)))


def load(run: str | Path, allowed: Collection[str] = ()) -> TrainedLearner:
    """Load the trained learner from a run folder, whether or not the run is finished.

    Args:
        run: the folder that `towpath train` wrote.
        allowed: packages that the run's components may be imported from.
    """
    folder = RunFolder.open(Path(run))
    recipe, made_with = folder.config()
    shape = _shape(folder, made_with)
    learner = make_learner(
        recipe.backbone,
        recipe.learner,
        shape=shape,
        seed=recipe.seed,
        allowed=allowed,
        trained=True,
    )
    identity = folder.identity()
    if identity is not None and has_untrained(learner.model):
        identity.check_data(weights_content(recipe.backbone), folder.path)
    learner.module.to(torch_dtype(recipe.dtype))
    params = learner.parameters()
    start = TrainState(params, make_optimizer(recipe.optimizer, params, recipe.training.steps))
    found = load_checkpoint(folder.checkpoints, start, Origin.of(folder))
    if found is None:
        raise RecipeError(
            f"{folder.path} has no checkpoint yet; expected a run that trained for at least "
            f"{recipe.training.checkpoint_every} steps. Run: towpath resume {folder.path}"
        )
    learner.module.eval()
    params = chosen_params(found)
    with torch.no_grad():
        for name, p in learner.parameters().items():
            p.copy_(params[name])
    step = found.state.step if found.best is None else found.best.step
    return TrainedLearner(learner, params, recipe, shape, step, folder.table())


def _shape(folder: RunFolder, made_with: MadeWith) -> TaskShape:
    if made_with.shape is None:
        raise RecipeError(
            f"{folder.path} does not say what it was trained on (made_with: channels, image_size "
            "and ways of images, or features of a table); expected the config.yaml that the run "
            "wrote. Restore it."
        )
    return made_with.shape
