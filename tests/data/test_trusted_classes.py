import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.makers import marked_pool
from towpath.data import DataError, EpisodeSampler, EpisodeSpec
from towpath.data.trusted_classes import all_trusted, part_of, set_apart

POOL = marked_pool({"small": 5, "middle": 8, "large": 13})


def names(pool):
    return {entry.name for entry in pool.classes}


@settings(max_examples=80, deadline=None)
@given(
    count=st.integers(3, 14),
    ways=st.integers(2, 3),
    within=st.booleans(),
    seed=st.integers(0, 50),
)
def test_trusted_and_other_classes_are_apart_and_both_make_tasks(count, ways, within, seed):
    spec = EpisodeSpec(ways, 1, 3, within_group=within)
    apart = set_apart(POOL, spec, count, seed)
    assert len(apart.trusted) == count
    assert names(apart.trusted) | names(apart.rest) == names(POOL)
    assert not names(apart.trusted) & names(apart.rest)
    for own in apart.sets:
        assert EpisodeSampler(part_of(POOL, own), spec).episode(0).ways == ways
    assert EpisodeSampler(apart.rest, spec).episode(0).ways == ways
    assert names(set_apart(POOL, spec, count, seed).trusted) == names(apart.trusted)


def test_another_seed_trusts_other_classes():
    spec = EpisodeSpec(2, 1, 3)
    chosen = {frozenset(names(set_apart(POOL, spec, 6, seed).trusted)) for seed in range(10)}
    assert len(chosen) > 5


@pytest.mark.parametrize("share", [0.01, 0.34, 0.5, 0.99])
def test_what_judges_is_apart_from_what_is_trained_on(share):
    spec = EpisodeSpec(2, 1, 3)
    trained, judging = set_apart(POOL, spec, 10, 0).judging(share)
    assert not names(trained) & names(judging)
    assert len(trained) + len(judging) == 10
    for part in (trained, judging):
        assert EpisodeSampler(part, spec).episode(0).ways == 2
    # of five sets of two classes
    assert len(judging) == 2 * min(max(1, round(share * 5)), 4)


def test_a_pool_that_is_trusted_as_a_whole_is_divided_completely():
    for within in (True, False):
        apart = all_trusted(POOL, EpisodeSpec(5, 1, 3, within_group=within), 0)
        assert names(apart.trusted) == names(POOL)
        trained, judging = apart.judging(0.3)
        assert not names(trained) & names(judging)


def test_impossible_numbers_are_refused():
    spec = EpisodeSpec(5, 1, 3)
    with pytest.raises(DataError, match="expected at least 5"):
        set_apart(POOL, spec, 4, 0)
    with pytest.raises(DataError, match="at most the 26"):
        set_apart(POOL, spec, 27, 0)
    with pytest.raises(DataError, match=r"no group.*has as many left"):
        set_apart(POOL, spec, 25, 0)
    with pytest.raises(DataError, match="expected some to train on"):
        _ = all_trusted(POOL, spec, 0).rest
    with pytest.raises(DataError, match="a weighter that judges needs two"):
        set_apart(POOL, spec, 5, 0).judging(0.5)
