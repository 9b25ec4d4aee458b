"""Building a run from its recipe: data, learner, weighter and the streams of tasks.

Streams never overlap and depend only on the seed and an index, so a run may stop and be resumed
anywhere, and two runs of one seed see the same tasks whatever their weighter.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from towpath.data import ClassPool, Episode, EpisodeSampler, Windows, load, trusted_pool
from towpath.data.registry import is_own_folder
from towpath.data.windows import Window
from towpath.distributed.launch import own_device
from towpath.distributed.ranks import ALONE, Ranks
from towpath.distributed.torchrun import ranks_of_this_machine
from towpath.learners import Learner
from towpath.objective import Objective
from towpath.recipes.components import (
    data_options,
    make_learner,
    make_optimizer,
    make_weighter,
    options_beside,
)
from towpath.recipes.memory import free_memory
from towpath.recipes.paths import set_label
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.runs.made_with import TrainedShape
from towpath.training.device import device_named
from towpath.training.place import Place, torch_dtype
from towpath.training.probes import ProbeWindow, probe_tasks
from towpath.training.room import require_room
from towpath.training.state import TrainState
from towpath.weighters import TOW, Weighter, wants_targets

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TrustedPicks:
    """The indices of the trusted tasks that one mini-batch trains on and aims at."""

    trained: IntArray
    targets: IntArray


@dataclass(frozen=True, eq=False)
class Setup:
    """The objects of a run in memory: data, learner, weighter and streams of tasks."""

    recipe: Recipe
    learner: Learner
    objective: Objective
    weighter: Weighter
    start: TrainState
    windows: Windows
    trusted: list[Episode]
    validation: EpisodeSampler | None
    tests: dict[str, EpisodeSampler]
    probes: list[ProbeWindow]
    probe_weighter: TOW
    image_shape: tuple[int, int, int]
    contents: dict[str, str]
    """digest of each data set, keyed by the recipe's field that names the set"""
    place: "Place"
    ranks: Ranks

    @property
    def device(self) -> torch.device:
        """The device that the run's tensors are on."""
        return self.place.device

    def window(self, position: int, mini_batches: int) -> tuple[Window, Window | None]:
        """Return the tasks of a window and, for a weighter that needs them, its targets.

        Every weighter trains on the same trusted tasks beside each mini-batch, so that a
        comparison is fair; targets are other trusted tasks than the mini-batch's own.

        Args:
            position: index of the window in the stream.
            mini_batches: number of mini-batches to take of it, if it has as many.
        """
        tasks = self.place.window(self.windows.window(position)[:mini_batches])
        if not self.trusted:
            return tasks, None
        chosen = [self._trusted_for(position, t) for t in range(len(tasks))]
        both = [
            [*batch, *(self.trusted[i] for i in picks.trained)]
            for batch, picks in zip(tasks, chosen, strict=True)
        ]
        if not wants_targets(self.weighter):
            return both, None
        return both, [[self.trusted[i] for i in picks.targets] for picks in chosen]

    def _trusted_for(self, position: int, t: int) -> "TrustedPicks":
        generator = np.random.default_rng([self.recipe.seed, 7, position, t])
        order = generator.permutation(len(self.trusted))
        count = self.recipe.trusted.per_batch
        # with fewer than twice as many, some are both trained on and aimed at
        return TrustedPicks(order[:count], np.roll(order, -count)[:count])

    def validation_tasks(self) -> Iterator[Episode]:
        """Return an iterator over the fixed validation tasks, which are made anew each time."""
        assert self.validation is not None
        return self._tasks(self.validation, self.recipe.validation.tasks)

    def test_tasks(self, name: str, count: int) -> Iterator[Episode]:
        """Return an iterator over the first `count` fixed tasks of a test set."""
        return self._tasks(self.tests[name], count)

    def _tasks(self, sampler: EpisodeSampler, count: int) -> Iterator[Episode]:
        return (self.place.task(sampler.episode(i)) for i in range(count))


def prepare(
    recipe: Recipe,
    data_root: str | Path | None = None,
    allowed: Collection[str] = (),
    *,
    ranks: Ranks = ALONE,
    workers: int | None = None,
) -> Setup:
    """Load the data, build the learner and the weighter; raise ValueError if they do not fit.

    Args:
        recipe: the recipe to run.
        data_root: the data folder.
        allowed: packages that classes may be imported from.
        ranks: the processes that share the tasks.
        workers: number of threads that compute tasks side by side, in place of the recipe's, where
            other ranks or runs share the cores. No result depends on it.
    """
    place = Place(device_named(own_device(recipe.device)), torch_dtype(recipe.dtype))
    if workers is None:
        workers = max(1, recipe.threads // ranks_of_this_machine())
    weighter = _made_weighter(recipe, allowed)
    train = load(recipe.data.name, root=data_root, split="train", **data_options(recipe.data))
    content = _content(train)
    channels, height, _ = train.image_shape
    free = ranks.first(lambda: free_memory(place.device))  # so that all ranks refuse or none
    learner = make_learner(
        recipe.backbone,
        recipe.learner,
        channels=channels,
        image_size=height,
        ways=recipe.episodes.ways,
        seed=recipe.seed,
        allowed=allowed,
        free=free,
    )
    learner.module.to(place.device, place.dtype)
    params = {name: p.detach().clone() for name, p in learner.parameters().items()}
    sampler = EpisodeSampler(train, recipe.episodes, recipe.seed)
    require_room(recipe, train.image_shape, place.dtype.itemsize, free)
    other = _other_sets(recipe, train, data_root)
    return Setup(
        recipe=recipe,
        learner=learner,
        objective=Objective(learner, workers=workers, ranks=ranks),
        weighter=weighter,
        start=TrainState(params, make_optimizer(recipe.optimizer, params)),
        windows=Windows(sampler, recipe.training.horizon, recipe.training.meta_batch_size),
        trusted=_trusted(recipe, other.trusted, place),
        validation=other.validation,
        tests=other.tests,
        probes=_probes(recipe, data_root, place),
        probe_weighter=weighter
        if isinstance(weighter, TOW) and not wants_targets(weighter)
        else TOW(),
        image_shape=train.image_shape,
        contents={"data train": content, **other.contents},
        place=place,
        ranks=ranks,
    )


def _made_weighter(recipe: Recipe, allowed: Collection[str]) -> Weighter:
    """Make the weighter; raise RecipeError if the recipe lacks the trusted tasks that it needs."""
    weighter = make_weighter(recipe.weighter, allowed, recipe.training.steps)
    aims = wants_targets(weighter)
    if aims and not recipe.trusted.count:
        raise RecipeError(
            f"The weighter {recipe.weighter.name!r} wants trusted tasks as targets and found "
            "trusted.count 0; expected at least 2. Set trusted.count, for example to 20."
        )
    if getattr(weighter, "needs_trusted", False) and not recipe.trusted.count:
        raise RecipeError(
            f"The weighter {recipe.weighter.name!r} trains on trusted tasks and found "
            "trusted.count 0; expected at least 1. Set trusted.count, for example to 20."
        )
    if isinstance(weighter, TOW):
        weighter.check_targets(aims)
    return weighter


@dataclass(frozen=True, eq=False)
class _OtherSets:
    """The data sets that are loaded beside the training data."""

    validation: EpisodeSampler | None
    tests: dict[str, EpisodeSampler]
    trusted: ClassPool
    """the pool that trusted tasks are drawn from"""
    contents: dict[str, str]
    """digests of the sets, keyed by the recipe's fields that name them"""


def _other_sets(recipe: Recipe, train: ClassPool, data_root: str | Path | None) -> _OtherSets:
    """Load the sets for validation and tests, and that of the trusted tasks."""
    name, options = recipe.data.name, data_options(recipe.data)
    clean = replace(recipe.episodes, label_noise=0.0, groups="auto")
    contents: dict[str, str] = {}
    validation = None
    if recipe.validation.every:
        held_out = load(name, root=data_root, split="validation", **options)
        validation = EpisodeSampler(held_out, clean, 0, stream="validation")
        contents["data validation"] = _content(held_out)
    own_test = load(name, root=data_root, split="test", **options)
    contents["data test"] = _content(own_test)
    tests = {set_label(name): EpisodeSampler(own_test, clean, 0, stream="test")}
    for other in recipe.test.also:
        label = set_label(other)
        if label in tests:
            raise RecipeError(
                f"test.also names {other!r}, whose results would be those of {label!r}, as another "
                "test set's; expected names that differ. Rename the folder or leave it out."
            )
        pool = _beside(recipe, train, other, "test.also", "test", data_root)
        contents[f"test.also {label}"] = _content(pool)
        tests[label] = EpisodeSampler(pool, clean, 0, stream="test")
    trusted = train
    if recipe.trusted.count and recipe.trusted.data:
        trusted = _beside(recipe, train, recipe.trusted.data, "trusted.data", "all", data_root)
        contents["trusted.data"] = _content(trusted)
    return _OtherSets(validation, tests, trusted, contents)


def _content(pool: ClassPool) -> str:
    """Return the digest of a set; raise RecipeError if a name in it cannot be recorded."""
    for entry in pool.classes:
        try:
            entry.name.encode()
        except UnicodeEncodeError as error:
            shown = entry.name.encode("utf-8", "backslashreplace").decode()
            raise RecipeError(
                f"The class {shown!r} of {pool.name} has a name that is not UTF-8; expected names "
                "that can be written into records. Rename the folder."
            ) from error
    return pool.content


def _trusted(recipe: Recipe, pool: ClassPool, place: Place) -> list[Episode]:
    count = recipe.trusted.count
    if not count:
        return []
    return [place.task(task) for task in trusted_pool(pool, recipe.episodes, count, recipe.seed)]


def _beside(
    recipe: Recipe,
    train: ClassPool,
    name: str,
    where: str,
    split: str,
    data_root: str | Path | None,
) -> ClassPool:
    """Load a second set as the training set was; raise RecipeError if image shapes differ."""
    options = options_beside(recipe.data, name, train.image_shape)
    if is_own_folder(name):
        # nothing is trained on the set's own training split
        options = {**options, "shared_classes": True}
    pool = load(name, root=data_root, split=split, **options)
    if pool.image_shape != train.image_shape:
        raise RecipeError(
            f"The images of {where} {name!r} are {list(pool.image_shape)}; expected "
            f"{list(train.image_shape)}, as those of {train.name}. Choose a set of that shape, or "
            "set data.image_size to what both can be read as."
        )
    return pool


def _probes(recipe: Recipe, data_root: str | Path | None, place: Place) -> list[ProbeWindow]:
    return [
        ProbeWindow(probe, place.window(probe_tasks(recipe, probe, data_root)))
        for probe in recipe.probes
    ]


def trained_shape(setup: Setup) -> TrainedShape:
    """Return the sizes that are needed to build the trained model again without its data."""
    channels, height, _ = setup.image_shape
    return TrainedShape(channels, height, setup.recipe.episodes.ways)
