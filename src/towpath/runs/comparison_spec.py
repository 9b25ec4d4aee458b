"""What a comparison compares: one recipe, several weighters, several seeds.

It is stored as `comparison.yaml` in the comparison's folder, read once and passed on as a value;
the runs take their recipes from it. Each run folder of a comparison must hold the run that its name
states: one that was moved there from elsewhere is refused.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from towpath.files import new_folder, write
from towpath.recipes.component import Component, Options
from towpath.recipes.recipe import Recipe
from towpath.recipes.spelling import spelt
from towpath.recipes.strict_yaml import load_yaml
from towpath.recipes.typed import RecipeError
from towpath.runs.belonging import regular_bytes
from towpath.runs.folder import COMPARISON, CONFIG, RunFolder, refuse_existing
from towpath.runs.identity import differences

SPEC = COMPARISON


@dataclass(frozen=True)
class Contestant:
    """A weighter under a label: `tow`, or `tow:beta=1.0:iterations=10`."""

    text: str
    """the weighter as spelt on the command line"""
    component: Component

    @classmethod
    def of(cls, text: str, recipe: Recipe) -> "Contestant":
        """Parse a weighter as spelt on the command line, such as `tow:beta=1.0`.

        If it is the recipe's own weighter, the options that the recipe gives it are kept.

        Raises:
            RecipeError: if a part after the name is not `option=value`.
        """
        component = spelt(text)
        if recipe.weighter.name == component.name:
            component = recipe.weighter.given(**component.options)
        return cls(text, component)

    @property
    def label(self) -> str:
        """The weighter's spelling, with `_` for characters that do not fit into a folder's name."""
        return label_of(self.text)


def label_of(text: str) -> str:
    """Return the label, used in folder names, of a weighter as spelt on the command line."""
    return re.sub(r"[^\w.=+-]+", "_", text.strip())


def run_name(label: str, seed: int) -> str:
    """Return the name of the run's folder inside the folder of its comparison."""
    return f"{label}-seed{seed}"


def is_comparison(path: Path) -> bool:
    """Return whether the folder holds a comparison, begun or finished."""
    return (path / SPEC).is_file()


@dataclass(frozen=True)
class RunSpec:
    """One run of a comparison: a weighter with a seed, in a folder of its own."""

    contestant: Contestant
    seed: int
    folder: RunFolder
    recipe: Recipe
    """the comparison's recipe, with this weighter and this seed"""

    @property
    def name(self) -> str:
        """The name of the run's folder inside the folder of its comparison."""
        return run_name(self.contestant.label, self.seed)


@dataclass(frozen=True)
class ComparisonSpec:
    """What a comparison compares: several weighters on one recipe, each with several seeds."""

    path: Path
    """the comparison's folder"""
    recipe: Recipe
    """the recipe that all runs share, but for weighter and seed"""
    contestants: tuple[Contestant, ...]
    seeds: tuple[int, ...]
    plain_recipe: Options = field(repr=False)
    """the recipe's values as the file has them; not a `Recipe`, which fills in the defaults of the
    release that reads it"""

    @classmethod
    def new(
        cls, path: Path, recipe: Recipe, weighters: Sequence[str], seeds: Sequence[int]
    ) -> "ComparisonSpec":
        """Describe a new comparison, without writing anything yet.

        Args:
            path: the comparison's folder.
            recipe: the recipe that all runs share.
            weighters: the weighters as spelt on the command line.
            seeds: the seeds that each weighter is run with.

        Raises:
            RecipeError: if there is no weighter or no seed, or if one is listed twice or invalid.
        """
        if not weighters or not seeds:
            raise RecipeError(
                f"compare found no {'seed' if weighters else 'weighter'}; expected at least one, "
                f"as in {'--seeds 0,1' if weighters else '--weighters uniform,tow'}"
            )
        contestants = tuple(Contestant.of(text, recipe) for text in weighters)
        labels = [contestant.label for contestant in contestants]
        if len(set(labels)) < len(labels) or len(set(seeds)) < len(seeds):
            raise RecipeError(
                f"compare found weighters {labels} and seeds {list(seeds)}; expected each once."
            )
        for seed in seeds:
            recipe.with_seed(seed)
        return cls(path, recipe, contestants, tuple(seeds), recipe.as_mapping())

    @classmethod
    def read(cls, path: Path) -> "ComparisonSpec":
        """Read the description stored in a comparison's folder; raise RecipeError if damaged."""
        try:
            content = regular_bytes(path / SPEC, "what `towpath compare` wrote")
            found = load_yaml(content.decode("utf-8"))
            plain = dict(found["recipe"])
            recipe = Recipe.of(plain)
            contestants = tuple(Contestant.of(text, recipe) for text in found["weighters"])
            seeds = tuple(recipe.with_seed(seed).seed for seed in found["seeds"])
        except (
            yaml.YAMLError,
            KeyError,
            TypeError,
            AttributeError,
            UnicodeDecodeError,
            RecursionError,
        ) as error:
            raise RecipeError(
                f"{path / SPEC} is damaged ({' '.join(str(error).split())}); expected what "
                "`towpath compare` wrote. Start the comparison again in a new folder."
            ) from error
        return cls(path, recipe, contestants, seeds, plain)

    def write(self) -> None:
        """Write `comparison.yaml` into a new folder; raise RecipeError if it is not empty."""
        with new_folder(self.path), RunFolder(self.path).held():
            refuse_existing(self.path)  # another process may have been quicker
            self.replace()

    def replace(self) -> None:
        """Write `comparison.yaml` into the folder and replace an older one."""
        content = {
            "recipe": dict(self.plain_recipe),
            "weighters": [contestant.text for contestant in self.contestants],
            "seeds": list(self.seeds),
        }
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
        write(self.path / SPEC, text.encode())

    @property
    def labels(self) -> list[str]:
        """The labels of the weighters, in the order in which they are compared."""
        return [contestant.label for contestant in self.contestants]

    def run(self, contestant: Contestant, seed: int) -> RunSpec:
        """Return the run of a weighter with a seed, whether or not it has begun."""
        folder = RunFolder(self.path / run_name(contestant.label, seed))
        recipe = replace(self.recipe, weighter=contestant.component, seed=seed)
        return RunSpec(contestant, seed, folder, recipe)

    def runs(self) -> Iterator[RunSpec]:
        """Yield every run of the comparison, one weighter after another."""
        return (self.run(one, seed) for one in self.contestants for seed in self.seeds)

    def check_place(self, run: RunSpec) -> None:
        """Raise RecipeError if the folder of a run holds another run.

        The configuration in the folder is compared with the comparison's own, so that this works
        for run folders of towpath 0.1 as well, which have no digests.
        """
        folder = run.folder
        if not (folder.path / CONFIG).exists():  # not begun, or killed before it wrote it
            return
        try:
            found = folder.plain_config()
        except RecipeError:  # damaged: the run fails with the reason, and the others go on
            return
        weighter = run.contestant.component.as_mapping()
        expected = {**self.plain_recipe, "weighter": weighter, "seed": run.seed}
        other = differences(_completed(expected), _completed(found))
        if other:
            raise RecipeError(
                f"{folder.path} holds another run than its name says ({', '.join(other)} differ "
                f"from {self.path / SPEC}); expected the weighter {run.contestant.label} with seed "
                f"{run.seed}. Move the folders back, or delete this one to run it again."
            )


def _completed(recipe: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a recipe with the defaults of the fields that one of an older release lacks."""
    try:
        return Recipe.of(recipe).as_mapping()
    except RecipeError:
        return recipe
