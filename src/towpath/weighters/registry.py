"""The weighters by the name that a recipe and `towpath compare` give them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from towpath.weighters.protocol import Weighter
from towpath.weighters.rules.agreement import GradientAgreement, Oracle
from towpath.weighters.rules.exploration import Exploitation, Exploration
from towpath.weighters.rules.influence import L2RW, OPUS
from towpath.weighters.rules.robust import CVaR, GroupDRO
from towpath.weighters.rules.selection import Mixture, Trim
from towpath.weighters.rules.uniform import Random, Uniform
from towpath.weighters.tow.options import TOW


@dataclass(frozen=True)
class WeighterEntry:
    """How a weighter is made."""

    make: Callable[..., Weighter]
    presets: Mapping[str, Any] = field(default_factory=dict)
    """options that differ from the class's defaults"""

    def wants_targets(self, options: Mapping[str, Any]) -> bool:
        """Whether the weighter with these options wants trusted tasks, without making it."""
        known = {**self.presets, **options}
        return bool(known.get("wants_targets", getattr(self.make, "wants_targets", False)))


def _tow(preset: TOW) -> WeighterEntry:
    default = TOW()
    names = [option.name for option in fields(TOW)]
    differs = {n: v for n in names if (v := getattr(preset, n)) != getattr(default, n)}
    return WeighterEntry(TOW, differs)


WEIGHTERS: dict[str, WeighterEntry] = {
    "uniform": WeighterEntry(Uniform),
    "random": WeighterEntry(Random),
    "exploration": WeighterEntry(Exploration),
    "exploitation": WeighterEntry(Exploitation),
    "gradient-agreement": WeighterEntry(GradientAgreement),
    "cvar": WeighterEntry(CVaR),
    "group-dro": WeighterEntry(GroupDRO),
    "oracle": WeighterEntry(Oracle),
    "trim": WeighterEntry(Trim),
    "mixture": WeighterEntry(Mixture),
    "l2rw": WeighterEntry(L2RW),
    "opus": WeighterEntry(OPUS),
    "tow": _tow(TOW()),
    "tow-auto": _tow(TOW(beta="auto")),
    "tow-faithful": _tow(TOW.faithful()),
    "tow-fast": _tow(TOW.fast()),
    "tow-targets": _tow(TOW.towards_targets()),
    "tow-targets-fast": _tow(TOW.towards_targets(query_share="auto")),
}
