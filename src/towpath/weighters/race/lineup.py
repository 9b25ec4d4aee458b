"""The arms of `auto`, and why each is among them."""

from towpath.weighters.protocol import Weighter
from towpath.weighters.rules.evidence import Evidence
from towpath.weighters.rules.uniform import Uniform
from towpath.weighters.tow.options import TOW

BASELINE = "evidence"


def line_up() -> dict[str, Weighter]:
    """Return the arms of `auto`, the baseline first."""
    return {
        # tasks whose labels say no more than shuffled ones are left out; all others weigh the same
        # unless there are many of the former
        BASELINE: Evidence(),
        "uniform": Uniform(),  # where those tasks were needed after all
        "evidence-easy": Evidence(easy_from=0.0),  # where easy tasks are the better teachers
        # where the deployment is another mix than the training tasks
        "tow-evidence": TOW.towards_targets(nominal=Evidence()),
    }
