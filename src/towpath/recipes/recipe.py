"""A recipe: one complete experiment as plain, checked values.

A section that chooses a component is a `Component`; the others are the small dataclasses below.
`Recipe.of(mapping)` reads and checks everything that can be checked before any data is loaded. It
is called once for what a user wrote: from then on the recipe travels as this value, and
`as_mapping` gives back what `config.yaml` of a run holds.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Annotated, Any, Literal

from towpath.data import EpisodeSpec
from towpath.data.augmentation import Augmentation
from towpath.metrics import MetricName
from towpath.recipes.component import Component, Options
from towpath.recipes.mix import mix_shares
from towpath.recipes.typed import RecipeError, options_for, within_ranges
from towpath.validation import Range, Seed
from towpath.wording import nearest, quoted


@dataclass(frozen=True)
class Training:
    """The length of training, the size of its windows and mini-batches, and its checkpoints."""

    steps: Annotated[int, Range(1, 10**8)] = 300
    """number of mini-batches to train on"""
    horizon: Annotated[int, Range(1, 10_000)] = 5
    """T, number of mini-batches planned together"""
    meta_batch_size: Annotated[int, Range(1, 100_000)] = 10
    """M, number of tasks of a mini-batch"""
    checkpoint_every: Annotated[int, Range(1, 10**8)] = 50
    """number of steps between checkpoints"""


@dataclass(frozen=True)
class Trusted:
    """Clean tasks to train on beside each mini-batch, to aim at and to judge by."""

    count: Annotated[int, Range(0, 100_000)] = 0
    """number of tasks in the pool, which is drawn once; 0 for no trusted tasks"""
    per_batch: Annotated[int, Range(1, 10_000)] = 2
    """number of trusted tasks used with each mini-batch"""
    data: str = ""
    """a data set, or a folder of images checked by hand; empty for the training data without the
    noise of `episodes.label_noise`"""
    judges: Annotated[float, Range(0, 100_000)] = 1 / 3
    """how much of `count` a weighter that judges keeps out of training and planning until it has
    judged for the last time: a fraction below 1, or a number of tasks; other weighters train on all
    of them"""
    label_noise: Annotated[float, Range(0, 1)] = 0.0
    """fraction of the trusted tasks that is mislabelled on purpose: wrong trust"""
    classes: Annotated[int, Range(0, 10**6)] = 0
    """number of classes (of a table: tasks) that are set apart as trusted: no training task has
    them, and every mini-batch gets fresh tasks of them, which cannot be learnt by heart"""
    fresh: bool = False
    """whether every mini-batch gets fresh tasks of `data`, or of the table's trusted tasks, instead
    of some of `count` that are drawn once; always so with `classes`"""
    check: bool = True
    """whether tasks that are drawn once are checked during training, for a weighter that aims at
    them, judges by them, trains on little else or never drops them: those whose labels are no
    better than shuffled ones are left out"""

    @property
    def judging(self) -> int:
        """Number of tasks that judge, for a weighter that does."""
        if self.judges >= 1:
            return int(self.judges)
        return min(self.count, max(1, round(self.judges * self.count))) if self.judges else 0


@dataclass(frozen=True)
class Validation:
    """Fixed clean tasks of the validation split, by which the best parameters are chosen."""

    tasks: Annotated[int, Range(1, 10**7)] = 100
    """number of validation tasks, the same each time"""
    every: Annotated[int, Range(0, 10**8)] = 50
    """number of steps between validations; 0 for none, which keeps the last parameters"""
    patience: Annotated[int, Range(0, 10**8)] = 0
    """number of validations without a new best before training stops; 0 for never"""


@dataclass(frozen=True)
class Test:
    """Fixed clean tasks of the test split, on which a run is evaluated at its end."""

    tasks: Annotated[int, Range(2, 10**7)] = 600
    """number of test tasks of each set, the same for every run"""
    also: list[str] = field(default_factory=list)
    """further data sets whose test split is used as well (out of domain)"""
    metric: Literal["auto"] | MetricName = "auto"
    """the main metric, by which validation chooses parameters and methods are compared; auto is
    accuracy for classes and R2 for regression. The other metrics that suit stand beside it."""


@dataclass(frozen=True)
class Probe:
    """A window of fixed tasks that is planned at intervals, recorded and discarded."""

    name: str
    """the probe's name in records and reports"""
    split: str = "train"
    """the split that its tasks come from"""
    groups: Annotated[int, Range(0, 10**6)] = 0
    """number of groups of the set that tasks come from; 0 for all"""
    distinct_groups: bool = False
    """whether the tasks of a mini-batch come from different groups (alphabets)"""
    horizon: Annotated[int, Range(1, 10_000)] = 5
    """number of mini-batches of the window"""
    meta_batch_size: Annotated[int, Range(1, 100_000)] = 5
    """number of tasks of a mini-batch"""
    every: Annotated[int, Range(1, 10**8)] = 50
    """number of steps between two plans of the window"""


DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Recipe:
    """All values that decide the results of a run, read and checked."""

    name: str = "run"
    """names the run's folder and its report"""
    about: str = ""
    """what the recipe is for, in a sentence or more"""
    reproduces: str = ""
    """the table or figure of the paper that it reruns, or empty"""
    data: Component = field(default_factory=lambda: Component("glyphs"))
    episodes: EpisodeSpec = field(default_factory=EpisodeSpec)
    augmentation: Augmentation = field(default_factory=Augmentation)
    backbone: Component = field(default_factory=lambda: Component("conv4"))
    learner: Component = field(default_factory=lambda: Component("protonet"))
    optimizer: Component = field(default_factory=lambda: Component("adam", {"meta_lr": 1e-3}))
    weighter: Component = field(default_factory=lambda: Component("uniform"))
    trusted: Trusted = field(default_factory=Trusted)
    training: Training = field(default_factory=Training)
    validation: Validation = field(default_factory=Validation)
    test: Test = field(default_factory=Test)
    probes: list[Probe] = field(default_factory=list)
    compare: list[str] = field(default_factory=list)
    """weighters that `towpath compare` compares by default"""
    small: Options = field(default_factory=dict)
    """overrides by dotted name that `--budget small` applies"""
    seed: Seed = 0
    """decides the initial parameters and all training tasks; test tasks are the same for each"""
    threads: Annotated[int, Range(1, 1024)] = 2
    """number of tasks computed side by side, one thread each (one task at a time where the
    learner or its network draws random numbers); no result depends on it"""
    device: str = "cpu"
    """where tensors are: cpu, cuda, cuda:1, ..."""
    dtype: str = "float32"
    """type of parameters and inputs; float64 for experiments about rounding"""

    @classmethod
    def of(cls, mapping: Mapping[str, object]) -> "Recipe":
        """Read and check a recipe from plain values; raise RecipeError for one that is wrong."""
        known = [f.name for f in fields(cls)]
        values: dict[str, Any] = {}
        for key, value in mapping.items():
            if key not in known:
                raise RecipeError(
                    f"A recipe has no section {quoted(key)}; expected {', '.join(known)}."
                    f"{nearest(key, known)}"
                )
            values[key] = _section(key, value)
        recipe = cls(**values)
        recipe._check()
        return recipe

    def with_seed(self, seed: int) -> "Recipe":
        """Return the same recipe with another seed; raise RecipeError if it is no valid seed."""
        other = replace(self, seed=_section("seed", seed))
        within_ranges(Recipe, {"seed": seed})
        return other

    def as_mapping(self) -> dict[str, Any]:
        """Return the plain values of `config.yaml`, which `of` reads back."""
        plain = asdict(self)
        for key in COMPONENTS:
            plain[key] = {"name": plain[key]["name"], **plain[key]["options"]}
        shots = plain["episodes"]["shots"]
        plain["episodes"]["shots"] = list(shots) if isinstance(shots, tuple) else shots
        return plain

    def _check(self) -> None:
        within_ranges(Recipe, {"seed": self.seed, "threads": self.threads})
        for key, section in SECTIONS.items():
            within_ranges(section, vars(getattr(self, key)), key)
        for i, probe in enumerate(self.probes):
            within_ranges(Probe, vars(probe), f"probes[{i}]")
        if self.dtype not in DTYPES:
            raise RecipeError(
                f"dtype is {self.dtype!r}; expected {' or '.join(DTYPES)}."
                f"{nearest(self.dtype, DTYPES)}"
            )
        mix_shares(self.data, self.episodes)
        if 0 < self.trusted.count < self.trusted.per_batch:
            raise RecipeError(
                f"trusted.per_batch is {self.trusted.per_batch} with trusted.count "
                f"{self.trusted.count}; expected at most as many as there are trusted tasks."
            )
        if self.trusted.judges > 1 and self.trusted.judges % 1:
            raise RecipeError(
                f"trusted.judges is {self.trusted.judges}; expected a fraction of the trusted "
                "tasks below 1, or a whole number of them."
            )
        if not self.trusted.count and (self.trusted.classes or self.trusted.fresh):
            raise RecipeError(
                "trusted.classes or trusted.fresh is set with trusted.count 0, which means no "
                "trusted tasks. Set trusted.count, for example to 20."
            )


SECTIONS: dict[str, type] = {
    "episodes": EpisodeSpec,
    "augmentation": Augmentation,
    "trusted": Trusted,
    "training": Training,
    "validation": Validation,
    "test": Test,
}
COMPONENTS = ("data", "backbone", "learner", "optimizer", "weighter")


def _section(key: str, value: object) -> Any:
    """Return the value of a section or field; raise RecipeError if it is of another kind."""
    if is_dataclass(value):
        return value
    if key in SECTIONS:
        return SECTIONS[key](**options_for(SECTIONS[key], _mapping(key, value), key))
    if key in COMPONENTS:
        return Component.of(key, value)
    if key == "probes":
        if not isinstance(value, list):
            raise RecipeError(f"probes is {quoted(value)}; expected a list of probe windows.")
        return [
            Probe(**options_for(Probe, _mapping(f"probes[{i}]", probe), f"probes[{i}]"))
            for i, probe in enumerate(value)
        ]
    if key == "compare":
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise RecipeError(f"compare is {quoted(value)}; expected a list of weighters' names.")
        return value
    if key == "small":
        return _mapping(key, value)
    expected = int if key in ("seed", "threads") else str
    if not isinstance(value, expected) or isinstance(value, bool):
        what = "a whole number" if expected is int else "a text"
        raise RecipeError(f"{key} is {quoted(value)}; expected {what}.")
    return value


def _mapping(key: str, value: object) -> Options:
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise RecipeError(f"{key} is {quoted(value)}; expected a section of options by name.")
    return dict(value)
