"""What judging costs beside the leader: python -m benchmarks race_cost.

A race is trained through its first two heats. In each of their windows, and in a few outside of
them, the leader alone and uniform weights alone plan the same window from the same state, one after
the other: what the race takes more than its leader is the cost of losing arms and judges. A run of
400 steps has these two heats, one of 2,000 steps a third that is like the second. Bounds, as shares
of uniform's processor time: 0.6 and 0.2.
"""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from benchmarks.measure import Stopwatch, prepare_process, write
from benchmarks.windows import real_set
from towpath.recipes.reading import read_recipe
from towpath.runs.records import StepRecord
from towpath.training import train_step
from towpath.training.setup import Setup, prepare
from towpath.training.state import TrainState
from towpath.weighters import Race, wants_targets
from towpath.weighters.race.record import RaceRecord

BOUNDS = {400: 0.6, 2000: 0.2}
OUTSIDE = 4
"""windows outside of heats of which one is timed: there a race does what its leader does"""
SETTINGS = {"40 per cent wrong labels": 0.4, "no wrong labels": 0.0}


@dataclass
class Times:
    """Processor seconds of windows, each a race, its leader alone and uniform weights alone."""

    uniform: list[float] = field(default_factory=list)
    heats: list[float] = field(default_factory=lambda: [0.0])
    """what the race took more than its leader, by heat"""
    outside: list[float] = field(default_factory=list)
    """the same, in windows outside of heats"""

    def share(self, steps: int, heats: int, T: int) -> float:
        """Judging in a run of so many steps and heats, as a share of uniform's time.

        The window of a heat costs hardly more at one step of a run than at another, so heats that
        were not trained here count as the last one did.
        """
        windows = steps // T
        judging = sum(self.heats[min(i, len(self.heats) - 1)] for i in range(heats))
        watching = max(0.0, statistics.median(self.outside)) * windows
        return (judging + watching) / (statistics.median(self.uniform) * windows)


def prepared(noise: float, seed: int) -> Setup:
    """The setting of docs/results with `auto`."""
    options = {
        "data.name": real_set(),
        "seed": seed,
        "optimizer.meta_lr": 0.001,
        "episodes.query": 5,
        "episodes.label_noise": noise,
        "weighter.name": "auto",
        "threads": 1,
        "validation.every": 0,
    }
    return prepare(read_recipe("omniglot-noise", [(k, str(v)) for k, v in options.items()]))


def seconds(run: Callable[[], object]) -> float:
    """Processor seconds of a call."""
    with Stopwatch() as watch:
        run()
    return watch.seconds


def timed_alone(setup: Setup, state: TrainState, rule: str) -> float:
    """Processor seconds of the next window with a rule alone, from what it remembers in a race."""
    race, memory = setup.weighter, state.weighter_state or {"rules": {}}
    assert isinstance(race, Race)
    weighter = race.rules[rule]
    alone = replace(state, weighter_state=memory["rules"].get(rule))
    window, targets = setup.window(state.window, setup.recipe.training.steps)
    goals = targets if wants_targets(weighter) else None
    return seconds(
        lambda: train_step(
            alone,
            window,
            objective=setup.objective,
            weighter=weighter,
            targets=goals,
            seed=setup.recipe.seed,
        )
    )


def raced(setup: Setup, state: TrainState) -> tuple[float, TrainState, RaceRecord]:
    """Train the next window with the race; its processor seconds, too."""
    window, targets = setup.window(state.window, setup.recipe.training.steps)
    with Stopwatch() as watch:
        after, records = train_step(
            state,
            window,
            objective=setup.objective,
            weighter=setup.weighter,
            targets=targets,
            judges=setup.judges(state.window),
            seed=setup.recipe.seed,
        )
    record = records[0]
    assert isinstance(record, StepRecord)
    assert record.plan is not None
    assert record.plan.race is not None
    return watch.seconds, after, record.plan.race


def trained(setup: Setup, heats: int = 2) -> Times:
    """Train through some heats and time their windows."""
    race = setup.weighter
    assert isinstance(race, Race)
    times, state, leader = Times(), setup.start, race.baseline
    while len(times.heats) <= heats:
        before = state
        spent, state, record = raced(setup, state)
        in_heat = bool(record.standings) or (state.weighter_state or {})["heat"] is not None
        if not in_heat and state.window % OUTSIDE:
            continue
        uniform = timed_alone(setup, before, race.baseline)
        times.uniform.append(uniform)
        own = uniform if leader == race.baseline else timed_alone(setup, before, leader)
        if in_heat:
            times.heats[-1] += spent - own
        else:
            times.outside.append(spent - own)
        if record.ended:
            print(f"  step {state.step}: {record.decision()} ({record.reason()})", flush=True)
            times.heats.append(0.0)
        leader = record.leader
    times.heats.pop()
    return times


def main() -> None:
    """Both settings, which have different leaders."""
    prepare_process()
    print("\n== judging, as a share of uniform's processor time")
    rows = {}
    for name, noise in SETTINGS.items():
        setup = prepared(noise, seed=7)
        times = trained(setup)
        assert isinstance(setup.weighter, Race)
        schedule = setup.weighter.heats.schedule
        for steps, bound in BOUNDS.items():
            count = sum(schedule.begins(heats) < steps for heats in range(10))
            share = times.share(steps, count, setup.recipe.training.horizon)
            rows[f"{name}, {steps} steps"] = share
            within = "within" if share <= bound else "NOT within"
            print(f"  {name}, {steps:,} steps: {share:.2f}   {within} {bound}", flush=True)
    write("race_cost", {"shares": rows})


if __name__ == "__main__":
    main()
