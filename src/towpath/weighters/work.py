"""The expected work of a window, by which training estimates how long a run will take."""

from dataclasses import dataclass

from towpath.weighters.protocol import Weighter


@dataclass(frozen=True)
class WindowWork:
    """The work of one window, counted in mini-batches of M tasks."""

    evaluations: float
    sketches: float = 0.0
    parts: float = 0.0
    """evaluations on a part of the query sets"""
    part_share: float = 1.0
    """how much of each query set such a part has"""
    forwards: float = 0.0
    """forward passes over whole mini-batches"""

    def __add__(self, other: "WindowWork") -> "WindowWork":
        """Return the work of both; at most one of the two may have evaluations in part."""
        assert not (self.parts and other.parts)
        return WindowWork(
            self.evaluations + other.evaluations,
            self.sketches + other.sketches,
            self.parts + other.parts,
            self.part_share if self.parts else other.part_share,
            self.forwards + other.forwards,
        )

    def times(self, count: float) -> "WindowWork":
        """Return the work of so many windows."""
        return WindowWork(
            count * self.evaluations,
            count * self.sketches,
            count * self.parts,
            self.part_share,
            count * self.forwards,
        )


def window_work(
    weighter: Weighter, T: int, targets: float = 0.0, inertia: float = 0.9
) -> WindowWork:
    """Return the expected work of a window, by the weighter's own `expected_work` if it has one.

    A user's class without it is expected to evaluate every mini-batch once.

    Args:
        weighter: the weighter that plans it.
        T: number of mini-batches of the window.
        targets: number of targets of a mini-batch, as a share of M.
        inertia: `inertia` of the optimiser, by which a plan on a part of the query sets decides how
            many mini-batches it leaves out.
    """
    expected = getattr(weighter, "expected_work", None)
    if expected is None:
        return WindowWork(T)
    work = expected(T, targets, inertia)
    assert isinstance(work, WindowWork)
    return work


def run_work(
    weighter: Weighter,
    T: int,
    steps: range,
    *,
    targets: float = 0.0,
    judges: float = 0.0,
    judged_until: int | None = None,
    inertia: float = 0.9,
) -> WindowWork:
    """Return the expected work of a stretch of a run: its windows, and what a race adds to them.

    Args:
        weighter: the weighter that plans the windows.
        T: number of mini-batches of a window.
        steps: the mini-batches of the stretch, as training counts them.
        targets: number of targets of a mini-batch, as a share of M.
        judges: number of tasks that a weighter judges by, as a share of M.
        judged_until: the step from which on there are none; None if there always are.
        inertia: `inertia` of the optimiser.
    """
    work = window_work(weighter, T, targets, inertia).times(len(steps) / T)
    judging = getattr(weighter, "judging_work", None)
    if judging is None or not judges:
        return work
    judged = steps if judged_until is None else range(steps.start, min(steps.stop, judged_until))
    added = judging(judged, T, targets, judges, inertia)
    assert isinstance(added, WindowWork)
    return work + added


def plans_windows(weighter: Weighter) -> bool:
    """Return whether a weighter holds the gradients of a whole window at once to plan it.

    The others, a user's class included, hold those of one mini-batch at a time.
    """
    return bool(getattr(weighter, "plans_windows", False))
