"""Who decides the weights of the tasks: TOW and simpler rules, behind one call."""

from towpath.weighters.agreement import GradientAgreement, Oracle
from towpath.weighters.exploration import Dirichlet, Exploitation, Exploration, Gamma
from towpath.weighters.minibatch import MiniBatchWeighter
from towpath.weighters.muted import NOTHING_MUTED, Muted
from towpath.weighters.plan import Plan
from towpath.weighters.protocol import Weighter
from towpath.weighters.registry import WEIGHTERS, WeighterEntry
from towpath.weighters.robust import CVaR, GroupDRO
from towpath.weighters.tow import TOW
from towpath.weighters.uniform import Random, Uniform

__all__ = [
    "NOTHING_MUTED",
    "TOW",
    "WEIGHTERS",
    "CVaR",
    "Dirichlet",
    "Exploitation",
    "Exploration",
    "Gamma",
    "GradientAgreement",
    "GroupDRO",
    "MiniBatchWeighter",
    "Muted",
    "Oracle",
    "Plan",
    "Random",
    "Uniform",
    "Weighter",
    "WeighterEntry",
]
