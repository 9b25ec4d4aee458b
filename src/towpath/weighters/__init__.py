"""The weighters, which decide the weights of the tasks: TOW and simpler rules, behind one call."""

from towpath.weighters.card import Card, Point
from towpath.weighters.kinds import Kinds
from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.pds import PDS
from towpath.weighters.plan import Plan
from towpath.weighters.protocol import JudgingWeighter, Weighter, wants_judges, wants_targets
from towpath.weighters.race.race import Race
from towpath.weighters.registry import WEIGHTERS, WeighterEntry
from towpath.weighters.rules.agreement import MGDA, GradientAgreement
from towpath.weighters.rules.balancing import DWA, FAMO, Uncertainty
from towpath.weighters.rules.chance import AboveChance
from towpath.weighters.rules.evidence import Evidence
from towpath.weighters.rules.exploration import Dirichlet, Exploitation, Exploration, Gamma
from towpath.weighters.rules.influence import L2RW, OPUS, DoGE
from towpath.weighters.rules.lookahead import MWLMAML, AutoLambda, Nested
from towpath.weighters.rules.matching import AlphaMAML
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.network import MetaWeightNet
from towpath.weighters.rules.oracle import Oracle
from towpath.weighters.rules.robust import TRMAML, CVaR, GroupDRO
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.schedule import FineTune, TrustedOnly
from towpath.weighters.rules.scheduler import ATS
from towpath.weighters.rules.selection import Mixture, Trim
from towpath.weighters.rules.uniform import Random, Uniform
from towpath.weighters.tow.options import TOW
from towpath.weighters.windowed import Windowed

__all__ = [
    "ATS",
    "DWA",
    "FAMO",
    "L2RW",
    "MGDA",
    "MWLMAML",
    "NOTHING_MUTED",
    "OPUS",
    "PDS",
    "TOW",
    "TRMAML",
    "WEIGHTERS",
    "AboveChance",
    "AlphaMAML",
    "AutoLambda",
    "CVaR",
    "Card",
    "Dirichlet",
    "DoGE",
    "Evidence",
    "Exploitation",
    "Exploration",
    "FineTune",
    "Gamma",
    "GradientAgreement",
    "GroupDRO",
    "JudgingWeighter",
    "Kinds",
    "MetaWeightNet",
    "MiniBatch",
    "MiniBatchWeighter",
    "Mixture",
    "Muted",
    "Nested",
    "Oracle",
    "Plan",
    "Point",
    "Race",
    "Random",
    "Trim",
    "TrustedOnly",
    "Uncertainty",
    "Uniform",
    "Weighter",
    "WeighterEntry",
    "Windowed",
    "wants_judges",
    "wants_targets",
]
