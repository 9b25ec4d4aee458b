"""The trusted tasks of a run, as its recipe asks for them and its weighter uses them."""

from dataclasses import dataclass

from towpath.data import Pool, stream_of, trusted_pool
from towpath.data.trusted import FixedTrusted, FreshTrusted, TrustedTasks, trusted_spec
from towpath.data.trusted_classes import SetApart, all_trusted, set_apart
from towpath.recipes.recipe import Recipe
from towpath.recipes.rules import RULES, rules_of
from towpath.recipes.typed import RecipeError
from towpath.training.place import Place
from towpath.weighters import Race, Weighter, wants_judges
from towpath.weighters.race.race import ENOUGH_JUDGES
from towpath.wording import amount


@dataclass(frozen=True, eq=False)
class TrustedSource:
    """What the trusted tasks of a run are drawn from, and what is left to train on."""

    train: Pool
    """the pool of training tasks, without classes that were set apart"""
    trusted: Pool
    apart: SetApart | None = None
    """the trusted classes, where `trusted.classes` sets some apart"""


def trusted_source(recipe: Recipe, train: Pool, other: Pool | None) -> TrustedSource:
    """Decide what trusted tasks are drawn from.

    Args:
        recipe: the recipe of the run.
        train: the whole pool of the training data.
        other: the pool of `trusted.data`, or of a table's trusted tasks; None for none.
    """
    count = recipe.trusted.classes
    if not recipe.trusted.count or not count:
        return TrustedSource(train, train if other is None else other)
    apart = set_apart(other or train, recipe.episodes, count, recipe.seed)
    return TrustedSource(train if other is not None else apart.rest, apart.trusted, apart)


def trusted_tasks(
    recipe: Recipe, weighter: Weighter, source: TrustedSource, place: Place
) -> TrustedTasks | None:
    """Return the trusted tasks of a run; None where the recipe has none.

    A weighter that judges keeps `trusted.judges` of them, which it neither trains on nor aims at.

    Args:
        recipe: the recipe of the run.
        weighter: decides whether some tasks judge.
        source: what the tasks are drawn from.
        place: device and type of the tasks.
    """
    asked = recipe.trusted
    if not asked.count:
        return None
    judging = asked.judging if wants_judges(weighter) else 0
    spec = recipe.episodes
    if not (asked.fresh or asked.classes):
        tasks = trusted_pool(source.trusted, spec, asked.count, recipe.seed, asked.label_noise)
        placed = [place.task(task) for task in tasks]
        return FixedTrusted(placed, asked.per_batch, recipe.seed, judging)
    trained, judges = source.trusted, None
    if judging:
        apart = source.apart or all_trusted(source.trusted, spec, recipe.seed)
        trained, judges = apart.judging(judging / asked.count)
    right = trusted_spec(spec, asked.label_noise)
    return FreshTrusted(
        stream_of(trained, right, recipe.seed, "trusted"),
        asked.per_batch,
        recipe.training.horizon,
        place.task,
        None if judges is None else stream_of(judges, right, recipe.seed, "trusted judges"),
        judging,
    )


def trusted_note(trusted: TrustedTasks | None) -> str:
    """Return a sentence on how much of a table fixed trusted tasks come from; empty for images.

    A large count sounds like much that is trusted, and may be the same few rows again and again.
    """
    infos = [task.info for task in trusted] if isinstance(trusted, FixedTrusted) else []
    rows = {(info["task"], row) for info in infos for row in info.get("rows", ())}
    if not rows:
        return ""
    names = {name for info in infos for name in info["classes"]}
    what = "tasks" if all(info["task"] for info in infos) else "classes"
    return (
        f"The {amount(len(infos), 'trusted task')} are drawn from {amount(len(rows), 'row')} of "
        f"{len(names):,} trusted {what if len(names) > 1 else what.removesuffix('s')} of the table"
    )


def check_judges(recipe: Recipe) -> None:
    """Raise RecipeError if a weighter that judges would find too few trusted tasks."""
    asked = recipe.trusted
    name = recipe.weighter.name
    if not asked.count or not asked.judging:
        raise RecipeError(
            f"The weighter {name!r} judges by trusted tasks and found trusted.count {asked.count} "
            f"with trusted.judges {asked.judges:g}; expected both above 0. Set trusted.count, for "
            "example to 20."
        )
    if asked.count - asked.judging < asked.per_batch:
        raise RecipeError(
            f"The weighter {name!r} keeps {asked.judging} of {asked.count} trusted tasks to judge "
            f"by, which leaves fewer than trusted.per_batch {asked.per_batch} to train on. Raise "
            "trusted.count, or lower trusted.judges."
        )


def unjudged(recipe: Recipe, weighter: Weighter) -> Weighter | None:
    """Return what a race amounts to where too few tasks judge; None for any other weighter.

    Args:
        recipe: the recipe of the run.
        weighter: the weighter that was made of it.
    """
    asked = recipe.trusted
    judges = asked.judging if asked.count else 0
    return weighter.unjudged if isinstance(weighter, Race) and judges < ENOUGH_JUDGES else None


def unjudged_note(recipe: Recipe) -> str:
    """Return the sentence for the user of a race whose rules nothing can judge."""
    asked, own = recipe.trusted, recipe.weighter
    baseline = next(iter(rules_of(own.options.get(RULES), f"weighter.{RULES}")))
    if not asked.count:
        found = "trusted.count 0, and without trusted tasks nothing can be judged"
    else:
        found = (
            f"{asked.judging} of {asked.count} trusted tasks to judge by, and fewer than "
            f"{ENOUGH_JUDGES} say nothing about chance"
        )
    return (
        f"The weighter {own.name!r} found {found}: it is {baseline} all the time. Set "
        "trusted.count, for example to 20, to let it choose."
    )
