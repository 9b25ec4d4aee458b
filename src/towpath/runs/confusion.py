"""Which classes are told apart, and which are taken for each other, over the tasks of a test set.

A task of few-shot learning has a few of the classes only, so that A can be taken for B only where a
task has both. A pair (A, B) therefore has two counts: how many samples of A met B as a possible
answer, and how many of these were taken for B. For A = B these are the samples of A and those that
were recognised: the accuracy of the class.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from towpath.runs.plain import Json, JsonObject, is_count, object_of, text_at
from towpath.runs.task_values import NORMAL_95

Pair = tuple[int, int]
"""positions of two classes in the names: the true one, and the one that was predicted"""
Counts = Sequence[Sequence[int]]
"""`[ways][ways]`: the query samples of a task by their label and the predicted one"""


@dataclass(frozen=True)
class PairCount:
    """How often samples of one class were taken for another, or for their own."""

    met: int
    """samples of the true class in tasks that have the other class, too"""
    taken: int
    """those that were taken for it"""

    @property
    def share(self) -> float:
        """The share of the samples that were taken for the class."""
        return self.taken / self.met

    @property
    def surely(self) -> float:
        """The lower end of the 95% interval of the share (Wilson's), by which pairs are ranked.

        By the share itself, pairs that met in a single task would lead: five samples of five.
        """
        n, z = self.met, NORMAL_95
        centre = self.share + z * z / (2 * n)
        margin = z * math.sqrt(self.share * (1 - self.share) / n + z * z / (4 * n * n))
        return (centre - margin) / (1 + z * z / n)


@dataclass(frozen=True)
class ConfusedPair:
    """Two classes by name, and how often the first was taken for the second."""

    true: str
    predicted: str
    count: PairCount


@dataclass(frozen=True)
class Confusion:
    """The confusion matrix of a test set, by the names of its classes.

    Example:
        >>> first, second = (("cat", "dog"), [[3, 1], [0, 4]]), (("dog", "owl"), [[1, 1], [0, 2]])
        >>> seen = Confusion.of([first, second])
        >>> [(name, seen.accuracy(name), seen.tasks(name)) for name in seen.names]
        [('cat', 0.75, 1), ('dog', 0.8333333333333334, 2), ('owl', 1.0, 1)]
        >>> [(p.true, p.predicted, p.count.share) for p in seen.confused()]
        [('dog', 'owl', 0.5), ('cat', 'dog', 0.25)]
    """

    names: tuple[str, ...]
    """the classes that the tasks had, in alphabetical order"""
    in_tasks: tuple[int, ...]
    """the number of tasks that had each of them"""
    pairs: Mapping[Pair, PairCount]
    """the pairs of classes that met in a task; of equal classes, those that were recognised"""

    @classmethod
    def of(cls, tasks: Iterable[tuple[Sequence[str], Counts]]) -> "Confusion":
        """Add up the predictions of tasks.

        Args:
            tasks: for each, the names of its classes by label, and its counts.
        """
        met: Counter[tuple[str, str]] = Counter()
        taken: Counter[tuple[str, str]] = Counter()
        seen: Counter[str] = Counter()
        for names, counts in tasks:
            seen.update(set(names))
            for true, row in zip(names, counts, strict=True):
                for predicted, count in zip(names, row, strict=True):
                    met[true, predicted] += sum(row)
                    taken[true, predicted] += count
        order = sorted(seen)
        place = {name: i for i, name in enumerate(order)}
        return cls(
            tuple(order),
            tuple(seen[name] for name in order),
            {
                (place[a], place[b]): PairCount(met[a, b], taken[a, b])
                for a, b in sorted(met)
                if met[a, b]
            },
        )

    @classmethod
    def together(cls, parts: Sequence["Confusion"]) -> "Confusion":
        """Add up confusion matrices, such as those of the seeds of a method.

        Args:
            parts: the matrices, at least one; their classes may differ.
        """
        order = sorted({name for part in parts for name in part.names})
        place = {name: i for i, name in enumerate(order)}
        tasks: Counter[str] = Counter()
        met: Counter[Pair] = Counter()
        taken: Counter[Pair] = Counter()
        for part in parts:
            tasks.update(dict(zip(part.names, part.in_tasks, strict=True)))
            for (a, b), count in part.pairs.items():
                pair = place[part.names[a]], place[part.names[b]]
                met[pair] += count.met
                taken[pair] += count.taken
        counts = {pair: PairCount(met[pair], taken[pair]) for pair in sorted(met)}
        return cls(tuple(order), tuple(tasks[name] for name in order), counts)

    def accuracy(self, name: str) -> float:
        """Return the share of the class's samples that were recognised."""
        return self.pairs[self._at(name), self._at(name)].share

    def samples(self, name: str) -> int:
        """Return the number of query samples of a class."""
        return self.pairs[self._at(name), self._at(name)].met

    def tasks(self, name: str) -> int:
        """Return the number of tasks that had a class."""
        return self.in_tasks[self._at(name)]

    def worst(self) -> list[str]:
        """Return the classes, the one with the lowest accuracy first."""
        return sorted(self.names, key=lambda name: (self.accuracy(name), name))

    def confused(self) -> list[ConfusedPair]:
        """Return the pairs of different classes that were confused, the surest ones first."""
        found = [
            ConfusedPair(self.names[a], self.names[b], count)
            for (a, b), count in self.pairs.items()
            if a != b and count.taken
        ]
        return sorted(found, key=lambda p: (-p.count.surely, p.true, p.predicted))

    def _at(self, name: str) -> int:
        return self.names.index(name)

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the matrix."""
        return {
            "classes": list(self.names),
            "tasks": list(self.in_tasks),
            "pairs": [[a, b, n.met, n.taken] for (a, b), n in self.pairs.items()],
        }

    @classmethod
    def from_json(cls, content: JsonObject) -> "Confusion":
        """Return the matrix that a file holds; raise TypeError or KeyError if it has none."""
        names, tasks, pairs = content["classes"], content["tasks"], content["pairs"]
        if (
            not isinstance(names, list)
            or not isinstance(tasks, list)
            or not isinstance(pairs, list)
        ):
            raise TypeError("classes, tasks and pairs are not lists")
        if len(names) != len(tasks) or not all(is_count(count) for count in tasks):
            raise TypeError("tasks is not a number for each class")
        found: dict[Pair, PairCount] = {}
        for entry in pairs:
            if not isinstance(entry, list) or len(entry) != 4 or not all(map(is_count, entry)):
                raise TypeError(f"{entry!r} is not two classes and two counts")
            a, b, met, taken = entry
            if max(a, b) >= len(names) or not 0 <= taken <= met or not met:
                raise TypeError(f"{entry!r} is not two classes and two counts")
            found[a, b] = PairCount(met, taken)
        if any((i, i) not in found for i in range(len(names))):
            raise TypeError("a class has no samples")
        return cls(tuple(map(str, names)), tuple(tasks), found)


@dataclass(frozen=True)
class Confusions:
    """The content of a run's `confusion.json`: the matrix of each test set."""

    evaluations: str
    """digest of the `evaluations.json` that they belong to"""
    sets: Mapping[str, Confusion]

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `confusions_of` makes the object."""
        sets: dict[str, Json] = {name: one.as_json() for name, one in self.sets.items()}
        return {"evaluations": self.evaluations, "sets": sets}


def confusions_of(content: JsonObject) -> Confusions:
    """Return what a `confusion.json` holds; raise TypeError or KeyError for another file."""
    sets = object_of(content["sets"], "the matrix of each test set")
    matrices = {
        name: Confusion.from_json(object_of(matrix, "a confusion matrix"))
        for name, matrix in sets.items()
    }
    return Confusions(text_at(content, "evaluations"), matrices)
