"""Confusion matrices over few-shot tasks, against counting every sample by hand."""

import random
from typing import Any

import pytest
from scipy.stats import binomtest

from towpath.runs.confusion import Confusion, Confusions, PairCount, confusions_of

NAMES = [f"class {i}" for i in range(7)]


def drawn_tasks(seed, count=40):
    """Tasks of three of the classes, with the samples that they are made of."""
    generator = random.Random(seed)
    tasks, samples = [], []
    for task in range(count):
        names = generator.sample(NAMES, 3)
        counts = [[0] * 3 for _ in range(3)]
        for _ in range(12):
            true, predicted = generator.randrange(3), generator.choice([0, 1, 2, 2])
            counts[true][predicted] += 1
            samples.append((task, names, names[true], names[predicted]))
        tasks.append((names, counts))
    return tasks, samples


@pytest.mark.parametrize("seed", range(3))
def test_every_pair_counts_the_samples_that_met_it_and_those_taken(seed):
    tasks, samples = drawn_tasks(seed)
    found = Confusion.of(tasks)
    assert list(found.names) == NAMES
    for i, a in enumerate(NAMES):
        assert found.tasks(a) == sum(a in names for names, _ in tasks)
        own = [s for s in samples if s[2] == a]
        assert found.samples(a) == len(own)
        assert found.accuracy(a) == sum(s[3] == a for s in own) / len(own)
        for j, b in enumerate(NAMES):
            met = [s for s in own if b in s[1]]
            taken = [s for s in met if s[3] == b]
            assert found.pairs[i, j] == PairCount(len(met), len(taken))


def test_the_hardest_classes_and_the_most_confused_pairs_come_first():
    found = Confusion.of(drawn_tasks(0)[0])
    accuracies = [found.accuracy(name) for name in found.worst()]
    assert accuracies == sorted(accuracies)
    pairs = found.confused()
    assert all(pair.true != pair.predicted and pair.count.taken for pair in pairs)
    ends = [lower_end(p.count) for p in pairs]
    assert ends == sorted(ends, reverse=True)
    off_diagonal = sum(p.taken for (a, b), p in found.pairs.items() if a != b)
    assert sum(pair.count.taken for pair in pairs) == off_diagonal


def lower_end(count):
    return binomtest(count.taken, count.met).proportion_ci(0.95, method="wilson").low


@pytest.mark.parametrize("met", [1, 5, 80])
def test_pairs_are_ranked_by_the_lower_end_of_wilsons_interval(met):
    for taken in range(met + 1):
        count = PairCount(met, taken)
        assert count.surely == pytest.approx(lower_end(count), abs=1e-7)


def test_a_pair_that_met_once_does_not_lead_one_that_was_confused_again_and_again():
    once = (("owl", "tern"), [[0, 2], [0, 2]])
    again = [(("cat", "dog"), [[4, 16], [0, 20]])] * 3
    first, second = Confusion.of([once, *again]).confused()
    assert (first.true, first.count.share) == ("cat", 0.8)
    assert (second.true, second.count.share) == ("owl", 1.0)


def test_the_sum_of_parts_is_the_whole_even_if_classes_differ():
    tasks, _ = drawn_tasks(1)
    parts = [Confusion.of(tasks[:3]), Confusion.of(tasks[3:])]
    assert Confusion.together(parts) == Confusion.of(tasks)


def test_what_is_written_is_read_again_and_another_file_is_refused():
    found = Confusion.of(drawn_tasks(2)[0])
    assert Confusion.from_json(found.as_json()) == found
    both = Confusions("digest", {"glyphs": found})
    assert confusions_of(both.as_json()) == both
    whole: dict[str, Any] = dict(found.as_json())
    for wrong in (
        {**whole, "tasks": whole["tasks"][:-1]},
        {**whole, "pairs": [[0, 0, 1]]},
        {**whole, "pairs": [[0, 99, 3, 1]]},
        {**whole, "pairs": [[0, 0, 1, 2]]},
        {**whole, "pairs": whole["pairs"][1:]},
        {**whole, "classes": "all"},
    ):
        with pytest.raises(TypeError):
            Confusion.from_json(wrong)
