import pytest

from tests.data.makers import contents, marked_pool
from towpath.data import DataError, EpisodeSampler, EpisodeSpec, trusted_pool
from towpath.data.trusted import FixedTrusted

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


def test_tasks_that_judge_are_trained_on_once_they_have_judged():
    tasks = trusted_pool(POOL, SPEC, 9)
    trusted = FixedTrusted(tasks, 2, seed=0, judging=3, judging_windows=4)

    def seen(windows):
        batches = [trusted.batch(w, t) for w in windows for t in range(5)]
        both = [task for one in batches for task in (*one.trained, *one.targets)]
        return {task.info["index"] for task in both}

    assert seen(range(4)) == set(range(6))
    assert [len(trusted.judges(w)) for w in range(6)] == [3, 3, 3, 3, 0, 0]
    assert seen(range(4, 12)) == set(range(9))
