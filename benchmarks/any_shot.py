"""The nine rows of the paper's any-shot table in a shorter form.

A row is a recipe and a weighter. The short form that two cores can run is the same for all rows:
images of 42 x 42 pixels, at most 10 shots, 100 steps of five tasks, 200 test tasks on each set.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from towpath.reports.reruns import paper_recipe
from towpath.reports.sections import paper

STEPS, TESTS = 100, 200
SHORT_FORM = {
    "data.image_size": "42",
    "episodes.shots": "any-10",
    "training.meta_batch_size": "5",
    "validation.tasks": "20",
    "validation.every": "50",
}
TITLES = {"any-shot-maml": "TOW-MAML", "any-shot-protonet": "TOW-Protonet"}


@dataclass(frozen=True)
class Row:
    """A row of the paper's table."""

    title: str
    recipe: str
    """name of the recipe, of the experiment and of its page"""
    weighter: str
    theirs: Mapping[str, paper.Figure]
    """test set -> accuracy in the paper"""

    @property
    def weighters(self) -> str:
        """The weighters to run: uniform beside a weighted row, which shows what weighting does."""
        return "uniform" if self.weighter == "uniform" else f"uniform,{self.weighter}"


def rows() -> list[Row]:
    """Return the rows of the paper's table whose recipe is shipped, those of others first."""
    plain = [Row(row.title, row.recipe, "uniform", row.theirs) for row in paper.ANY_SHOT_OTHERS]
    weighted = [
        Row(TITLES[recipe], recipe, paper.METHODS["tow"], methods["tow"])
        for recipe, methods in paper.ANY_SHOT.items()
    ]
    return [row for row in (*plain, *weighted) if paper_recipe(row.recipe) is not None]
