"""The course of a race: who takes part in a heat, who is dropped at half-time, who leads after it.

Nothing here trains or evaluates; it decides by scores alone, so it can be simulated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from towpath.weighters.race.memory import Branch, Heat, RaceMemory
from towpath.weighters.race.record import RaceRecord
from towpath.weighters.race.schedule import Schedule
from towpath.weighters.race.standing import best_half, chosen, rounding, standings


@dataclass(frozen=True)
class Heats:
    """The rules by which heats are run and decided.

    Args:
        arms: the names of all arms, the baseline first.
        schedule: when heats begin, and how long they last.
        level: the largest chance at which a heat chooses an arm although none is better, shared
            out among all arms.
        looks: how often the judges are evaluated in a heat.
    """

    arms: Sequence[str]
    schedule: Schedule
    level: float
    looks: int

    @property
    def baseline(self) -> str:
        """The arm that all others are compared with."""
        return self.arms[0]

    def due(self, memory: RaceMemory) -> bool:
        """Return whether it is time for another heat."""
        return memory.heat is None and memory.step >= self.schedule.begins(memory.heats)

    def begun(self, memory: RaceMemory, here: Branch) -> Heat:
        """Return a heat of all arms or, after the first, of the leader and whom it must beat.

        Args:
            memory: who leads, and what the arms gained before.
            here: the training, from which every branch sets out.
        """
        names = list(self.arms)
        if memory.heats:
            rest = [name for name in names if name not in (memory.leader, self.baseline)]
            best = sorted(rest, key=lambda name: -memory.gains.get(name, 0.0))[:1]
            names = [n for n in names if n in (memory.leader, self.baseline, *best)]
        return Heat(
            scores={name: [] for name in names},
            branches={name: here for name in names if name != memory.leader},
        )

    def look_due(self, memory: RaceMemory, heat: Heat, T: int) -> bool:
        """Return whether the arms are looked at after the window of T mini-batches just trained."""
        length = self.schedule.lasts(memory.heats)
        before = heat.trained - T
        return self.looks * heat.trained // length > self.looks * before // length

    def decide(self, memory: RaceMemory, heat: Heat) -> RaceRecord:
        """Drop arms at half-time, choose the leader at the end, and record how they stand."""
        led, running = memory.leader, [memory.leader, *heat.branches]
        seen = {name: heat.scores[name] for name in heat.scores if heat.scores[name]}
        comparable = len(seen) > 1 and self.baseline in seen
        found = standings(seen, self.baseline) if comparable else {}
        still = {name: one for name, one in found.items() if name in running}
        record = RaceRecord(led, standings=still, metric=heat.metric)
        length = self.schedule.lasts(memory.heats)
        if heat.trained >= length:
            share = self.level / (len(self.arms) - 1)  # of all arms, whoever is in this heat
            winner = chosen(still, share, led)
            memory.leader = winner or (self.baseline if self.baseline in running else led)
            memory.gains.update({name: one.gain for name, one in found.items()})
            memory.heats += 1
            memory.heat = None
            changed = led if memory.leader != led else ""
            return replace(record, leader=memory.leader, led=changed, share=share, ended=True)
        if not heat.halved and 2 * heat.trained >= length and still:
            heat.halved = True
            kept = {led, self.baseline, *best_half(still, rounding(seen.values()))}
            for name in [n for n in heat.branches if n not in kept]:
                del heat.branches[name]
            return replace(record, dropped=tuple(n for n in running if n not in kept))
        return record
