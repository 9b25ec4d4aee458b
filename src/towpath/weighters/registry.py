"""The registry of weighters, by the name that a recipe and `towpath compare` give them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from towpath.weighters.card import Card
from towpath.weighters.kinds import Kinds
from towpath.weighters.pds import PDS
from towpath.weighters.protocol import Weighter
from towpath.weighters.race import cards as race_cards
from towpath.weighters.race.race import Race
from towpath.weighters.rules.agreement import MGDA, GradientAgreement
from towpath.weighters.rules.balancing import DWA, FAMO, Uncertainty
from towpath.weighters.rules.chance import AboveChance
from towpath.weighters.rules.evidence import EASY as EVIDENCE_EASY
from towpath.weighters.rules.evidence import Evidence
from towpath.weighters.rules.exploration import Exploitation, Exploration
from towpath.weighters.rules.influence import L2RW, OPUS, DoGE
from towpath.weighters.rules.lookahead import MWLMAML, AutoLambda, Nested
from towpath.weighters.rules.matching import AlphaMAML
from towpath.weighters.rules.network import MetaWeightNet
from towpath.weighters.rules.oracle import Oracle
from towpath.weighters.rules.robust import TRMAML, CVaR, GroupDRO
from towpath.weighters.rules.schedule import FineTune, TrustedOnly
from towpath.weighters.rules.scheduler import ATS
from towpath.weighters.rules.selection import Mixture, Trim
from towpath.weighters.rules.uniform import Random, Uniform
from towpath.weighters.tow import cards as tow_cards
from towpath.weighters.tow.options import TOW


@dataclass(frozen=True)
class WeighterEntry:
    """A registered weighter: its class, the options of a preset, and its card."""

    make: Callable[..., Weighter]
    presets: Mapping[str, Any] = field(default_factory=dict)
    """options that differ from the class's defaults"""
    own_card: Card | None = None
    """the card of a preset, where the class has none that fits it"""

    @property
    def card(self) -> Card:
        """The description of the weighter that `towpath weighters` prints."""
        card = self.own_card or getattr(self.make, "card", None)
        assert isinstance(card, Card), f"{self.make} is registered and has no card"
        return card

    def wants_targets(self, options: Mapping[str, Any]) -> bool:
        """Return whether the weighter would want trusted tasks with these options."""
        known = {**self.presets, **options}
        return bool(known.get("wants_targets", getattr(self.make, "wants_targets", False)))


def _tow(preset: TOW, card: Card) -> WeighterEntry:
    default = TOW()
    names = [option.name for option in fields(TOW)]
    differs = {n: v for n in names if (v := getattr(preset, n)) != getattr(default, n)}
    return WeighterEntry(TOW, differs, card)


_TARGETS = _tow(TOW.towards_targets(), tow_cards.TARGETS)
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
    "above-chance": WeighterEntry(AboveChance),
    "tr-maml": WeighterEntry(TRMAML),
    "famo": WeighterEntry(FAMO),
    "dwa": WeighterEntry(DWA),
    "uncertainty": WeighterEntry(Uncertainty),
    "mgda": WeighterEntry(MGDA),
    "fine-tune": WeighterEntry(FineTune),
    "trusted-only": WeighterEntry(TrustedOnly),
    "l2rw": WeighterEntry(L2RW),
    "nested": WeighterEntry(Nested),
    "meta-weight-net": WeighterEntry(MetaWeightNet),
    "mwl-maml": WeighterEntry(MWLMAML),
    "alpha-maml": WeighterEntry(AlphaMAML),
    "auto-lambda": WeighterEntry(AutoLambda),
    "doge": WeighterEntry(DoGE),
    "opus": WeighterEntry(OPUS),
    "pds": WeighterEntry(PDS),
    "ats": WeighterEntry(ATS),
    "kinds": WeighterEntry(Kinds),
    "evidence": WeighterEntry(Evidence),
    "evidence-easy": WeighterEntry(Evidence, {"concentration": 1.2}, EVIDENCE_EASY),
    "tow": _tow(TOW(), tow_cards.TOW),
    "tow-auto": _tow(TOW(beta="auto"), tow_cards.AUTO),
    "tow-faithful": _tow(TOW.faithful(), tow_cards.FAITHFUL),
    "tow-fast": _tow(TOW.fast(), tow_cards.FAST),
    "tow-targets": _TARGETS,
    "tow-targets-fast": _tow(TOW.towards_targets(query_share="auto"), tow_cards.TARGETS_FAST),
    "tow-evidence": WeighterEntry(
        TOW, {**_TARGETS.presets, "nominal": "evidence"}, tow_cards.EVIDENCE
    ),
    "race": WeighterEntry(Race),
    "auto": WeighterEntry(Race, own_card=race_cards.AUTO),
}
