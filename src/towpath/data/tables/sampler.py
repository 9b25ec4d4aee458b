"""Draw episodes from a table pool: the task at (seed, index) is a pure function of the two.

An episode takes rows of one task of the table (an assay, a customer, a sensor). Shapes:
`support_x [S, D]` float32, standardised by the training tasks; `support_y [S]` int64 in 0..ways-1,
or `[S, 1]` float32 in units of the task's own `TargetScale` for regression; the same for the query.

Classification draws `ways` classes of the task, with `shots` + `query` rows each. Where all tasks
share the same `ways` classes (inactive, active), class k is output k in every episode, as it is
when the trained learner predicts: what "active" means carries over from task to task. Otherwise the
classes are drawn, and which one gets which label is random, as for images. Regression draws `shots`
+ `query` rows, and `ways` is not used.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from towpath.data.drawing import draw_rows, draw_shots, group_chances, wanted_groups
from towpath.data.episode import Episode, Info
from towpath.data.errors import DataError
from towpath.data.noise import NOISE_KINDS, LabelNoise, NoisyLabels, noise_named, noisy_labels
from towpath.data.randomness import Draws
from towpath.data.spec import EpisodeSpec
from towpath.data.summary import Summary
from towpath.data.tables.pool import TablePool
from towpath.data.tables.table_task import TableTask
from towpath.data.tables.targets import TargetScale
from towpath.wording import quoted


@dataclass(frozen=True, eq=False)
class TableDraw:
    """What an episode consists of: a task, codes of its classes, and rows of the features."""

    index: int
    task: TableTask
    classes: tuple[int, ...]  # [ways]; empty for regression
    support: NDArray[np.int64]  # [S]
    query: NDArray[np.int64]  # [Q]
    support_y: NDArray[np.int64] | NDArray[np.float64]  # [S], class labels or targets as read
    query_y: NDArray[np.int64] | NDArray[np.float64]  # [Q]
    shots: tuple[int, ...]  # per class
    capped: tuple[bool, ...]  # per class: fewer shots than drawn, for want of rows
    wrong: float  # wrong labels divided by all labels, support and query

    @property
    def group(self) -> str:
        """The group of the task."""
        return self.task.group

    @property
    def mislabelled(self) -> bool:
        """Whether any label is wrong on purpose."""
        return self.wrong > 0.0


@dataclass(frozen=True, eq=False)
class TableSampler:
    """Draws tasks from a table.

    Tasks with too few rows, or too few classes with enough rows, are left out; `notes` says how
    many. `groups: auto` draws every task alike, so a group by its number of tasks.
    """

    pool: TablePool
    spec: EpisodeSpec = field(default_factory=EpisodeSpec)
    seed: int = 0
    stream: str = "episodes"
    _enough: TablePool = field(init=False, repr=False)
    _groups: tuple[tuple[str, tuple[int, ...]], ...] = field(init=False, repr=False)
    _weights: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        pool, spec = self.pool, self.spec
        where = f"{pool.name} ({pool.split})"
        self._check_noise()
        wanted_groups(pool.groups, spec, where)  # of all tasks: a name may be right and too small
        enough = pool.at_least(spec.images_needed, max(2, spec.ways))
        drawn = {
            name: own
            for name, own in enough.groups.items()
            if isinstance(spec.groups, str) or spec.groups.get(name, 0.0) > 0.0
        }
        if not drawn:
            raise DataError(
                f"No task of the groups that are drawn from {where} has enough rows; expected "
                f"{spec.images_needed} rows a class for shots and query. Lower them, or choose "
                "other groups."
            )
        object.__setattr__(self, "_enough", enough)
        object.__setattr__(self, "_groups", tuple(drawn.items()))
        object.__setattr__(self, "_weights", group_chances(drawn, spec, auto="size"))

    def _check_noise(self) -> None:
        noise, kind = self.spec.noise, self.spec.noise_kind
        if noise is None or (isinstance(noise, LabelNoise) and not self._lacks_classes(noise)):
            return
        known = [
            name
            for name in NOISE_KINDS
            if isinstance(made := noise_named(name), LabelNoise) and not self._lacks_classes(made)
        ]
        what = "the numbers of a regression" if self.pool.is_regression else "the rows of a table"
        raise DataError(
            f"noise_kind is {kind!r}, which cannot be made of {what}; expected one of "
            f"{', '.join(known)}. Choose another kind, or set label_noise to 0."
        )

    def _lacks_classes(self, noise: LabelNoise) -> bool:
        return self.pool.is_regression and noise.needs_classes

    @property
    def group_frequencies(self) -> dict[str, float]:
        """The probability of each group; groups without a task of enough rows are never drawn."""
        names = [name for name, _ in self._groups]
        return dict(zip(names, self._weights.tolist(), strict=True))

    @property
    def notes(self) -> tuple[str, ...]:
        """What the table warns of, and a sentence on the tasks that are left out, if any."""
        kept = {task.name for task in self._enough.tasks}
        missing = [task.name for task in self.pool.tasks if task.name not in kept]
        if not missing:
            return self.pool.cautions
        spec, rows = self.spec, self.spec.images_needed
        needed = f"{rows}" if self.pool.is_regression else f"{rows} of each of {spec.ways} classes"
        return (
            *self.pool.cautions,
            f"{len(missing):,} of {len(self.pool):,} {self.pool.split} tasks have fewer rows than "
            f"an episode takes ({needed}) and are left out: {quoted(missing[0])}"
            f"{' and others' if len(missing) > 1 else ''}",
        )

    @cached_property
    def common_classes(self) -> tuple[str, ...]:
        """The classes in the order of their labels, where that is the same in every episode."""
        shared = {task.labels for task in self._enough.tasks}
        first = next(iter(shared))
        fixed = len(shared) == 1 and len(first) == self.spec.ways
        return first if fixed and not self.pool.classes_are_drawn else ()

    def draw(self, index: int) -> TableDraw:
        """Draw the task, rows and labels of the episode at `index`, without reading a feature."""
        if index < 0:
            raise DataError(f"Episode index {index} is negative; expected 0, 1, 2, ... Correct it.")
        spec = self.spec
        draws = Draws(self.stream, self.seed, index)
        _, own = self._groups[draws.weighted(self._weights)]
        task = self._enough.tasks[own[draws.integer(0, len(own) - 1)]]
        classes = self._draw_classes(draws, task)
        requested = draw_shots(draws, spec, max(1, len(classes)))
        parts = [np.flatnonzero(task.targets == code) for code in classes]
        places = parts if classes else [np.arange(len(task))]
        rows = [
            draw_rows(draws, len(place), shots, spec.query)
            for place, shots in zip(places, requested, strict=True)
        ]
        pairs = list(zip(places, rows, strict=True))
        support = np.concatenate([place[part.support] for place, part in pairs])
        query = np.concatenate([place[part.query] for place, part in pairs])
        shots = tuple(len(part.support) for part in rows)
        support_y, query_y = task.targets[support], task.targets[query]
        if classes:
            labels = np.arange(len(classes))
            support_y, query_y = np.repeat(labels, shots), np.repeat(labels, spec.query)
        noisy = self._noisy(index, NoisyLabels(support_y, query_y))
        return TableDraw(
            index,
            task,
            classes,
            task.rows[support],
            task.rows[query],
            noisy.support_y,
            noisy.query_y,
            shots,
            tuple(part.capped for part in rows),
            noisy.wrong_share,
        )

    def _noisy(self, index: int, right: NoisyLabels) -> NoisyLabels:
        """Return the labels of the episode at `index` after the noise, if it is a noisy one."""
        spec, noise = self.spec, self.spec.noise
        if not isinstance(noise, LabelNoise):
            return right
        # A stream of its own, so that the noisy task is the clean one but for its labels.
        draws = Draws(f"{self.stream}/noise", self.seed, index)
        return noisy_labels(
            noise, spec.label_noise, right.support_y, right.query_y, spec.ways, draws
        )

    def _draw_classes(self, draws: Draws, task: TableTask) -> tuple[int, ...]:
        """Return the codes of the episode's classes, in the order of its labels."""
        if task.is_regression:
            return ()
        if self.common_classes:
            return tuple(range(self.spec.ways))
        return tuple(draws.distinct(len(task.labels), self.spec.ways).tolist())

    def group_of(self, index: int) -> str:
        """Return the group of the task at `index`."""
        return self.draw(index).task.group

    def episode(self, index: int) -> Episode:
        """Return the task at `index`, the same whenever and wherever it is drawn."""
        draw = self.draw(index)
        info = self._info(draw)
        if draw.classes:
            support_y, query_y = torch.from_numpy(draw.support_y), torch.from_numpy(draw.query_y)
        else:
            scale = TargetScale.of(draw.support_y, self.spread)
            info |= {"target_mean": scale.mean, "target_scale": scale.scale}
            support_y = torch.from_numpy(scale.apply(draw.support_y))[:, None]
            query_y = torch.from_numpy(scale.apply(draw.query_y))[:, None]
        return Episode(
            self._inputs(draw.support), support_y, self._inputs(draw.query), query_y, info
        )

    def _inputs(self, rows: NDArray[np.int64]) -> torch.Tensor:
        return torch.from_numpy(self.pool.take(rows))

    @property
    def spread(self) -> float:
        """The standard deviation of the training tasks' targets; 1 for a pool made by hand."""
        known = self.pool.target_scaling
        return 1.0 if known is None else float(known.scale[0])

    def _info(self, draw: TableDraw) -> Info:
        task, labels = draw.task, [draw.task.labels[code] for code in draw.classes]
        rows = [*draw.support.tolist(), *draw.query.tolist()]
        return {
            "index": draw.index,
            "seed": self.seed,
            "set": self.pool.name,
            "split": self.pool.split,
            "group": task.group,
            # what people look up again: the assay, or the classes where those are drawn
            "task": "" if self.pool.classes_are_drawn else task.name,
            "classes": labels if self.pool.classes_are_drawn else [task.name],
            "labels": labels,
            "shots": list(draw.shots),
            "capped": any(draw.capped),
            "mislabelled": draw.mislabelled,
            "wrong": draw.wrong,
            "synthetic": self.pool.synthetic,
            "rows": [self.pool.row_name(row) for row in rows],
        }

    def summarise(self, indices: Iterable[int]) -> Summary:
        """Count groups, capped shots and mislabelled tasks of these episodes; no row is read."""
        return Summary.of(self.draw(index) for index in indices)
