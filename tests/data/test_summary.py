import numpy as np

from towpath.data import Summary
from towpath.data.drawn_task import Draw


def drawn(group: str, capped: tuple[bool, ...], mislabelled: bool = False) -> Draw:
    ways = len(capped)
    rows = tuple(np.arange(2) for _ in range(ways))
    labels = np.repeat(np.arange(ways), 2)
    return Draw(0, group, tuple(range(ways)), rows, rows, labels, labels, capped, mislabelled)


def test_groups_capped_classes_and_wrong_labels_are_counted():
    draws = [
        drawn("a", (True, True, False)),
        drawn("b", (False, False)),
        drawn("a", (False, True), mislabelled=True),
    ]
    assert Summary.of(draws) == Summary(
        episodes=3,
        groups={"a": 2, "b": 1},
        mislabelled=1,
        capped_episodes=2,
        capped_classes=3,
        classes=7,
    )


def test_nothing_drawn_is_nothing_counted():
    assert Summary.of([]) == Summary(0, {}, 0, 0, 0, 0)


def test_the_sentence_has_the_figures():
    said = Summary(3000, {"a": 3000}, 7, 1200, 1500, 15000).sentence()
    assert said == (
        "3,000 episodes: shots capped in 1,200 (1,500 of 15,000 classes drawn), "
        "7 mislabelled on purpose"
    )
