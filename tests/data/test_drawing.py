"""What samplers share: chances of groups, shots, and disjoint rows."""

import numpy as np
import pytest

from towpath.data import DataError, EpisodeSpec
from towpath.data.drawing import draw_rows, draw_shots, group_chances, wanted_groups
from towpath.data.randomness import Draws

GROUPS = {"x": (0, 1, 2), "y": (3,), "z": (4, 5)}


def test_chances_follow_the_spec_and_auto_means_what_the_sampler_says():
    def chances(auto: str = "uniform", **spec: object) -> list[float]:
        return group_chances(GROUPS, EpisodeSpec(**spec), auto).tolist()

    assert chances() == pytest.approx([1 / 3] * 3)
    assert chances("size") == pytest.approx([3 / 6, 1 / 6, 2 / 6])
    assert chances(groups="size") == pytest.approx([3 / 6, 1 / 6, 2 / 6])
    assert chances("size", groups="uniform") == pytest.approx([1 / 3] * 3)
    zipf = np.array([1, 1 / 3, 1 / 2])
    assert chances(groups="zipf") == pytest.approx((zipf / zipf.sum()).tolist())
    given = {"x": 1.0, "y": 2.0, "z": 5.0}
    assert chances(groups=given) == pytest.approx([1 / 8, 2 / 8, 5 / 8])


def test_a_mapping_chooses_groups_and_must_name_known_ones():
    assert wanted_groups(GROUPS, EpisodeSpec(), "set") == GROUPS
    chosen = EpisodeSpec(groups={"y": 1.0, "z": 0.0})
    assert wanted_groups(GROUPS, chosen, "set") == {"y": (3,)}
    with pytest.raises(DataError, match=r"groups names 'yy', and set \(train\) has no such group"):
        wanted_groups(GROUPS, EpisodeSpec(groups={"yy": 1.0}), "set (train)")


def test_shots_are_fixed_common_or_of_each_class():
    assert draw_shots(Draws("t", 0, 0), EpisodeSpec(shots=3), 4) == [3] * 4
    pairs = [draw_shots(Draws("t", 0, i), EpisodeSpec(shots=(2, 5)), 3) for i in range(60)]
    assert all(len(set(shots)) == 1 for shots in pairs)
    assert {shots[0] for shots in pairs} == {2, 3, 4, 5}
    free = [draw_shots(Draws("t", 0, i), EpisodeSpec(shots="any"), 3) for i in range(60)]
    assert 15 < sum(len(set(shots)) > 1 for shots in free) < 45
    assert 40 < max(max(shots) for shots in free) <= 50
    few = [draw_shots(Draws("t", 0, i), EpisodeSpec(shots="any-10"), 3) for i in range(60)]
    assert {k for shots in few for k in shots} == set(range(1, 11))
    assert [len(set(shots)) > 1 for shots in few].count(True) > 15


def test_rows_are_different_and_shots_give_way_to_the_query():
    rows = draw_rows(Draws("t", 0, 0), 10, 4, 5)
    assert (len(rows.support), len(rows.query), rows.capped) == (4, 5, False)
    assert len({*rows.support.tolist(), *rows.query.tolist()}) == 9
    few = draw_rows(Draws("t", 0, 0), 10, 8, 5)
    assert (len(few.support), len(few.query), few.capped) == (5, 5, True)
