"""Building a run from its recipe: data, learner, weighter and the streams of tasks.

Streams never overlap and depend only on the seed and an index, so a run may stop and be resumed
anywhere, and two runs of one seed see the same tasks whatever their weighter.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from towpath.data import (
    Episode,
    TaskShape,
    TaskStream,
    Windows,
    load,
    shape_of,
)
from towpath.data.mix import own_stream
from towpath.data.tables.sampler import TableSampler
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
    make_weighter,
)
from towpath.recipes.learners import make_learner
from towpath.recipes.memory import free_memory
from towpath.recipes.optimizers import make_optimizer
from towpath.recipes.pretrained import weights_content
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.runs.trust import ALL_TRUSTED, Trust
from towpath.training.device import device_named
from towpath.training.evaluation import chosen_metric, suited_metric
from towpath.training.place import Place, torch_dtype
from towpath.training.probes import ProbeWindow, probe_weighter, probe_windows
from towpath.training.room import require_room
from towpath.training.sets import content_of, other_sets, training_stream
from towpath.training.state import TrainState
from towpath.training.trusting import (
    amounts_to,
    check_judges,
    few_targets_note,
    first_trust,
    repetition_notes,
    trusted_note,
    trusted_source,
    trusted_tasks,
    undecided_note,
    unjudged,
    unjudged_note,
    without_trust,
)
from towpath.weighters import TOW, Race, Weighter, wants_judges, wants_targets
from towpath.weighters.protocol import check_targets, needs_trusted
from towpath.weighters.race.race import AUTO_METRIC


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
    probe_weighter: Weighter
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
        """Sentences for the user: what is not drawn, what cannot be judged or planned."""
        streams = [self.windows.sampler, *self.tests.values()]
        if self.validation is not None:
            streams.append(self.validation)
        notes = [note for stream in streams for note in stream.notes]
        if unjudged(self.recipe, self.weighter) is not None:
            notes.append(unjudged_note(self.recipe))
        notes.append(undecided_note(self.recipe, self.weighter))
        own = own_stream(self.windows.sampler).pool
        notes.append(trusted_note(self.recipe, self.trusted, own))
        notes += repetition_notes(self.trusted)
        notes += [few_targets_note(self.recipe, self.weighter), self.start.trust.unusable]
        notes.append(_nothing_to_plan_note(self.recipe, self.weighter))
        notes.append(_no_classes_note(self))
        return tuple(dict.fromkeys(filter(None, notes)))

    @property
    def device(self) -> torch.device:
        """The device that the run's tensors are on."""
        return self.place.device

    def __post_init__(self) -> None:
        """Refuse metrics that the tasks do not have, before anything is trained."""
        loss = self.learner.loss
        chosen_metric(self.recipe, loss)
        if isinstance(self.weighter, Race):
            suited_metric(self.weighter.metric, "weighter.metric", self.recipe, loss)

    @property
    def metric(self) -> Metric | None:
        """The main metric of validation and test; None for the usual one of the tasks."""
        return chosen_metric(self.recipe, self.learner.loss)

    def weighter_under(self, trust: Trust) -> Weighter:
        """Return the weighter that plans: the run's own while its trusted tasks can be used."""
        return without_trust(self.weighter) if trust.unusable else self.weighter

    def window(
        self, position: int, mini_batches: int, trust: Trust = ALL_TRUSTED
    ) -> tuple[Window, Window | None]:
        """Return the tasks of a window and, for a weighter that needs them, its targets.

        Every weighter trains on the same trusted tasks beside each mini-batch, so that a
        comparison is fair; targets are other trusted tasks than the mini-batch's own.

        Args:
            position: index of the window in the stream.
            mini_batches: number of mini-batches to take of it, if it has as many.
            trust: which trusted tasks are no targets.
        """
        tasks = self.place.window(self.windows.window(position)[:mini_batches])
        if self.trusted is None:
            return tasks, None
        chosen = [self.trusted.batch(position, t, trust.left_out) for t in range(len(tasks))]
        both = [[*batch, *beside.trained] for batch, beside in zip(tasks, chosen, strict=True)]
        if not wants_targets(self.weighter_under(trust)):
            return both, None
        return both, [beside.targets for beside in chosen]

    def judges(self, position: int, trust: Trust = ALL_TRUSTED) -> Sequence[Episode]:
        """Return the trusted tasks that a weighter judges a window by; empty for other weighters.

        Args:
            position: index of the window in the stream.
            trust: which trusted tasks do not judge.
        """
        return [] if self.trusted is None else self.trusted.judges(position, trust.left_out)

    @property
    def judged_until(self) -> int | None:
        """The step from which on no trusted task judges; None if that is never so."""
        windows = None if self.trusted is None else self.trusted.judging_windows
        return None if windows is None else windows * self.recipe.training.horizon

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
    content, weights = content_of(train), weights_content(recipe.backbone)
    shape = shape_of(train, recipe.episodes.ways)
    free = ranks.first(lambda: free_memory(place.device))  # so that all ranks refuse or none
    made_of = (recipe.backbone, recipe.learner)
    learner = make_learner(*made_of, shape=shape, seed=recipe.seed, allowed=allowed, free=free)
    learner.module.to(place.device, place.dtype)
    params = {name: p.detach().clone() for name, p in learner.parameters().items()}
    other = other_sets(recipe, train, data_root)
    source = trusted_source(recipe, train, other.trusted)
    stream, mixed_in = training_stream(recipe, source.train, data_root)
    # after the streams, which say better what is wrong with ways or shots than a size does
    require_room(recipe, shape, place.dtype.itemsize, free)
    trusted = trusted_tasks(recipe, weighter, source, place)
    optimizer = make_optimizer(recipe.optimizer, params, recipe.training.steps)
    trust = first_trust(recipe, weighter, trusted)
    return Setup(
        recipe=recipe,
        learner=learner,
        objective=Objective(learner, workers=workers, ranks=ranks),
        weighter=weighter,
        start=TrainState(params, optimizer, trust=trust),
        windows=Windows(stream, recipe.training.horizon, recipe.training.meta_batch_size),
        trusted=trusted,
        validation=other.validation,
        tests=other.tests,
        probes=probe_windows(recipe, data_root, place),
        probe_weighter=probe_weighter(weighter),
        shape=shape,
        contents={"data train": content, **weights, **mixed_in, **other.contents},
        place=place,
        ranks=ranks,
    )


def _made_weighter(recipe: Recipe, allowed: Collection[str]) -> Weighter:
    """Make the weighter; raise RecipeError if the recipe lacks the trusted tasks that it needs."""
    weighter = make_weighter(recipe.weighter, allowed, recipe.training.steps)
    if isinstance(weighter, Race) and weighter.metric == AUTO_METRIC:
        weighter = replace(weighter, metric=recipe.test.metric)  # judges ask what the test asks
    # a race without judges is its baseline, and needs no more than that
    needy = amounts_to(recipe, weighter)
    if wants_targets(needy) and not recipe.trusted.count:
        raise RecipeError(
            f"The weighter {recipe.weighter.name!r} wants trusted tasks as targets and found "
            "trusted.count 0; expected at least 2. Set trusted.count, for example to 20."
        )
    if needs_trusted(needy) and not recipe.trusted.count:
        raise RecipeError(
            f"The weighter {recipe.weighter.name!r} trains on trusted tasks and found "
            "trusted.count 0; expected at least 1. Set trusted.count, for example to 20."
        )
    if wants_judges(weighter) and needy is weighter:
        check_judges(recipe)
    check_targets(weighter)
    return weighter


def _nothing_to_plan_note(recipe: Recipe, weighter: Weighter) -> str:
    """Return a sentence where every plan is of one mini-batch, with no loss to count after it."""
    if recipe.training.horizon > 1 or not isinstance(weighter, TOW) or wants_targets(weighter):
        return ""
    if weighter.terminal == "replay":
        return ""
    return (
        f"training.horizon is 1 and the weighter {recipe.weighter.name!r} aims at no trusted "
        "tasks, so its plans count no loss after a step and the weights stay as they are. Raise "
        "training.horizon, use tow-targets, or say --weighter.terminal replay."
    )


def _no_classes_note(setup: Setup) -> str:
    """Return a sentence where a rule decides by accuracies and the tasks are of regression."""
    own = setup.weighter
    rules = own.rules if isinstance(own, Race) else {setup.recipe.weighter.name: own}
    named = [name for name, rule in rules.items() if getattr(rule, "needs_classes", False)]
    if not named or setup.learner.loss.classifies:
        return ""
    return (
        f"The weighter {named[0]!r} decides by accuracies, which tasks of regression do not have: "
        "it is uniform all the time. Use evidence, which asks the same of numbers."
    )
