"""The weighters by the name that a recipe and `towpath compare` give them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from towpath.weighters.agreement import GradientAgreement, Oracle
from towpath.weighters.exploration import Exploitation, Exploration
from towpath.weighters.protocol import Weighter
from towpath.weighters.robust import CVaR, GroupDRO
from towpath.weighters.tow import TOW
from towpath.weighters.uniform import Random, Uniform


@dataclass(frozen=True)
class WeighterEntry:
    """How a weighter is made, and whether it plans towards the trusted tasks."""

    make: Callable[..., Weighter]
    presets: Mapping[str, Any] = field(default_factory=dict)
    """options that differ from the class's defaults"""
    targets: bool = False


def _tow(preset: TOW, *, targets: bool = False) -> WeighterEntry:
    default = TOW()
    names = [option.name for option in fields(TOW)]
    differs = {n: v for n in names if (v := getattr(preset, n)) != getattr(default, n)}
    return WeighterEntry(TOW, differs, targets)


WEIGHTERS: dict[str, WeighterEntry] = {
    "uniform": WeighterEntry(Uniform),
    "random": WeighterEntry(Random),
    "exploration": WeighterEntry(Exploration),
    "exploitation": WeighterEntry(Exploitation),
    "gradient-agreement": WeighterEntry(GradientAgreement),
    "cvar": WeighterEntry(CVaR),
    "group-dro": WeighterEntry(GroupDRO),
    "oracle": WeighterEntry(Oracle),
    "tow": _tow(TOW()),
    "tow-auto": _tow(TOW(beta="auto")),
    "tow-faithful": _tow(TOW.faithful()),
    "tow-fast": _tow(TOW.fast()),
    "tow-targets": _tow(TOW.towards_targets(), targets=True),
    "tow-targets-fast": _tow(TOW.towards_targets(query_share="auto"), targets=True),
}
