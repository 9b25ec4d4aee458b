"""Draw episodes from a class pool: the task at (seed, index) is a pure function of the two.

Shapes: `support_x [S, C, H, W]` float32 in 0..1, `support_y [S]` int64 in 0..ways-1, the same for
the query; images are ordered by label, and which class gets which label is random. Drawing a task
(`draw`) is separate from reading its pixels (`episode`), so statistics of tasks read no image.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from towpath.data.draw import Draw
from towpath.data.episode import Episode
from towpath.data.errors import DataError
from towpath.data.pool import ClassPool
from towpath.data.randomness import Draws
from towpath.data.spec import ANY_SHOT_HIGH, ANY_SHOT_IMBALANCED, ANY_SHOT_LOW, EpisodeSpec
from towpath.data.summary import Summary
from towpath.wording import nearest


@dataclass(frozen=True, eq=False)
class EpisodeSampler:
    """Draws tasks from a pool.

    Samplers with the same seed and another `stream` (training, trusted, evaluation) draw
    independent tasks.
    """

    pool: ClassPool
    spec: EpisodeSpec = field(default_factory=EpisodeSpec)
    seed: int = 0
    stream: str = "episodes"
    _groups: tuple[tuple[str, tuple[int, ...]], ...] = field(init=False, repr=False)
    _weights: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        pool, spec = self.pool, self.spec
        groups = dict(pool.groups)
        if isinstance(spec.groups, str):
            drawn = groups
        else:
            for name in spec.groups:
                if name not in groups:
                    raise DataError(
                        f"groups names {name!r}, and {pool.name} ({pool.split}) has no such group; "
                        f"expected some of {', '.join(groups)}.{nearest(name, groups)} Correct it."
                    )
            drawn = {name: groups[name] for name in groups if spec.groups.get(name, 0.0) > 0.0}
        if spec.within_group:
            eligible = {name: own for name, own in drawn.items() if len(own) >= spec.ways}
            if not eligible or (len(eligible) < len(drawn) and not isinstance(spec.groups, str)):
                name = max(set(drawn) - set(eligible), key=lambda group: len(drawn[group]))
                raise DataError(
                    f"{spec.ways}-way tasks within a group need {spec.ways} classes in it; group "
                    f"{name!r} of {pool.name} ({pool.split}) has {len(drawn[name])}. Lower ways, "
                    "choose other groups, or draw across groups with within_group=False."
                )
            drawn = eligible
        elif sum(len(own) for own in drawn.values()) < spec.ways:
            raise DataError(
                f"{spec.ways}-way tasks need {spec.ways} classes; {pool.name} ({pool.split}) has "
                f"{sum(len(own) for own in drawn.values())}. Lower ways or use another split."
            )
        self._check_images(drawn)
        object.__setattr__(self, "_groups", tuple(drawn.items()))
        object.__setattr__(self, "_weights", self._frequencies(drawn))

    def _check_images(self, drawn: dict[str, tuple[int, ...]]) -> None:
        needed = self.spec.images_needed
        entries = [self.pool.classes[position] for own in drawn.values() for position in own]
        small = [entry for entry in entries if entry.count < needed]
        if small:
            worst = min(small, key=lambda entry: entry.count)
            others = ""
            if len(small) > 1:
                others = f" ({len(small) - 1:,} other classes have too few as well)"
            raise DataError(
                f"Class {worst.name!r} of {self.pool.name} ({self.pool.split}) has {worst.count} "
                f"images; shots and query need {needed}{others}. Lower shots or query, or leave "
                f"small classes out with pool.at_least({needed})."
            )

    def _frequencies(self, drawn: dict[str, tuple[int, ...]]) -> NDArray[np.float64]:
        """Weight of each drawn group, summing to 1."""
        sizes = np.array([len(own) for own in drawn.values()], dtype=np.float64)
        kind = self.spec.groups
        if not isinstance(kind, str):
            weights = np.array([kind[name] for name in drawn], dtype=np.float64)
        elif kind == "zipf":
            names = list(drawn)
            by_size = sorted(range(len(names)), key=lambda i: (-sizes[i], names[i]))
            weights = np.empty(len(names))
            weights[by_size] = np.arange(1, len(names) + 1) ** -float(self.spec.zipf_exponent)
        elif kind == "size" or (kind == "auto" and not self.spec.within_group):
            weights = sizes
        else:
            weights = np.ones(len(drawn))
        return np.asarray(weights / weights.sum())

    @property
    def group_frequencies(self) -> dict[str, float]:
        """The probability of each group; groups with fewer classes than ways are never drawn."""
        names = [name for name, _ in self._groups]
        return dict(zip(names, self._weights.tolist(), strict=True))

    def _draw_classes(self, draws: Draws) -> tuple[str, list[int]]:
        ways = self.spec.ways
        if self.spec.within_group:
            name, own = self._groups[draws.weighted(self._weights)]
            return name, [own[i] for i in draws.distinct(len(own), ways)]
        positions = [position for _, own in self._groups for position in own]
        if self.spec.groups in ("auto", "size"):
            return "", [positions[i] for i in draws.distinct(len(positions), ways)]
        shares = np.concatenate(
            [
                np.full(len(own), weight / len(own))
                for (_, own), weight in zip(self._groups, self._weights, strict=True)
            ]
        )
        return "", [positions[i] for i in draws.weighted_distinct(shares, ways)]

    def _draw_shots(self, draws: Draws) -> list[int]:
        spec = self.spec
        if isinstance(spec.shots, int):
            return [spec.shots] * spec.ways
        if isinstance(spec.shots, tuple):
            return [draws.integer(*spec.shots)] * spec.ways
        if draws.uniform() < ANY_SHOT_IMBALANCED:
            return [draws.integer(ANY_SHOT_LOW, ANY_SHOT_HIGH) for _ in range(spec.ways)]
        return [draws.integer(ANY_SHOT_LOW, ANY_SHOT_HIGH)] * spec.ways

    def draw(self, index: int) -> Draw:
        """Draw the classes, rows and labels of the task at `index`, without reading an image."""
        if index < 0:
            raise DataError(f"Episode index {index} is negative; expected 0, 1, 2, ... Correct it.")
        spec = self.spec
        draws = Draws(self.stream, self.seed, index)
        group, classes = self._draw_classes(draws)
        requested = self._draw_shots(draws)
        support, query, capped = [], [], []
        for position, wanted in zip(classes, requested, strict=True):
            count = self.pool.classes[position].count
            k = min(wanted, count - spec.query)
            rows = draws.distinct(count, k + spec.query)
            support.append(rows[:k])
            query.append(rows[k:])
            capped.append(k < wanted)
        labels = np.arange(spec.ways)
        support_y = np.repeat(labels, [len(rows) for rows in support])
        query_y = np.repeat(labels, spec.query)
        mislabelled = False
        if spec.label_noise > 0.0:
            # A stream of its own, so that the noisy task is the clean one but for its labels.
            noise = Draws(f"{self.stream}/noise", self.seed, index)
            mislabelled = noise.uniform() < spec.label_noise
            if mislabelled and spec.noise_kind == "query":
                query_y = _permuted(query_y, noise)
            elif mislabelled:
                support_y = _permuted(support_y, noise)
        return Draw(
            index,
            group,
            tuple(classes),
            tuple(support),
            tuple(query),
            support_y,
            query_y,
            tuple(capped),
            mislabelled,
        )

    def episode(self, index: int) -> Episode:
        """Return the task at `index`, the same whenever and wherever it is drawn."""
        draw = self.draw(index)
        return Episode(
            self._pixels(draw.classes, draw.support),
            torch.from_numpy(draw.support_y),
            self._pixels(draw.classes, draw.query),
            torch.from_numpy(draw.query_y),
            self._info(draw),
        )

    def _pixels(
        self, classes: tuple[int, ...], rows: tuple[NDArray[np.int64], ...]
    ) -> torch.Tensor:
        taken = [self.pool.take(position, own) for position, own in zip(classes, rows, strict=True)]
        # One pass over the bytes and one over the floats; division keeps 255 at exactly 1.
        return torch.from_numpy(np.concatenate(taken)).to(torch.float32).div_(255.0)

    def _info(self, draw: Draw) -> dict[str, Any]:
        entries = [self.pool.classes[position] for position in draw.classes]
        return {
            "index": draw.index,
            "seed": self.seed,
            "set": self.pool.name,
            "split": self.pool.split,
            "group": draw.group,
            "classes": [entry.name for entry in entries],
            "shots": list(draw.shots),
            "capped": any(draw.capped),
            "mislabelled": draw.mislabelled,
            "synthetic": self.pool.synthetic,
        }

    def summarise(self, indices: Iterable[int]) -> Summary:
        """Count groups, capped shots and mislabelled tasks of these episodes; no image is read."""
        return Summary.of(self.draw(index) for index in indices)


def _permuted(labels: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
    """The labels in a random order that is not the old one."""
    while True:
        shuffled = labels[draws.distinct(len(labels), len(labels))]
        if not np.array_equal(shuffled, labels):
            return shuffled
