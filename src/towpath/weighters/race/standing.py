"""How the arms of a race stand: what each gained over the baseline, and who is chosen.

Every look at the arms scores each of them on the same judges, so a difference is taken judge by
judge before it is averaged. A gain counts only if it is clear of chance: a one-sided t-test over
the judges, at a level that is shared out among the arms (Bonferroni), so that arms which are all
no better than the baseline are chosen with at most that probability. Among arms that are clear of
it the one with the largest gain is chosen, not the one with the largest t: a small gain with
little scatter would win over a large one otherwise. The arm that leads was clear once, so it is not
asked to be so again: it stays eligible while its gain is above 0, and loses the lead to the
baseline only if that is ahead of it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
ROUNDING = 1e-6
"""the largest difference that is rounding, as a share of the largest score: scores may be means of
numbers in single precision, and the smallest difference of two accuracies is far larger"""
SETTLED = 0.5
"""the share of a heat's looks that counts, the last ones: what an arm gains builds up"""


@dataclass(frozen=True)
class Standing:
    """The gain of an arm over the baseline on the judges, and how sure it is."""

    gain: float
    """mean over the judges, in the units of the score; above 0 the arm is better"""
    error: float
    """standard error of the gain"""
    judges: int

    @property
    def t(self) -> float:
        """The gain in standard errors; 0 where both are 0."""
        if self.error > 0:
            return self.gain / self.error
        return math.copysign(math.inf, self.gain) if self.gain else 0.0

    def chance(self) -> float:
        """Return the one-sided p-value: how probable such a gain is if the arm is no better."""
        if self.judges < 2:
            return 1.0
        if self.error == 0 and math.isfinite(self.gain) and self.gain:
            # the same on every judge, so the t-test would be sure whatever their number: a sign
            # test counts them
            return 0.5**self.judges if self.gain > 0 else 1.0
        from scipy.special import stdtr  # here, because it takes a while and few runs race

        return float(stdtr(self.judges - 1, -self.t))  # the distribution is symmetric


def standings(
    scores: Mapping[str, Sequence[Sequence[float]]], baseline: str
) -> dict[str, Standing]:
    """Return how each arm but the baseline stands after the looks so far.

    Args:
        scores: for each arm its scores `[looks, judges]`, larger is better. An arm that was dropped
            has fewer looks; it is compared with the baseline's looks of that time.
        baseline: the arm that all others are compared with.
    """
    base = np.asarray(scores[baseline], dtype=np.float64)
    return {
        name: _standing(np.asarray(own, dtype=np.float64), base)
        for name, own in scores.items()
        if name != baseline
    }


def _standing(own: Array, base: Array) -> Standing:
    looks = len(own)
    late = looks - max(1, math.ceil(SETTLED * looks))
    own, base = own[late:], base[late:looks]
    count = own.shape[1]
    if not count:  # the metric is undefined on every judge
        return Standing(0.0, math.inf, 0)
    if not np.isfinite(own).all():
        return Standing(-math.inf, 0.0, count)
    if not np.isfinite(base).all():  # the baseline has come to nothing, and this arm has not
        return Standing(math.inf, 0.0, count)
    gains = (own - base).mean(0)  # [judges]
    gain, least = float(gains.mean()), rounding([own, base])
    error = float(gains.std(ddof=1)) / math.sqrt(count) if count > 1 else math.inf
    if count > 1 and float(np.ptp(gains)) <= least:
        error = 0.0
    return Standing(gain if abs(gain) > least else 0.0, error, count)


def rounding(scores: Iterable[npt.ArrayLike]) -> float:
    """Return the largest difference of some scores that may be rounding only."""
    values = np.concatenate([np.ravel(np.asarray(one, dtype=np.float64)) for one in scores])
    known = np.abs(values[np.isfinite(values)])
    return ROUNDING * float(known.max()) if len(known) else 0.0


def chosen(found: Mapping[str, Standing], share: float, leader: str = "") -> str | None:
    """Return the arm of the largest gain among those that may lead; None if none may.

    An arm may lead if it is clear of the baseline, or if it led before and is still ahead of it.

    Args:
        found: how each arm stands that may be chosen.
        share: each arm's share of the level, the largest chance at which its gain is clear.
        leader: the arm that leads so far.
    """
    clear = [
        name
        for name, one in found.items()
        if one.chance() <= share or (name == leader and one.gain > 0)
    ]
    return max(clear, key=lambda name: found[name].gain, default=None)


def best_half(found: Mapping[str, Standing], least: float = 0.0) -> list[str]:
    """Return the better half of the arms by gain, at least one; in the order of the race.

    Of arms with equal gains the earlier ones of the race stay.

    Args:
        found: how each arm stands.
        least: differences of gains up to this are rounding.
    """
    kept = max(1, math.ceil(len(found) / 2))
    order = sorted(found, key=lambda name: -found[name].gain)
    last = found[order[kept - 1]].gain
    if math.isfinite(last):
        ahead = [name for name in found if found[name].gain > last + least]
        level = [name for name in found if abs(found[name].gain - last) <= least]
        order = [*ahead, *level]
    return [name for name in found if name in order[:kept]]
