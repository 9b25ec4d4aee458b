"""What is written down of a race in each window: who leads, how the arms stand, and why."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.metrics import METRICS
from towpath.weighters.race.judges import ACCURACY
from towpath.weighters.race.standing import Standing


@dataclass(frozen=True)
class RaceRecord:
    """The state of a race after a window."""

    leader: str
    """the arm whose training goes on"""
    led: str = ""
    """the arm that led until this window; empty if that is the leader"""
    standings: Mapping[str, Standing] = field(default_factory=dict)
    """how each arm that runs stands against the baseline; empty outside of a heat"""
    metric: str = ACCURACY
    """the name of what gains are measured in, such as the accuracy; a gain of a metric of which
    smaller is better is its decrease"""
    share: float = 0.0
    """at the end of a heat: the largest chance at which an arm's gain was clear of the baseline"""
    dropped: tuple[str, ...] = ()
    """arms that left the heat at half-time, in this window"""
    broke: tuple[str, ...] = ()
    """arms that left it in this window because their plans failed"""
    ended: bool = False
    """whether a heat ended with this window"""

    @property
    def best(self) -> str | None:
        """The arm of the largest gain; None where none was judged."""
        return max(self.standings, key=lambda name: self.standings[name].gain, default=None)

    @property
    def decides(self) -> bool:
        """Whether something was decided in this window."""
        return self.ended or bool(self.dropped or self.broke)

    def decision(self) -> str:
        """Return what was decided in this window, in a few words; empty if nothing was."""
        parts = []
        if self.broke:
            parts.append(f"{', '.join(self.broke)} broke")
        if self.dropped:
            parts.append(f"{', '.join(self.dropped)} dropped at half-time")
        if self.ended:
            parts.append(f"{self.leader} {'leads' if self.led else 'still leads'}")
        return "; ".join(parts)

    def reason(self) -> str:
        """Return the evidence: the leader's gain, or the best one if that was not enough.

        At half-time it is that of the arms that were dropped.
        """
        if self.dropped and not self.ended:
            judged = [name for name in self.dropped if name in self.standings]
            return "; ".join(f"{name}: {self.evidence(name)}" for name in judged)
        if self.leader in self.standings:
            return self.evidence(self.leader)
        if self.best is None:
            return "nothing was judged"
        return f"best {self.best}: {self.evidence(self.best)}"

    def evidence(self, name: str) -> str:
        """Return the gain of an arm that was judged and how sure it is."""
        one = self.standings[name]
        if one.gain == math.inf:
            return "finite on the judges where what it is compared with is not"
        if not math.isfinite(one.gain):
            return "not finite on the judges"
        metric = METRICS[self.metric]
        if metric.percent:
            gain = f"{metric.scale * one.gain:+.1f} points"
        else:
            gain = f"{one.gain:+.4f} of {metric.words}"
        judges = f"{one.judges} judge{'' if one.judges == 1 else 's'}"
        if math.isinf(one.t):  # without any scatter
            return f"{gain} on each of {judges}"
        return f"{gain} on {judges}, t = {one.t:.1f}"
