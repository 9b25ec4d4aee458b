"""The arms of `auto`, and why each is among them."""

from towpath.weighters.protocol import Weighter
from towpath.weighters.rules.evidence import Evidence
from towpath.weighters.rules.uniform import Uniform
from towpath.weighters.tow.options import TOW

BASELINE = "evidence"


def line_up() -> dict[str, Weighter]:
    """Return the arms of `auto`, the baseline first."""
    return {
        # uniform weights for all tasks but those whose labels say no more than shuffled ones
        BASELINE: Evidence(),
        "uniform": Uniform(),  # where those tasks were needed after all
        "evidence-easy": Evidence(concentration=1.2),  # where easy tasks are the better teachers
        # where the deployment is another mix than the training tasks
        "tow-evidence": TOW.towards_targets(nominal=Evidence()),
    }
