"""Noise on purpose, by name: labels of a task, labels of a pool's images, tasks of another set.

A *label noise* acts on one drawn task (`labels`), a *pool noise* once on a whole pool (`pools`),
and off-target tasks come from another pool (`towpath.data.mix`). Recipes name them; `kinds` has
the registry.
"""

from towpath.data.noise.kinds import NOISE_KINDS, Noise, OffTarget, noise_named
from towpath.data.noise.labels import Flipped, LabelNoise, NoisyLabels, Permuted, noisy_labels
from towpath.data.noise.pools import DealtClasses, MovedImages, PoolNoise, Relabelled

__all__ = [
    "NOISE_KINDS",
    "DealtClasses",
    "Flipped",
    "LabelNoise",
    "MovedImages",
    "Noise",
    "NoisyLabels",
    "OffTarget",
    "Permuted",
    "PoolNoise",
    "Relabelled",
    "noise_named",
    "noisy_labels",
]
