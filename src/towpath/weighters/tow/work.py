"""The expected work of TOW's plans: evaluations and sketches of a window, before it is planned."""

from typing import TYPE_CHECKING

from towpath.weighters.tow.nominal import steps_through
from towpath.weighters.work import WindowWork, window_work

if TYPE_CHECKING:
    from towpath.weighters.tow.options import TOW

TRIALS = 1.2
"""trials an iteration, rejected ones included: the mean over our own runs (docs/performance.md)"""


def expected_work(tow: "TOW", T: int, targets: float, inertia: float) -> WindowWork:
    """Return the expected work of a plan, and of the weighter that it is about.

    Args:
        tow: the options of the plan.
        T: number of mini-batches of the window.
        targets: number of targets of a mini-batch, as a share of M.
        inertia: `inertia` of the optimiser.
    """
    planned, nominal = _planned(tow, T, targets, inertia), tow.nominal
    if isinstance(nominal, str):
        return planned
    beside = window_work(nominal, T, targets, inertia)
    # a rule decides while the nominal is rolled out; other weighters train through the window first
    return planned + beside + WindowWork(-T if steps_through(nominal) else 0)


def _planned(tow: "TOW", T: int, targets: float, inertia: float) -> WindowWork:
    """Return the work about known weights: T evaluations for the nominal, T-1 for each trial.

    Args:
        tow: the options of the plan.
        T: number of mini-batches of the window.
        targets: number of targets of a mini-batch, as a share of M.
        inertia: `inertia` of the optimiser.
    """
    if tow.iterations == 0:
        return WindowWork(T)
    if tow.on_a_part:
        given = targets > 0
        parts, share = T - 1 - tow.coasting(T, inertia, given), tow.share(given)
        watched = 0.0 if given else 0.5 * share * parts  # every other task
        return WindowWork(
            T + T * targets, parts=parts, part_share=share, forwards=watched + T * targets
        )
    # a plan that knows of chance begins a second iteration in few windows (decision 26)
    trials = TRIALS * (1 if tow.acceptance == "chance" else tow.iterations)
    sketched = 0.0 if tow.curvature == "none" else float(tow.probes)
    # targets are counted after every step, the last one included
    evaluations = T + trials * (T - 1) + (1 + trials) * T * targets
    sketches = sketched * (1 + trials - TRIALS) * (T - 1 + T * targets)
    return WindowWork(evaluations, sketches)
