"""A study: runs that belong together, as those of a comparison or of one recipe do."""

from dataclasses import dataclass, field

from towpath.data.registry import is_synthetic
from towpath.recipes.paths import set_label
from towpath.recipes.recipe import Recipe
from towpath.runs.comparison import BASELINE
from towpath.runs.run_data import RunData


@dataclass
class Study:
    """Several weighters on one recipe, each with its runs (one for each seed)."""

    name: str
    title: str
    runs: dict[str, list[RunData]]
    """the runs of each label, in the order in which they are shown"""
    missing: list[str] = field(default_factory=list)

    @property
    def heading(self) -> str:
        """The title for people: the recipe and, where its name does not say it, the data."""
        data = set_label(self.recipe.data.name) if self.recipe else ""
        return self.title if data.lower() in self.title.lower() else f"{self.title} on {data}"

    @property
    def labels(self) -> list[str]:
        """The labels of the weighters, in the order in which they are shown."""
        return list(self.runs)

    @property
    def recipe(self) -> Recipe | None:
        """The recipe of one of the runs, which differ in weighter and seed only."""
        return next((run.recipe for run in self.all if run.recipe), None)

    @property
    def all(self) -> list[RunData]:
        """All runs of all weighters in one list."""
        return [run for runs in self.runs.values() for run in runs]

    @property
    def baseline(self) -> str:
        """The label that the others are compared with: `uniform`, or else the first."""
        return BASELINE if BASELINE in self.runs else self.labels[0]

    @property
    def synthetic(self) -> bool:
        """Whether the data are generated rather than downloaded or the user's own."""
        return bool(self.recipe and is_synthetic(self.recipe.data.name))

    @property
    def reproduces(self) -> str:
        """The table or figure of the paper that the recipe reruns; empty where there is none."""
        return self.recipe.reproduces if self.recipe else ""

    @property
    def shortened(self) -> bool:
        """Whether the runs have the small budget of their recipe (`--budget small`)."""
        recipe = self.recipe
        return bool(
            recipe
            and recipe.small
            and recipe.training.steps == recipe.small.get("training.steps", -1)
        )

    @property
    def has_wrong_labels(self) -> bool:
        """Whether some tasks were mislabelled or off target on purpose."""
        return any(run.wrong for run in self.all)

    @property
    def wrong_word(self) -> str:
        """What the tasks that are not clean are called: off-target ones, or mislabelled ones."""
        mixed = self.recipe is not None and bool(self.recipe.data.options.get("mix"))
        return "off-target" if mixed else "mislabelled"

    @property
    def weighing(self) -> list[str]:
        """The labels of weighters that gave tasks of a mini-batch different weights."""
        return [label for label in self.labels if any(run.weighs for run in self.runs[label])]

    def colour(self, label: str) -> int:
        """Return the index of the label's colour, which is the same in every figure."""
        return self.labels.index(label)

    def seeds(self, label: str) -> list[RunData]:
        """Return the finished runs of a weighter, or all of its runs where none is finished."""
        runs = self.runs[label]
        return [run for run in runs if run.finished] or runs
