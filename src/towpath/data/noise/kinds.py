"""The kinds of noise by the name that `episodes.noise_kind` of a recipe gives them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from towpath.data.noise.labels import Flipped, LabelNoise, Permuted
from towpath.data.noise.pools import DealtClasses, MovedImages, PoolNoise


@dataclass(frozen=True)
class OffTarget:
    """A share of the tasks comes from another pool (`towpath.data.mix`); their labels are right."""

    share_of: ClassVar[str] = "tasks"
    in_every_task: ClassVar[bool] = False


Noise: TypeAlias = LabelNoise | PoolNoise | OffTarget

NOISE_KINDS: dict[str, Callable[[float, str], Noise]] = {
    "query": lambda _probability, _part: Permuted("query"),
    "support": lambda _probability, _part: Permuted("support"),
    "flip": Flipped,
    "images": lambda _probability, _part: MovedImages(),
    "classes": lambda _probability, _part: DealtClasses(),
    "off-target": lambda _probability, _part: OffTarget(),
}
"""makes the noise from `flip_probability` and `flip_part`, which only `flip` uses"""


def noise_named(kind: str, flip_probability: float = 0.8, flip_part: str = "both") -> Noise:
    """Return the noise of this name, which must be one of `NOISE_KINDS`.

    Args:
        kind: the name.
        flip_probability: of `flip`, the probability that a label of a noisy task flips.
        flip_part: of `flip`, the labels that flip: `support`, `query` or `both`.
    """
    return NOISE_KINDS[kind](flip_probability, flip_part)
