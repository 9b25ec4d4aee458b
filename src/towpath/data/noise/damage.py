"""How wrong a task is, read from what the task records of itself (`Episode.info`).

`mislabelled` says whether any label is wrong, `wrong` which share of them, `noise` by which kind,
and `off_target` whether the task is of another set than the training's own.
"""

from collections.abc import Mapping

from towpath.data.noise.kinds import NOISE_KINDS, noise_named

MOSTLY = 0.5
"""damage from which a task counts as a wrong one"""


def damage_of(info: Mapping[str, object]) -> float:
    """Return how wrong a task was made on purpose, 0 (clean) to 1.

    A noise that spoils single tasks spoils them as a whole: 1 for an off-target task and for one
    with permuted or flipped labels, however many. A noise that sits in the pool leaves hardly any
    task clean, so that its share of wrong labels is returned.

    Args:
        info: what a task records of itself; tasks of old runs record `mislabelled` only.
    """
    if info.get("off_target"):
        return 1.0
    if not info.get("mislabelled"):
        return 0.0
    kind, share = info.get("noise"), info.get("wrong")
    if isinstance(kind, str) and kind in NOISE_KINDS and isinstance(share, int | float):
        return float(share) if noise_named(kind).in_every_task else 1.0
    return 1.0


def mostly_wrong(info: Mapping[str, object]) -> bool:
    """Return whether a task was made wrong on purpose, as a whole or for the most part."""
    return damage_of(info) >= MOSTLY
