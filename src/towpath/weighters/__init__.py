"""Who decides the weights of the tasks: TOW and simpler rules, behind one call."""

from towpath.weighters.plan import Plan
from towpath.weighters.tow import TOW

__all__ = ["TOW", "Plan"]
