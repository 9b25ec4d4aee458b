"""The distribution of tasks: ways, shots, query, groups, and labels made wrong on purpose."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from towpath.data.errors import DataError
from towpath.data.noise.kinds import NOISE_KINDS, Noise, noise_named
from towpath.data.noise.labels import PARTS
from towpath.validation import Range
from towpath.wording import nearest

ANY_SHOT_LOW, ANY_SHOT_HIGH = 1, 50  # Lee et al. 2020, and the any-shot section of the paper
ANY_SHOT_IMBALANCED = 0.5
_ANY_SHOT = re.compile(r"any(-[1-9][0-9]{0,3})?")
GROUP_FREQUENCIES = ("auto", "uniform", "size", "zipf")


@dataclass(frozen=True)
class EpisodeSpec:
    """A distribution over few-shot tasks, of images or, where it says images, of rows of a table.

    Attributes:
        ways: classes in a task; a regression has none and does not use it. Its shots and query are
            those of the whole task.
        shots: support images a class: a number; a pair `(low, high)`, one k for the whole task,
            uniform, both ends included; or `"any"`, the any-shot setting: with probability 0.5
            every class draws its own k from 1..50, else one k serves all classes, and k is capped
            by the class's images less the query. `"any-10"` is the same with k from 1..10.
        query: query images a class.
        within_group: the classes of a task come from one group (an alphabet), or from all.
        groups: how often a group is drawn: `"uniform"`; `"size"`, by its number of classes;
            `"zipf"`, proportional to `1 / rank**zipf_exponent`, the largest group first; or a
            mapping from group to weight (groups left out are never drawn). `"auto"` is uniform
            within a group and, across groups, by size: every class alike. Of a table, it is every
            task alike, and `within_group` has no meaning: a task is of one group.
        zipf_exponent: how uneven groups are with `groups="zipf"`; 0 is uniform.
        label_noise: how much is made wrong on purpose, 0 to 1: a fraction of the tasks, of the
            images or of the classes, as `noise_kind` says.
        noise_kind: what is made wrong. `"query"` and `"support"`: that fraction of the tasks has
            its query or support labels permuted, independently task by task. `"flip"`: that
            fraction of the tasks is noisy, and in these every label becomes one of the other
            classes with `flip_probability`, but the support set keeps a sample of every class
            (with one shot, labels are exchanged among the samples that flip). `"images"`: that
            fraction of the pool's images carries another class's label; `"classes"`: the images of
            that fraction of the classes are dealt among these classes; both are decided once, by
            the seed. `"off-target"`: that fraction of the tasks comes from another pool
            (`towpath.data.mix`).
        flip_probability: of `"flip"`, the probability that a label of a noisy task flips.
        flip_part: of `"flip"`, whose labels flip: those of the `"support"` set, of the `"query"`
            set, or of `"both"`.
    """

    ways: int = 5
    shots: int | tuple[int, int] | str = 1
    query: int = 15
    within_group: bool = True
    groups: str | Mapping[str, float] = "auto"
    zipf_exponent: Annotated[float, Range(0, 100)] = 1.0
    label_noise: float = 0.0
    noise_kind: str = "query"
    flip_probability: Annotated[float, Range(0, 1)] = 0.8
    flip_part: str = "both"

    def __post_init__(self) -> None:
        _at_least("ways", self.ways, 2 if self.label_noise else 1)
        _at_least("query", self.query, 1)
        if isinstance(self.shots, list):  # YAML knows no tuples
            object.__setattr__(self, "shots", tuple(self.shots))
        if isinstance(self.shots, str):
            if _ANY_SHOT.fullmatch(self.shots) is None:
                raise DataError(
                    f"shots is {self.shots!r}; expected a number, a pair (low, high), 'any' or "
                    "'any-10'. Write shots='any' for the any-shot setting, 'any-10' for at most "
                    "10 shots."
                )
        elif isinstance(self.shots, tuple):
            if len(self.shots) != 2 or self.shots[0] > self.shots[1]:
                raise DataError(
                    f"shots is {self.shots}; expected a pair (low, high) with low <= high. "
                    "Write for instance shots=(1, 5)."
                )
            _at_least("the low end of shots", self.shots[0], 1)
        else:
            _at_least("shots", self.shots, 1)
        if isinstance(self.groups, str):
            _one_of("groups", self.groups, GROUP_FREQUENCIES)
        elif not any(self.groups.values()) or not all(
            math.isfinite(weight) and weight >= 0 for weight in self.groups.values()
        ):
            raise DataError(
                f"groups is {dict(self.groups)}; expected finite weights >= 0, at least one "
                "positive. Write for instance groups={'Greek': 3.0, 'Latin': 1.0}."
            )
        if not 0.0 <= self.label_noise <= 1.0:
            raise DataError(
                f"label_noise is {self.label_noise}; expected a fraction, 0 to 1. "
                "Write for instance label_noise=0.4."
            )
        if not self.zipf_exponent >= 0.0:
            raise DataError(
                f"zipf_exponent is {self.zipf_exponent}; expected a number >= 0. The usual is 1."
            )
        _one_of("noise_kind", self.noise_kind, tuple(NOISE_KINDS))
        _one_of("flip_part", self.flip_part, PARTS)
        if not 0.0 <= self.flip_probability <= 1.0:
            raise DataError(
                f"flip_probability is {self.flip_probability}; expected a probability, 0 to 1. The "
                "usual is 0.8."
            )

    @property
    def noise(self) -> Noise | None:
        """The noise object, or None where `label_noise` is 0."""
        if not self.label_noise:
            return None
        return noise_named(self.noise_kind, self.flip_probability, self.flip_part)

    @property
    def clean(self) -> "EpisodeSpec":
        """The same tasks without any noise."""
        return replace(self, label_noise=0.0)

    @property
    def any_shot_high(self) -> int | None:
        """The largest number of shots of the any-shot setting; None for any other setting."""
        if not isinstance(self.shots, str):
            return None
        return int(self.shots.partition("-")[2] or ANY_SHOT_HIGH)

    @property
    def fewest_images(self) -> int:
        """The number of images of a class that the smallest task uses, query included."""
        if isinstance(self.shots, str):
            return ANY_SHOT_LOW + self.query
        return (self.shots if isinstance(self.shots, int) else self.shots[0]) + self.query

    @property
    def images_needed(self) -> int:
        """The number of images that every class must have for any task, query included."""
        if isinstance(self.shots, str):
            return ANY_SHOT_LOW + self.query
        return (self.shots if isinstance(self.shots, int) else self.shots[1]) + self.query


def _at_least(name: str, value: int, low: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise DataError(f"{name} is {value!r}; expected a whole number >= {low}. Correct it.")


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise DataError(
            f"{name} is {value!r}; expected one of {', '.join(known)}.{nearest(value, known)} "
            "Correct it."
        )
