"""The arms of `auto`, and why each is among them."""

from towpath.weighters.protocol import Weighter
from towpath.weighters.rules.exploration import Exploitation
from towpath.weighters.rules.influence import OPUS
from towpath.weighters.rules.selection import Mixture
from towpath.weighters.rules.uniform import Uniform
from towpath.weighters.tow.options import TOW

BASELINE = "uniform"


def line_up() -> dict[str, Weighter]:
    """Return the arms of `auto`, the baseline first."""
    return {
        BASELINE: Uniform(),
        "mixture": Mixture(),  # the best where wrong tasks have high losses
        "exploitation": Exploitation(),  # a mild form of it, good where the mixture is too much
        "opus": OPUS(),  # one step ahead towards the targets, at little cost
        # the plan: never bad; in its fast form, or it would be half of what a heat costs
        "tow-targets-fast": TOW.towards_targets(query_share="auto"),
    }
