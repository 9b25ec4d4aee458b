"""Seeds of a plan: all of its randomness comes from one integer."""

from towpath.objective.draws import derived_seed


def stage_seed(seed: int, stage: int) -> int:
    """Return one seed per window and stage, so that compared costs use the same random draws."""
    return derived_seed(seed, stage)
