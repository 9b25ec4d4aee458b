"""Probes: windows of fixed tasks that are planned every so often and never learnt from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from towpath.data import Episode, TaskStream, Windows, load, stream_of
from towpath.recipes.components import data_options
from towpath.recipes.recipe import Probe, Recipe
from towpath.recipes.typed import RecipeError
from towpath.training.place import Place
from towpath.weighters import TOW, Weighter, wants_targets


@dataclass(frozen=True, eq=False)
class ProbeWindow:
    """A probe of the recipe together with the T x M fixed tasks that it plans."""

    probe: Probe
    window: Sequence[Sequence[Episode]]


def probe_tasks(
    recipe: Recipe, probe: Probe, data_root: str | Path | None
) -> Sequence[Sequence[Episode]]:
    """Return the T x M tasks of a probe, which are clean and come from its own split and stream."""
    pool = load(recipe.data.name, root=data_root, split=probe.split, **data_options(recipe.data))
    spec = replace(recipe.episodes, label_noise=0.0, groups="auto")
    if probe.groups:
        large_enough = stream_of(pool, replace(spec, within_group=True)).group_frequencies
        pool = pool.only(sorted(large_enough)[: probe.groups])
    sampler = stream_of(pool, spec, recipe.seed, f"probe {probe.name}")
    if probe.distinct_groups:
        return _from_distinct_groups(sampler, probe)
    return Windows(sampler, probe.horizon, probe.meta_batch_size).window(0)


def _from_distinct_groups(sampler: TaskStream, probe: Probe) -> list[list[Episode]]:
    """Return a window in which no two tasks of a mini-batch are of the same group.

    Tasks are taken from the sampler in order; one whose group the mini-batch has is skipped.
    """
    groups, M = len(sampler.group_frequencies), probe.meta_batch_size
    in_groups = bool(sampler.group_of(0))
    if not in_groups or groups < M:
        found = f"{groups} groups with enough classes" if in_groups else "none"
        raise RecipeError(
            f"The probe {probe.name!r} wants the {M} tasks of a mini-batch from {M} different "
            f"groups of the {probe.split} split and found {found}; expected at least {M}, and "
            "episodes.within_group: true. Lower the probe's meta_batch_size, or leave "
            "distinct_groups out."
        )
    window: list[list[Episode]] = []
    index = 0
    for _ in range(probe.horizon):
        taken: dict[str, int] = {}  # group -> index of its task
        while len(taken) < M:
            taken.setdefault(sampler.group_of(index), index)
            index += 1
        window.append([sampler.episode(i) for i in taken.values()])
    return window


def probe_windows(recipe: Recipe, data_root: str | Path | None, place: Place) -> list[ProbeWindow]:
    """Return the recipe's probes with their tasks.

    Args:
        recipe: the recipe of the run.
        data_root: the data folder.
        place: where the tasks' tensors are put.
    """
    return [
        ProbeWindow(probe, place.window(probe_tasks(recipe, probe, data_root)))
        for probe in recipe.probes
    ]


def probe_weighter(weighter: Weighter) -> Weighter:
    """Return the weighter that plans the probes: the run's own if it says `plans_probes`.

    Probes have no targets. Those of a run whose weighter needs some, or says nothing, are planned
    by TOW as it is by default.
    """
    own = bool(getattr(weighter, "plans_probes", False)) and not wants_targets(weighter)
    return weighter if own else TOW()
