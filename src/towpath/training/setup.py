"""Building a run from its recipe: data, learner, weighter and the streams of tasks.

Streams never overlap and depend only on the seed and an index, so a run may stop and be resumed
anywhere, and two runs of one seed see the same tasks whatever their weighter.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from towpath.data import (
    ClassPool,
    Episode,
    Pool,
    TaskShape,
    TaskStream,
    Windows,
    load,
    mixed,
    shape_of,
    stream_of,
)
from towpath.data.mix import own_stream
from towpath.data.registry import is_own_folder
from towpath.data.tables import TablePool
from towpath.data.tables.sampler import TableSampler
from towpath.data.tables.splitting import TRUSTED
from towpath.data.tables.trained import TrainedTable
from towpath.data.trusted import TrustedTasks
from towpath.data.windows import Window
from towpath.distributed.launch import own_device
from towpath.distributed.ranks import ALONE, Ranks
from towpath.distributed.torchrun import ranks_of_this_machine
from towpath.learners import Learner
from towpath.metrics import Metric
from towpath.objective import Objective
from towpath.recipes.components import (
    data_options,
    make_learner,
    make_optimizer,
    make_weighter,
    options_beside,
)
from towpath.recipes.memory import free_memory
from towpath.recipes.mix import mix_shares
from towpath.recipes.paths import set_label
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.training.device import device_named
from towpath.training.evaluation import chosen_metric
from towpath.training.place import Place, torch_dtype
from towpath.training.probes import ProbeWindow, probe_tasks
from towpath.training.room import require_room
from towpath.training.state import TrainState
from towpath.training.trusting import (
    check_judges,
    trusted_note,
    trusted_source,
    trusted_tasks,
    unjudged,
    unjudged_note,
)
from towpath.weighters import TOW, Race, Weighter, wants_judges, wants_targets


@dataclass(frozen=True, eq=False)
class Setup:
    """The objects of a run in memory: data, learner, weighter and streams of tasks."""

    recipe: Recipe
    learner: Learner
    objective: Objective
    weighter: Weighter
    start: TrainState
    windows: Windows
    trusted: TrustedTasks | None
    validation: TaskStream | None
    tests: dict[str, TaskStream]
    probes: list[ProbeWindow]
    probe_weighter: TOW
    shape: TaskShape
    contents: dict[str, str]
    """digest of each data set, keyed by the recipe's field that names the set"""
    place: "Place"
    ranks: Ranks

    @property
    def table(self) -> TrainedTable | None:
        """What predictions on other tables need of the training table; None for images."""
        stream = own_stream(self.windows.sampler)
        return TrainedTable.of(stream) if isinstance(stream, TableSampler) else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user: what of the data is not drawn, what cannot be judged."""
        streams = [self.windows.sampler, *self.tests.values()]
        if self.validation is not None:
            streams.append(self.validation)
        notes = [note for stream in streams for note in stream.notes]
        if unjudged(self.recipe, self.weighter) is not None:
            notes.append(unjudged_note(self.recipe))
        notes.append(trusted_note(self.trusted))
        return tuple(dict.fromkeys(filter(None, notes)))

    @property
    def device(self) -> torch.device:
        """The device that the run's tensors are on."""
        return self.place.device

    def __post_init__(self) -> None:
        """Refuse a main metric that the tasks do not have, before anything is trained."""
        chosen_metric(self.recipe, self.objective.loss)

    @property
    def metric(self) -> Metric | None:
        """The main metric of validation and test; None for the usual one of the tasks."""
        return chosen_metric(self.recipe, self.objective.loss)

    def window(self, position: int, mini_batches: int) -> tuple[Window, Window | None]:
        """Return the tasks of a window and, for a weighter that needs them, its targets.

        Every weighter trains on the same trusted tasks beside each mini-batch, so that a
        comparison is fair; targets are other trusted tasks than the mini-batch's own.

        Args:
            position: index of the window in the stream.
            mini_batches: number of mini-batches to take of it, if it has as many.
        """
        tasks = self.place.window(self.windows.window(position)[:mini_batches])
        if self.trusted is None:
            return tasks, None
        chosen = [self.trusted.batch(position, t) for t in range(len(tasks))]
        both = [[*batch, *beside.trained] for batch, beside in zip(tasks, chosen, strict=True)]
        if not wants_targets(self.weighter):
            return both, None
        return both, [beside.targets for beside in chosen]

    def judges(self, position: int) -> Sequence[Episode]:
        """Return the trusted tasks that a weighter judges a window by; empty for other weighters.

        Args:
            position: index of the window in the stream.
        """
        return [] if self.trusted is None else self.trusted.judges(position)

    def validation_tasks(self) -> Iterator[Episode]:
        """Return an iterator over the fixed validation tasks, which are made anew each time."""
        assert self.validation is not None
        return self._tasks(self.validation, self.recipe.validation.tasks)

    def test_tasks(self, name: str, count: int) -> Iterator[Episode]:
        """Return an iterator over the first `count` fixed tasks of a test set."""
        return self._tasks(self.tests[name], count)

    def _tasks(self, stream: TaskStream, count: int) -> Iterator[Episode]:
        return (self.place.task(stream.episode(i)) for i in range(count))


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
    shape = shape_of(train, recipe.episodes.ways)
    free = ranks.first(lambda: free_memory(place.device))  # so that all ranks refuse or none
    learner = make_learner(
        recipe.backbone,
        recipe.learner,
        shape=shape,
        seed=recipe.seed,
        allowed=allowed,
        free=free,
    )
    learner.module.to(place.device, place.dtype)
    params = {name: p.detach().clone() for name, p in learner.parameters().items()}
    other = _other_sets(recipe, train, data_root)
    source = trusted_source(recipe, train, other.trusted)
    stream, mixed_in = _training_stream(recipe, source.train, data_root)
    # after the streams, which say better what is wrong with ways or shots than a size does
    require_room(recipe, shape, place.dtype.itemsize, free)
    return Setup(
        recipe=recipe,
        learner=learner,
        objective=Objective(learner, workers=workers, ranks=ranks),
        weighter=weighter,
        start=TrainState(params, make_optimizer(recipe.optimizer, params)),
        windows=Windows(stream, recipe.training.horizon, recipe.training.meta_batch_size),
        trusted=trusted_tasks(recipe, weighter, source, place),
        validation=other.validation,
        tests=other.tests,
        probes=_probes(recipe, data_root, place),
        probe_weighter=weighter
        if isinstance(weighter, TOW) and not wants_targets(weighter)
        else TOW(),
        shape=shape,
        contents={"data train": content, **mixed_in, **other.contents},
        place=place,
        ranks=ranks,
    )


def _made_weighter(recipe: Recipe, allowed: Collection[str]) -> Weighter:
    """Make the weighter; raise RecipeError if the recipe lacks the trusted tasks that it needs."""
    weighter = make_weighter(recipe.weighter, allowed, recipe.training.steps)
    # a race without judges is its baseline, and needs no more than that
    needy = unjudged(recipe, weighter) or weighter
    if wants_targets(needy) and not recipe.trusted.count:
        raise RecipeError(
            f"The weighter {recipe.weighter.name!r} wants trusted tasks as targets and found "
            "trusted.count 0; expected at least 2. Set trusted.count, for example to 20."
        )
    if getattr(needy, "needs_trusted", False) and not recipe.trusted.count:
        raise RecipeError(
            f"The weighter {recipe.weighter.name!r} trains on trusted tasks and found "
            "trusted.count 0; expected at least 1. Set trusted.count, for example to 20."
        )
    if wants_judges(weighter) and needy is weighter:
        check_judges(recipe)
    arms = weighter.rules.values() if isinstance(weighter, Race) else [weighter]
    for arm in arms:
        if isinstance(arm, TOW):
            arm.check_targets(wants_targets(arm))
    return weighter


def _training_stream(
    recipe: Recipe, train: Pool, data_root: str | Path | None
) -> tuple[TaskStream, dict[str, str]]:
    """Return the training tasks, and the digests of the sets that are mixed into them."""
    shares = mix_shares(recipe.data, recipe.episodes)
    if not shares:
        return stream_of(train, recipe.episodes, recipe.seed), {}
    others: list[tuple[float, Pool]] = []
    contents: dict[str, str] = {}
    for name, share in shares.items():
        pool = _beside(recipe, train, name, "data.mix", "train", data_root)
        contents[f"data.mix {set_label(name)}"] = _content(pool)
        others.append((share, pool))
    return mixed(train, others, recipe.episodes, recipe.seed), contents


@dataclass(frozen=True, eq=False)
class _OtherSets:
    """The data sets that are loaded beside the training data."""

    validation: TaskStream | None
    tests: dict[str, TaskStream]
    trusted: Pool | None
    """the pool of `trusted.data`, or of a table's trusted tasks; None for none"""
    contents: dict[str, str]
    """digests of the sets, keyed by the recipe's fields that name them"""


def _other_sets(recipe: Recipe, train: Pool, data_root: str | Path | None) -> _OtherSets:
    """Load the sets for validation and tests, and that of the trusted tasks."""
    name, options = recipe.data.name, data_options(recipe.data)
    clean = replace(recipe.episodes, label_noise=0.0, groups="auto")
    contents: dict[str, str] = {}
    validation = None
    if recipe.validation.every:
        held_out = load(name, root=data_root, split="validation", **options)
        validation = stream_of(held_out, clean, 0, "validation")
        contents["data validation"] = _content(held_out)
    own_test = load(name, root=data_root, split="test", **options)
    contents["data test"] = _content(own_test)
    tests = {set_label(name): stream_of(own_test, clean, 0, "test")}
    for other in recipe.test.also:
        label = set_label(other)
        if label in tests:
            raise RecipeError(
                f"test.also names {other!r}, whose results would be those of {label!r}, as another "
                "test set's; expected names that differ. Rename the folder or leave it out."
            )
        pool = _beside(recipe, train, other, "test.also", "test", data_root)
        contents[f"test.also {label}"] = _content(pool)
        tests[label] = stream_of(pool, clean, 0, "test")
    trusted: Pool | None = None
    if recipe.trusted.count and not recipe.trusted.data and TRUSTED in _splits(train):
        trusted = load(name, root=data_root, split=TRUSTED, **options)
        contents["data trusted"] = _content(trusted)
    if recipe.trusted.count and recipe.trusted.data:
        trusted = _beside(recipe, train, recipe.trusted.data, "trusted.data", "all", data_root)
        contents["trusted.data"] = _content(trusted)
    return _OtherSets(validation, tests, trusted, contents)


def _splits(pool: Pool) -> tuple[str, ...]:
    """Return the splits of a table; those of images have no trusted one."""
    return pool.splits if isinstance(pool, TablePool) else ()


def _content(pool: Pool) -> str:
    """Return the digest of a set; raise RecipeError if a name in it cannot be recorded."""
    for name in pool.names:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            shown = name.encode("utf-8", "backslashreplace").decode()
            raise RecipeError(
                f"The class {shown!r} of {pool.name} has a name that is not UTF-8; expected names "
                "that can be written into records. Rename the folder."
            ) from error
    return pool.content


def _beside(
    recipe: Recipe,
    train: Pool,
    name: str,
    where: str,
    split: str,
    data_root: str | Path | None,
) -> Pool:
    """Load a second set as the training set was; raise RecipeError if the inputs differ."""
    options = options_beside(recipe.data, name, train.input_shape)
    if is_own_folder(name):
        # nothing is trained on the set's own training split
        options = {**options, "shared_classes": True}
    pool = load(name, root=data_root, split=split, **options)
    if where == "data.mix" and isinstance(pool, ClassPool) and len(train.input_shape) == 3:
        pool = pool.with_channels(train.input_shape[0])
    if isinstance(pool, TablePool) and isinstance(train, TablePool):
        return pool.scaled_as(train)
    if isinstance(pool, TablePool) != isinstance(train, TablePool):
        one, other = (
            f"{'a table' if isinstance(each, TablePool) else 'images'}" for each in (pool, train)
        )
        raise RecipeError(
            f"{where} names {name!r}, which is {one}, and {train.name} is {other}; expected the "
            "same kind, because one network cannot take rows and images. Choose another, or leave "
            "it out."
        )
    if pool.input_shape != train.input_shape:
        of_images = isinstance(pool, ClassPool) and isinstance(train, ClassPool)
        remedy = "set data.image_size to what both can be read as" if of_images else "leave it out"
        raise RecipeError(
            f"The {'images' if isinstance(pool, ClassPool) else 'rows'} of {where} {name!r} are "
            f"{list(pool.input_shape)}; expected {list(train.input_shape)}, as those of "
            f"{train.name}. Choose a set of that shape, or {remedy}."
        )
    return pool


def _probes(recipe: Recipe, data_root: str | Path | None, place: Place) -> list[ProbeWindow]:
    return [
        ProbeWindow(probe, place.window(probe_tasks(recipe, probe, data_root)))
        for probe in recipe.probes
    ]
