"""The expected work of a race: what losing arms and judges cost beside the training itself."""

from collections.abc import Sequence
from dataclasses import replace

from towpath.weighters.race.schedule import Schedule
from towpath.weighters.work import WindowWork


def judging_work(
    schedule: Schedule, steps: range, T: int, arms: Sequence[WindowWork], looked: float
) -> WindowWork:
    """Return the work of the heats that fall into a stretch of a run, beside the leader's own.

    It takes the baseline for the leader, and the arms to cost alike where it is not known which of
    them stay.

    Args:
        schedule: when heats begin, and how long they last.
        steps: the mini-batches of the stretch.
        T: number of mini-batches of a window.
        arms: the work of a window by each arm, the baseline first.
        looked: mini-batches of forward passes by which one arm is judged in a whole heat.
    """
    losing = WindowWork(0.0)
    for arm in arms[1:]:
        losing += replace(_whole(arm), forwards=arm.forwards)
    others, total, heats = len(arms) - 1, WindowWork(0.0), 0
    while (begins := schedule.begins(heats)) < steps.stop:
        length = schedule.lasts(heats)
        ends = min(begins + length, steps.stop)
        share = max(0, ends - max(begins, steps.start)) / length
        running = others * 0.5 + -(-others // 2) * 0.5  # half of them leave at half-time
        if heats:  # of the others only the best one
            running = 1.0
        windows = length / T * running / others
        judged = WindowWork(0.0, forwards=looked * (1 + running))
        total += (losing.times(windows) + judged).times(share)
        heats += 1
    return total


def _whole(work: WindowWork) -> WindowWork:
    """Return the work with evaluations in part counted as the share of whole ones that they are."""
    return WindowWork(work.evaluations + work.part_share * work.parts, work.sketches)
