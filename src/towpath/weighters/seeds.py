"""Seeds of a plan: all of its randomness comes from one integer."""

from towpath.objective.draws import derived_seed


def stage_seed(seed: int, stage: int) -> int:
    """One seed per window and stage: the same masks and signs wherever costs are compared."""
    return derived_seed(seed, stage)
