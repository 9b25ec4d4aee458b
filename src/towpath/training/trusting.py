"""The trusted tasks of a run, as its recipe asks for them and its weighter uses them."""

from dataclasses import dataclass, replace

from towpath.data import Pool, stream_of, trusted_pool
from towpath.data.registry import is_own_table
from towpath.data.repeated import repeated
from towpath.data.trusted import FixedTrusted, FreshTrusted, TrustedTasks, trusted_spec
from towpath.data.trusted_classes import SetApart, all_trusted, set_apart
from towpath.recipes.recipe import Recipe, Trusted
from towpath.recipes.rules import RULES, rules_of
from towpath.recipes.typed import RecipeError
from towpath.runs.trust import ALL_TRUSTED, Trust, listed, repeated_sentence
from towpath.training.place import Place
from towpath.training.sets import names_trusted
from towpath.weighters import Uniform, Weighter, wants_judges, wants_targets
from towpath.weighters.protocol import (
    believes_trusted,
    needs_trusted,
    uses_trusted,
    without_judges,
)
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

    A weighter that judges keeps `trusted.judges` of them, which it neither trains on nor aims at
    until it has judged for the last time.

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
        windows = _judging_windows(recipe, weighter)
        return FixedTrusted(placed, asked.per_batch, recipe.seed, judging, windows)
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


def _judging_windows(recipe: Recipe, weighter: Weighter) -> int | None:
    """Return in how many windows of a run trusted tasks judge; None if that is not known."""
    until = getattr(weighter, "judged_until", None)
    if until is None:
        return None
    T = recipe.training.horizon
    return -(-int(until(recipe.training.steps, T)) // T)


def trusted_note(recipe: Recipe, trusted: TrustedTasks | None, train: Pool) -> str:
    """Return a sentence on how much of a table fixed trusted tasks come from; empty for images.

    A large count sounds like much that is trusted, and may be the same few rows again and again;
    or nobody has said which tasks of the table are trusted, and they are as any other.

    Args:
        recipe: the recipe of the run.
        trusted: its trusted tasks.
        train: the pool that it trains on.
    """
    infos = [task.info for task in trusted] if isinstance(trusted, FixedTrusted) else []
    rows = {(info["task"], row) for info in infos for row in info.get("rows", ())}
    if not rows:
        return ""
    names = {name for info in infos for name in info["classes"]}
    what = "task" if all(info["task"] for info in infos) else "class"
    plural = {"task": "tasks", "class": "classes"}[what]
    named = bool(recipe.trusted.data) or names_trusted(train)
    note = (
        f"The {amount(len(infos), 'trusted task')} are drawn from {amount(len(rows), 'row')} of "
        f"{len(names):,} {'trusted' if named else 'training'} "
        f"{plural if len(names) > 1 else what} of the table"
    )
    if named:
        return note
    where = "some in data.splits.trusted, or " if is_own_table(recipe.data.name) else ""
    return (
        f"{note}, which names no {plural} as trusted: their labels are believed as they stand. To "
        f"say what was checked, name {where}another table in trusted.data"
    )


LARGEST = 100_000
"""the largest trusted.count"""
ENOUGH_TARGETS = 2
"""a single target is no more than one task's whims"""


def checks_trust(recipe: Recipe, weighter: Weighter) -> bool:
    """Return whether trusted tasks are checked: where a weighter believes what they say.

    It aims at them, judges by them, trains on little else, or never drops them.

    Args:
        recipe: the recipe of the run.
        weighter: the weighter that was made of it.
    """
    asked = recipe.trusted
    return bool(asked.count) and asked.check and believes_trusted(amounts_to(recipe, weighter))


def first_trust(recipe: Recipe, weighter: Weighter, trusted: TrustedTasks | None) -> Trust:
    """Return which trusted tasks are left out before training: repetitions of earlier ones.

    A repetition is no wrong task, so it counts for a weighter that neither aims nor judges.

    Args:
        recipe: the recipe of the run.
        weighter: the weighter of the run.
        trusted: the trusted tasks of the run.
    """
    if not isinstance(trusted, FixedTrusted) or not checks_trust(recipe, weighter):
        return ALL_TRUSTED
    acting = amounts_to(recipe, weighter)
    if not uses_trusted(acting):
        return ALL_TRUSTED
    return still_usable(Trust(left_out=tuple(repeated(trusted.tasks).same)), trusted, acting)


def still_usable(trust: Trust, trusted: FixedTrusted, weighter: Weighter) -> Trust:
    """Return the trust, declared unusable if too few tasks are left or most are wrong.

    A weighter that only believes trusted tasks stays what it is, however many are left out.

    Args:
        trust: which tasks are left out.
        trusted: the trusted tasks of the run.
        weighter: the weighter of the run, or what it amounts to (`amounts_to`).
    """
    count, judging = len(trusted), trusted.judging_positions
    left = [i for i in range(count) if i not in trust.left_out]
    judges = sum(i in judging for i in left)
    fallback = _fallback_name(weighter)
    if not uses_trusted(weighter):
        return trust
    if len(left) * 2 < count:
        found = f"{count - len(left)} of {amount(count, 'trusted task')} are wrong or repeated"
    elif wants_targets(weighter) and len(left) - judges < ENOUGH_TARGETS:
        found = f"only {amount(len(left) - judges, 'trusted task')} of {count} can be aimed at"
    elif wants_judges(weighter) and judges < ENOUGH_JUDGES:
        found = f"only {amount(judges, 'trusted task')} of {len(judging)} can judge"
    else:
        return trust
    return replace(
        trust,
        unusable=f"The trusted tasks are not used any more: {found}. The weighter is {fallback} "
        "from here on. Look at these tasks, correct or replace them, and train again.",
    )


def without_trust(weighter: Weighter) -> Weighter:
    """Return what a weighter that uses trusted tasks becomes where they cannot be trusted."""
    baseline = without_judges(weighter)
    if baseline is None or wants_targets(baseline) or needs_trusted(baseline):
        return Uniform()
    return baseline


def _fallback_name(weighter: Weighter) -> str:
    """Return what its user calls the weighter that takes the place of one without trust."""
    fallback = without_trust(weighter)
    if fallback is not without_judges(weighter):
        return "uniform"
    return str(getattr(weighter, "baseline", type(fallback).__name__))


def repetition_notes(trusted: TrustedTasks | None) -> list[str]:
    """Return sentences on trusted tasks that hold the samples of earlier ones; mostly none."""
    if not isinstance(trusted, FixedTrusted):
        return []
    found = repeated(trusted.tasks)
    notes = [repeated_sentence(found.same)] if found.same else []
    if found.mostly:
        notes.append(
            f"{amount(len(found.mostly), 'trusted task')} ({listed(tuple(found.mostly))}) "
            f"{'shares' if len(found.mostly) == 1 else 'share'} at least half of the samples with "
            f"an earlier one: all {len(trusted)} together hold {found.samples:,} different samples "
            f"of {found.total:,}."
        )
    return notes


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
    """Return what a weighter that judges amounts to where too few tasks do; None where enough do.

    It is None as well for a weighter that does not judge, or cannot do without.

    Args:
        recipe: the recipe of the run.
        weighter: the weighter that was made of it.
    """
    asked = recipe.trusted
    judges = asked.judging if asked.count else 0
    return without_judges(weighter) if judges < ENOUGH_JUDGES else None


def amounts_to(recipe: Recipe, weighter: Weighter) -> Weighter:
    """Return the weighter that acts in a run: itself, or the baseline of a race without judges.

    Args:
        recipe: the recipe of the run.
        weighter: the weighter that was made of it.
    """
    return unjudged(recipe, weighter) or weighter


def undecided_note(recipe: Recipe, weighter: Weighter) -> str:
    """Return a sentence where a run ends before a race can choose; empty for all other runs.

    Args:
        recipe: the recipe of the run.
        weighter: the weighter that was made of it.
    """
    decides = getattr(weighter, "first_decision", None)
    if decides is None or unjudged(recipe, weighter) is not None:
        return ""
    steps, first = recipe.training.steps, decides(recipe.training.horizon)
    if steps >= first:
        return ""
    return (
        f"The weighter {recipe.weighter.name!r} chooses at step {first} for the first time, at the "
        f"end of a heat of its rules, and training.steps is {steps}: it is {_baseline(recipe)} all "
        f"the time. Set training.steps to at least {first}, or lower weighter.first and "
        "weighter.length."
    )


def _baseline(recipe: Recipe) -> str:
    """Return the name of the rule that a recipe's race starts with."""
    return next(iter(rules_of(recipe.weighter.options.get(RULES), f"weighter.{RULES}")))


def unjudged_note(recipe: Recipe) -> str:
    """Return the sentence for the user of a race whose rules nothing can judge."""
    asked, own = recipe.trusted, recipe.weighter
    if not asked.count:
        found = "trusted.count 0, and without trusted tasks nothing can be judged"
    else:
        found = (
            f"{asked.judging} of {asked.count} trusted tasks to judge by, and fewer than "
            f"{ENOUGH_JUDGES} say nothing about chance"
        )
    return (
        f"The weighter {own.name!r} found {found}: it is {_baseline(recipe)} all the time. Set "
        f"trusted.count, for example to 20, to let it choose; it can from {_least(asked)} on."
    )


def _least(asked: Trusted) -> int:
    """Return the smallest number of trusted tasks of which enough judge and enough are left."""
    for count in range(ENOUGH_JUDGES, LARGEST):
        judges = replace(asked, count=count).judging
        if judges >= ENOUGH_JUDGES and count - judges >= asked.per_batch:
            return count
    return LARGEST


def few_targets_note(recipe: Recipe, weighter: Weighter) -> str:
    """Return a sentence where trusted tasks are so few that they are trained on and aimed at.

    Args:
        recipe: the recipe of the run.
        weighter: the weighter that was made of it.
    """
    asked = recipe.trusted
    if not asked.count or asked.fresh or asked.classes or not wants_targets(weighter):
        return ""
    judging = asked.judging if wants_judges(weighter) else 0
    left, enough = asked.count - judging, 2 * asked.per_batch
    if left >= enough or unjudged(recipe, weighter) is not None:
        return ""
    return (
        f"The weighter {recipe.weighter.name!r} has {amount(left, 'trusted task')} to train on and "
        f"to aim at, {asked.per_batch} of them each time: some are both in one mini-batch, where "
        f"they say little. From {enough} on none is. Raise trusted.count, or lower "
        "trusted.per_batch."
    )
