"""Draw episodes from a class pool: the task at (seed, index) is a pure function of the two.

Shapes: `support_x [S, C, H, W]` float32 in 0..1, `support_y [S]` int64 in 0..ways-1, the same for
the query; images are ordered by label, and which class gets which label is random. Drawing a task
(`draw`) is separate from reading its pixels (`episode`), so statistics of tasks read no image.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from towpath.data.drawing import draw_rows, draw_shots, group_chances, wanted_groups
from towpath.data.drawn_task import Draw
from towpath.data.episode import Episode, Info
from towpath.data.errors import DataError
from towpath.data.noise import (
    LabelNoise,
    Noise,
    NoisyLabels,
    OffTarget,
    PoolNoise,
    Relabelled,
    noisy_labels,
)
from towpath.data.pool import NO_GROUP, ClassPool
from towpath.data.randomness import Draws
from towpath.data.spec import EpisodeSpec
from towpath.data.summary import Summary


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
    _noise: Noise | None = field(init=False, repr=False)
    _moved: Relabelled | None = field(init=False, repr=False)  # for noise that is in the pool

    def __post_init__(self) -> None:
        pool, spec = self.pool, self.spec
        drawn = wanted_groups(pool.groups, spec, f"{pool.name} ({pool.split})")
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
        auto = "uniform" if spec.within_group else "size"
        object.__setattr__(self, "_weights", group_chances(drawn, spec, auto))
        object.__setattr__(self, "_noise", spec.noise)
        object.__setattr__(self, "_moved", self._relabelled())

    def _relabelled(self) -> Relabelled | None:
        """The images in their wrong places, for noise that is the same in the whole training."""
        if isinstance(self._noise, OffTarget):
            raise DataError(
                f"noise_kind is 'off-target' with label_noise {self.spec.label_noise:g}, and one "
                "pool has no off-target tasks; expected a second pool. Use towpath.data.mix, or in "
                "a recipe data.mix."
            )
        if not isinstance(self._noise, PoolNoise):
            return None
        # No index of a task: the noise belongs to the training.
        draws = Draws(f"{self.stream}/noise {self.spec.noise_kind}", self.seed, 0)
        return self._noise.relabelled(self.pool, self.spec.label_noise, draws)

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

    def draw(self, index: int) -> Draw:
        """Draw the classes, rows and labels of the task at `index`, without reading an image."""
        if index < 0:
            raise DataError(f"Episode index {index} is negative; expected 0, 1, 2, ... Correct it.")
        spec = self.spec
        draws = Draws(self.stream, self.seed, index)
        group, classes = self._draw_classes(draws)
        requested = draw_shots(draws, spec, spec.ways)
        support, query, capped = [], [], []
        for position, wanted in zip(classes, requested, strict=True):
            rows = draw_rows(draws, self.pool.classes[position].count, wanted, spec.query)
            support.append(rows.support)
            query.append(rows.query)
            capped.append(rows.capped)
        labels = np.arange(spec.ways)
        support_y = np.repeat(labels, [len(rows) for rows in support])
        query_y = np.repeat(labels, spec.query)
        labelled = NoisyLabels(support_y, query_y)
        if isinstance(self._noise, LabelNoise):
            # A stream of its own, so that the noisy task is the clean one but for its labels.
            noise = Draws(f"{self.stream}/noise", self.seed, index)
            labelled = noisy_labels(
                self._noise, spec.label_noise, support_y, query_y, spec.ways, noise
            )
        elif self._moved is not None:
            places = [*zip(classes, support, strict=True), *zip(classes, query, strict=True)]
            wrong = sum(self._moved.wrong(position, rows) for position, rows in places)
            labelled = NoisyLabels(support_y, query_y, wrong / (len(support_y) + len(query_y)))
        return Draw(
            index,
            group,
            tuple(classes),
            tuple(support),
            tuple(query),
            labelled.support_y,
            labelled.query_y,
            tuple(capped),
            labelled.wrong_share > 0.0,
            labelled.wrong_share,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing: a class that is too small for the tasks is an error, not left out."""
        return ()

    def group_of(self, index: int) -> str:
        """Return the group of the task at `index`; empty where its classes are of several."""
        return self.draw(index).group

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
        taken = [self.take(position, own) for position, own in zip(classes, rows, strict=True)]
        # One pass over the bytes and one over the floats; division keeps 255 at exactly 1.
        samples = torch.from_numpy(np.concatenate(taken)).to(torch.float32)
        return samples.div_(self.pool.whole)

    def origins(self, position: int, rows: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Return where images of a task are filed rightly: class and row, for each.

        They differ from what is asked for only where noise in the pool moved an image.

        Args:
            position: the class that the task names.
            rows: which of its images, as drawn.
        """
        if self._moved is None:
            return [(position, int(row)) for row in rows]
        owners, own_rows = self._moved.classes[position][rows], self._moved.rows[position][rows]
        return list(zip(owners.tolist(), own_rows.tolist(), strict=True))

    def take(self, position: int, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return images of a class as tasks have them: where noise is in the pool, some of others.

        Args:
            position: the class, as an index into the pool's classes.
            rows: which of its images, numbered 0..count-1.
        """
        if self._moved is None:
            return self.pool.take(position, rows)
        return self._moved.take(self.pool, position, rows)

    def _info(self, draw: Draw) -> Info:
        entries = [self.pool.classes[position] for position in draw.classes]
        info: Info = {
            "index": draw.index,
            "seed": self.seed,
            "set": self.pool.name,
            "split": self.pool.split,
            "group": draw.group,
            "classes": [entry.name for entry in entries],
            "shots": list(draw.shots),
            "capped": any(draw.capped),
            "mislabelled": draw.mislabelled,
            "wrong": draw.wrong,
            "synthetic": self.pool.synthetic,
        }
        if not draw.group:  # a class may be called anything, so its name does not tell its group
            groups = [entry.group for entry in entries]
            info["class_groups"] = ["" if group == NO_GROUP else group for group in groups]
        return info if self._noise is None else {**info, "noise": self.spec.noise_kind}

    def summarise(self, indices: Iterable[int]) -> Summary:
        """Count groups, capped shots and mislabelled tasks of these episodes; no image is read."""
        return Summary.of(self.draw(index) for index in indices)
