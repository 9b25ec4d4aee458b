"""What is written down of a race in each window: who leads, and how the arms stand."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.weighters.race.standing import Standing


@dataclass(frozen=True)
class RaceRecord:
    """The state of a race after a window."""

    leader: str
    """the arm whose training goes on"""
    standings: Mapping[str, Standing] = field(default_factory=dict)
    """how each arm that runs stands against the baseline; empty outside of a heat"""
    dropped: tuple[str, ...] = ()
    """arms that left the heat at half-time, in this window"""
    ended: bool = False
    """whether a heat ended with this window"""
