"""Checks of the trusted tasks during training: are their labels better than shuffled ones?

Nothing warns of trusted tasks that are wrong: whatever aims at them or is judged by them follows
them. But the network learns mostly from other tasks, and it can say whether the labels of a trusted
task are those that it would give, or any others. It is asked at a few steps, at one forward pass a
task. A task that two checks in a row take for wrong is neither a target nor a judge from then on,
and rules that keep or drop tasks for being trusted take it for any other task (`info["left_out"]`);
if those are more than half, or too few are left, no trusted task is used any more.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import replace

from towpath.data import Episode
from towpath.data.repeated import repeated
from towpath.data.trusted import FixedTrusted
from towpath.label_evidence import LABEL_EVIDENCE
from towpath.runs.records import TrustRecord
from towpath.runs.trust import Trust, TrustCheck
from towpath.training.checkpoint import Checkpoint
from towpath.training.doubt import doubted
from towpath.training.evaluation import evaluation_mode
from towpath.training.setup import Setup
from towpath.training.trusting import amounts_to, checks_trust, still_usable

FIRST_CHECK = 10
"""mini-batches before the first check; each later one is at twice the step of the one before, since
a network learns ever more slowly"""


def check_due(before: int, after: int) -> bool:
    """Return whether a check falls between two steps.

    >>> [step for step in range(1, 100) if check_due(step - 1, step)]
    [10, 20, 40, 80]
    """
    return _checks_until(after) > _checks_until(before)


def _checks_until(step: int) -> int:
    return (step // FIRST_CHECK).bit_length()


def trust_checked(
    setup: Setup, now: Checkpoint, before: int
) -> tuple[Checkpoint, list[TrustRecord]]:
    """Check the trusted tasks if that is due after a window.

    Args:
        setup: the run, with its trusted tasks.
        now: the state after the window.
        before: the step at which the window began.

    Returns:
        the checkpoint, with what training leaves out from now on, and the record if there was a
        check.
    """
    state, trusted = now.state, setup.trusted
    if (
        not isinstance(trusted, FixedTrusted)
        or not checks_trust(setup.recipe, setup.weighter)
        or state.trust.unusable
        or not check_due(before, state.step)
    ):
        return now, []
    began = time.perf_counter()
    fresh = setup.place.window(setup.windows.window(state.window))[0]
    evidence = _evidence(setup, now, trusted.tasks)
    training = _evidence(setup, now, fresh)
    doubts = doubted(evidence, training)
    again = {*doubts} & {*state.trust.suspects}
    left_out = tuple(sorted({*state.trust.left_out} | again))
    acting = amounts_to(setup.recipe, setup.weighter)
    trust = still_usable(Trust(doubts, left_out), trusted, acting)
    check = TrustCheck(
        [_figure(z) for z in evidence],
        [_figure(z) for z in training],
        trust,
        named_tasks(trusted, trust),
        {i: other for i, other in repeated(trusted.tasks).same.items() if i in left_out},
    )
    # a weighter that takes the place of another begins without a memory
    memory = None if trust.unusable else state.weighter_state
    spent = now.training_seconds + time.perf_counter() - began
    state = replace(state, trust=trust, weighter_state=memory)
    return replace(now, state=state, training_seconds=spent), [TrustRecord(state.step, check)]


def first_record(setup: Setup) -> list[TrustRecord]:
    """Return the record of trusted tasks that are left out before training; none if all count."""
    trust, trusted = setup.start.trust, setup.trusted
    if not isinstance(trusted, FixedTrusted) or not trust.left_out:
        return []
    same = repeated(trusted.tasks).same
    return [TrustRecord(0, TrustCheck([], [], trust, named_tasks(trusted, trust), same))]


def named_tasks(trusted: FixedTrusted, trust: Trust) -> dict[int, str]:
    """Return the group and the classes of the tasks that are left out, by position."""
    return {i: _named(trusted.tasks[i]) for i in trust.left_out}


def _named(task: Episode) -> str:
    """Return the group and the classes of a task in words."""
    group = str(task.info.get("group") or "")
    names = [str(name) for name in task.info.get("classes", ())]
    return ": ".join(filter(None, [group, ", ".join(names)]))


def _evidence(setup: Setup, now: Checkpoint, tasks: Sequence[Episode]) -> list[float]:
    """Return the label evidence of each task; NaN where its labels are not of that kind."""
    with evaluation_mode(setup.learner.module):
        said = setup.objective.measure(
            now.state.params, list(tasks), [LABEL_EVIDENCE], seed=setup.recipe.seed
        )
    return said.get(LABEL_EVIDENCE, [math.nan] * len(tasks))


def _figure(value: float) -> float | None:
    return value if math.isfinite(value) else None
