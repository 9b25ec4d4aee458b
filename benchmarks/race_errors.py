"""Races whose truth is known: scores are drawn, and the race's own rules decide by them.

`python -m benchmarks race_errors` prints the figures of docs/method.md, section 10;
tests/weighters/race/test_error_rate.py holds the race to them.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import towpath as tp
from towpath.weighters.race.heats import Heats
from towpath.weighters.race.memory import Branch, RaceMemory
from towpath.weighters.race.race import Race

Array = npt.NDArray[np.float64]
RULES: Heats = Race().heats
ARMS = tuple(RULES.arms)
T = 5
KEPT = 0.7
"""how much of its noise a score keeps from look to look"""


@dataclass(frozen=True)
class Noise:
    """Deviations of a score, which last from look to look."""

    judge: float = 0.03
    """of a judge's own difference"""
    branch: float = 0.0
    """of a whole training, which all judges share"""


INDEPENDENT, SHARED = Noise(), Noise(branch=0.015)
Gains = Mapping[str, float | Iterable[Any]]
"""an arm's true gain over the baseline: always, `[looks]` in every heat, or `[heats, looks]`"""


def _scores(g: np.random.Generator, gain: Array, judges: int, noise: Noise) -> Array:
    """An arm's scores `[looks, judges]` in a heat, but for what all arms have in common."""
    own, common = g.normal(0, noise.judge, judges), g.normal(0, noise.branch)
    fresh, rows = math.sqrt(1 - KEPT**2), []
    for value in gain:
        rows.append(value + own + common)
        own = KEPT * own + fresh * g.normal(0, noise.judge, judges)
        common = KEPT * common + fresh * g.normal(0, noise.branch)
    return np.array(rows)


def leaders(
    g: np.random.Generator,
    gains: Gains,
    *,
    judges: int = 7,
    noise: Noise = INDEPENDENT,
    heats: int = 1,
    rules: Heats = RULES,
) -> list[str]:
    """Who leads after each heat of a simulated race, whose arms and judges are drawn."""
    params = {"w": torch.zeros(1)}
    here = Branch(params["w"], tp.SGD(lr=0.1).init(params))
    memory = RaceMemory(rules.baseline)
    found: list[str] = []
    for number in range(heats):
        heat = memory.heat = rules.begun(memory, here)
        easy, drift = g.uniform(0.3, 0.9, judges), np.cumsum(g.normal(0, 0.01, rules.looks))
        drawn = {}
        for name in heat.scores:
            gain = np.broadcast_to(np.asarray(gains.get(name, 0.0)), (heats, rules.looks))[number]
            drawn[name] = easy + drift[:, None] + _scores(g, gain, judges, noise)
        looks = 0
        while memory.heat is not None:
            heat.trained += T
            if not rules.look_due(memory, heat, T):
                continue  # nothing is decided between two looks
            for name in (memory.leader, *heat.branches):
                heat.scores[name].append(drawn[name][looks].tolist())
            looks += 1
            rules.decide(memory, heat)
        found.append(memory.leader)
    return found


def rates(
    wanted: Callable[[str], bool], gains: Gains, count: int, *, heats: int = 1, **setting: Any
) -> list[float]:
    """How often a wanted arm leads after each heat."""
    g = np.random.default_rng(5)
    runs = [leaders(g, gains, heats=heats, **setting) for _ in range(count)]
    return [float(np.mean([wanted(run[number]) for run in runs])) for number in range(heats)]


def any_arm(name: str) -> bool:
    """Whether another arm than the baseline leads."""
    return name != RULES.baseline


ONE = ARMS[-1]
"""the arm that differs from the others where only one does"""


def that_arm(name: str) -> bool:
    """Whether the one arm that differs leads."""
    return name == ONE


def all_arms(gain: float) -> dict[str, float]:
    """Every arm is better by this much, or worse."""
    return dict.fromkeys(ARMS[1:], gain)


TURNS_AFTER_HALF_TIME = (0.1, -0.1)


def turns_after_the_first_heat(gain: float) -> list[list[float]]:
    """Better by 5 points in the first heat of three and by `gain` in the others."""
    return [[0.05], [gain], [gain]]


def main(count: int = 2000) -> None:
    """Print the rates after each heat, in per cent with their standard errors."""

    def line(text: str, wanted: Callable[[str], bool], gains: Gains, **setting: Any) -> None:
        found = [100 * rate for rate in rates(wanted, gains, count, **setting)]
        errors = [math.sqrt(rate * (100 - rate) / count) for rate in found]
        said = ", ".join(f"{r:.2f} +-{e:.2f}" for r, e in zip(found, errors, strict=True))
        print(f"{text:<64} {said}", flush=True)

    for noise, named in ((INDEPENDENT, "noise of each judge"), (SHARED, "and of a training")):
        for judges in (3, 7, 20):
            for gain in (0.0, -0.01, -0.03):
                text = f"{named}, {judges} judges, all arms {100 * gain:+.0f}: any"
                line(text, any_arm, all_arms(gain), noise=noise, judges=judges)
        long = partial(line, noise=noise, heats=3)
        long(f"{named}, all arms -1, three heats: any", any_arm, all_arms(-0.01))
        for gain in (-0.01, 0.03, 0.05):
            text = f"{named}, one arm {100 * gain:+.0f}, three heats: that arm"
            long(text, that_arm, {ONE: gain})
        for gain in (-0.01, -0.03):
            later = {ONE: turns_after_the_first_heat(gain)}
            long(f"{named}, one arm +5, later {100 * gain:+.0f}: that arm", that_arm, later)
        turned = {ONE: TURNS_AFTER_HALF_TIME}
        line(f"{named}, one arm +10, -10 after half-time: that arm", that_arm, turned, noise=noise)


if __name__ == "__main__":
    main()
