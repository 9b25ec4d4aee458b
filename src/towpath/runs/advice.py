"""The advice that a comparison ends with: which weighter for this data, and how sure that is.

A weighter is advised if it is better than the baseline on the first test set beyond noise: by the
paired t-test over the test tasks, with the p-values of all weighters corrected for their number
(Holm 1979). Of those that are, it is the one with the largest gain. Intervals and p-values are over
test tasks; how much the luck of a training matters only further seeds can say, so the advice also
says in how many of them the weighter was ahead.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from towpath.metrics import Metric
from towpath.runs.differences import PairedDifference
from towpath.wording import amount

LEVEL = 0.05
"""the largest corrected p-value that counts as beyond noise"""
BOUND = "oracle"
"""the weighter that no user has: it knows which tasks were made wrong"""
ENOUGH_SEEDS = 3


@dataclass(frozen=True)
class Candidate:
    """A weighter that may be advised: its difference from the baseline on the same tasks."""

    label: str
    difference: PairedDifference
    seeds: int
    """number of seeds that both were trained with"""
    ahead: int
    """in how many of them it was the better one"""


@dataclass(frozen=True)
class Setting:
    """What the weighters of a comparison were compared by."""

    baseline: str
    test: str
    metric: Metric
    tasks: int
    """number of test tasks"""


@dataclass(frozen=True)
class Advice:
    """The weighter to use, and the evidence for it."""

    weighter: str
    """the label of the weighter, which may be the baseline"""
    best: Candidate
    """the weighter with the largest gain, of those that are beyond noise if there are any"""
    chance: float
    """its p-value, corrected for the number of comparisons"""
    comparisons: int
    setting: Setting

    def sentence(self) -> str:
        """Return the advice in one or two sentences."""
        where, best = self.setting, self.best
        metric, difference = where.metric, best.difference
        unit = " points" if metric.percent else ""
        gap = f"{metric.shown(difference.mean, sign=True)} ±{metric.shown(difference.interval)}"
        chance = "p < 0.001" if self.chance < 0.001 else f"p = {self.chance:.2g}"
        corrected = f" after Holm's correction for {self.comparisons} comparisons"
        ahead = f", ahead in {best.ahead} of {best.seeds}" if best.seeds > 1 else ""
        evidence = (
            f"{gap}{unit} of {metric.words} on {where.test} over {where.tasks} test tasks and "
            f"{amount(best.seeds, 'seed')}{ahead}, {chance}"
            f"{corrected if self.comparisons > 1 else ''}"
        )
        if self.weighter == where.baseline:
            said = (
                f"Stay with {where.baseline}: no weighter is better than it beyond noise (nearest: "
                f"{best.label}, {evidence})."
            )
        else:
            said = f"Use {self.weighter} for this data: {evidence}, compared with {where.baseline}."
        return said + _caution(best.seeds)


def _caution(seeds: int) -> str:
    """Return what to say of few seeds; nothing where there are enough."""
    if seeds >= ENOUGH_SEEDS:
        return ""
    found = "one seed" if seeds == 1 else f"{seeds} seeds"
    return (
        f" With {found} the luck of a training is not in the interval: to be sure, compare with "
        "--seeds 0,1,2."
    )


def advised(candidates: Sequence[Candidate], setting: Setting) -> Advice | None:
    """Return which weighter to use; None if there is nothing to compare.

    A weighter that knows which tasks were made wrong is a bound for the others and never advised.

    Args:
        candidates: the weighters beside the baseline; one whose scores are not finite is left out.
        setting: what they were compared by.
    """
    usable = [
        one for one in candidates if not _bound(one.label) and math.isfinite(one.difference.mean)
    ]
    if not usable or _bound(setting.baseline):
        return None
    chances = corrected({one.label: one.difference for one in usable})
    rated = [(one, chances[one.label]) for one in usable]

    def gain(one: Candidate) -> float:
        """Return how much better than the baseline a weighter is, whichever way is better."""
        return setting.metric.goodness(one.difference.mean)

    better = [(one, p) for one, p in rated if p <= LEVEL and gain(one) > 0]
    best, chance = max(better or rated, key=lambda pair: gain(pair[0]))
    return Advice(best.label if better else setting.baseline, best, chance, len(usable), setting)


def corrected(differences: Mapping[str, PairedDifference]) -> dict[str, float]:
    """Return the p-value of each weighter's difference, corrected for their number by `holm`.

    A weighter that knows which tasks were made wrong is not one to choose, so it is not counted and
    its own p-value stays as it is. One whose scores are not finite has 1.

    Args:
        differences: the differences from the baseline by label, on one test set and by one metric.
    """
    finite = {name: one for name, one in differences.items() if math.isfinite(one.mean)}
    counted = [name for name in finite if not _bound(name)]
    chances = holm([finite[name].p_value for name in counted])
    bounds = {name: one.p_value for name, one in finite.items() if _bound(name)}
    return {**dict.fromkeys(differences, 1.0), **bounds, **dict(zip(counted, chances, strict=True))}


def correction_words(labels: Sequence[str]) -> str:
    """Return how p-values of these weighters beside the baseline were corrected, in words."""
    count = sum(not _bound(label) for label in labels)
    if count < 2:
        return ""
    beside = f", {BOUND} not among them" if count < len(labels) else ""
    return f" after Holm's correction for {count} comparisons{beside}"


def _bound(label: str) -> bool:
    """Return whether a label is that of the weighter which knows the wrong tasks."""
    return label.partition(":")[0] == BOUND


def holm(chances: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number.

    The k-th smallest of n is multiplied by n - k + 1. One that is not a number counts as 1.

    >>> [round(p, 6) for p in holm([0.04, 0.01, 0.03])]
    [0.06, 0.03, 0.06]
    """
    known = [1.0 if math.isnan(p) else p for p in chances]
    corrected = [1.0] * len(known)
    largest = 0.0
    for k, i in enumerate(sorted(range(len(known)), key=lambda i: known[i])):
        largest = max(largest, min(1.0, (len(known) - k) * known[i]))
        corrected[i] = largest
    return corrected
