import pytest

from tests.data.makers import contents, marked_pool
from towpath.data import DataError, EpisodeSampler, EpisodeSpec, trusted_pool

POOL = marked_pool({"a": 6, "b": 9})
SPEC = EpisodeSpec(3, "any", 4, label_noise=0.4)


def test_trusted_tasks_are_clean_fixed_and_apart_from_the_stream():
    trusted = trusted_pool(POOL, SPEC, 20, seed=5)
    again = trusted_pool(POOL, SPEC, 20, seed=5)
    assert contents([trusted]) == contents([again])
    assert not any(episode.info["mislabelled"] for episode in trusted)
    sampler = EpisodeSampler(POOL, SPEC, seed=5)
    stream = [sampler.episode(index) for index in range(20)]
    assert any(episode.info["mislabelled"] for episode in stream)
    assert not {e for b in contents([trusted]) for e in b} & {
        e for b in contents([stream]) for e in b
    }


def test_trusted_tasks_say_that_they_are():
    assert all(episode.info["trusted"] for episode in trusted_pool(POOL, SPEC, 3))
    assert "trusted" not in EpisodeSampler(POOL, SPEC).episode(0).info


def test_a_pool_of_no_tasks_is_refused():
    with pytest.raises(DataError, match="at least 1"):
        trusted_pool(POOL, SPEC, 0)
