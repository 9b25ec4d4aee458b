"""Who decides the weights of the tasks: TOW and simpler rules, behind one call."""

from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.plan import Plan
from towpath.weighters.protocol import Weighter, wants_targets
from towpath.weighters.registry import WEIGHTERS, WeighterEntry
from towpath.weighters.rules.agreement import GradientAgreement, Oracle
from towpath.weighters.rules.exploration import Dirichlet, Exploitation, Exploration, Gamma
from towpath.weighters.rules.influence import L2RW, OPUS
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.robust import CVaR, GroupDRO
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.selection import Mixture, Trim
from towpath.weighters.rules.uniform import Random, Uniform
from towpath.weighters.tow.options import TOW

__all__ = [
    "L2RW",
    "NOTHING_MUTED",
    "OPUS",
    "TOW",
    "WEIGHTERS",
    "CVaR",
    "Dirichlet",
    "Exploitation",
    "Exploration",
    "Gamma",
    "GradientAgreement",
    "GroupDRO",
    "MiniBatch",
    "MiniBatchWeighter",
    "Mixture",
    "Muted",
    "Oracle",
    "Plan",
    "Random",
    "Trim",
    "Uniform",
    "Weighter",
    "WeighterEntry",
    "wants_targets",
]
