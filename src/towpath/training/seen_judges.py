"""Judges of a race that were trained on, because it had no heat left: they do not judge again.

A run keeps the tasks that judge apart until its last heat is over. If it is made longer afterwards,
further heats would fall into it, judged by tasks that the network has learnt from.
"""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from towpath.data.trusted import TRUSTED, FixedTrusted, TrustedTasks
from towpath.recipes.recipe import Recipe
from towpath.runs.record_file import DamagedRecordError, read_records
from towpath.runs.records import StepRecord
from towpath.weighters import Weighter


def trained_on_a_judge(path: Path, trusted: TrustedTasks | None) -> StepRecord | None:
    """Return the first record of a run in which a task that judges was trained on; None if none.

    Args:
        path: the run's records; where a line is damaged or cut off, those before it count.
        trusted: the trusted tasks of the run.
    """
    if not isinstance(trusted, FixedTrusted) or not trusted.judging:
        return None
    judging = trusted.judging_positions
    with suppress(DamagedRecordError):
        for record in read_records(path):
            if isinstance(record, StepRecord) and any(
                info.get(TRUSTED) and info.get("index") in judging for info in record.tasks
            ):
                return record
    return None


def without_seen_judges(
    trusted: TrustedTasks | None, seen: StepRecord | None
) -> TrustedTasks | None:
    """Return the trusted tasks, of which none judges any more once one that does was trained on.

    It is so by itself, unless a run is made longer and heats would follow.

    Args:
        trusted: the trusted tasks of the run.
        seen: the record of the first window that trained on such a task.
    """
    if not isinstance(trusted, FixedTrusted) or seen is None:
        return trusted
    until = trusted.judging_windows
    known = seen.window if until is None else min(seen.window, until)
    return replace(trusted, judging_windows=known)


def unjudged_heats_note(recipe: Recipe, weighter: Weighter, seen: StepRecord | None) -> str:
    """Return a sentence where a run was made longer and heats follow that nothing can judge.

    Args:
        recipe: the recipe of the run, with the steps that it has now.
        weighter: the weighter that was made of it.
        seen: the record of the first window that trained on a task that judges.
    """
    until = getattr(weighter, "judged_until", None)
    steps = recipe.training.steps
    if until is None or seen is None or until(steps, recipe.training.horizon) < seen.step:
        return ""
    return (
        f"The trusted tasks that judge were trained on from step {seen.step} on, because no heat "
        "was to follow. They are not new to the network any more, so no further heat is run and "
        "the rule that leads goes on. For a race that unseen tasks judge, train anew with "
        f"--training.steps {steps}."
    )
