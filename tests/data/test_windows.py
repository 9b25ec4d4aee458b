import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.makers import contents, marked_pool
from towpath.data import ClassPool, DataError, EpisodeSampler, EpisodeSpec, Windows

POOL = marked_pool({"a": 6, "b": 9})
SAMPLER = EpisodeSampler(POOL, EpisodeSpec(3, "any", 4, label_noise=0.4), seed=5)


def take(windows, count):
    return [contents(next(windows)) for _ in range(count)]


@settings(max_examples=20, deadline=None)
@given(T=st.integers(1, 4), M=st.integers(1, 5), stop=st.integers(0, 4))
def test_a_resumed_stream_is_the_stream_that_was_left(T, M, stop):
    straight = Windows(SAMPLER, T, M)
    expected = take(straight, 6)
    assert all(len(window) == T and all(len(b) == M for b in window) for window in expected)
    first = Windows(SAMPLER, T, M)
    begun = take(first, stop)
    resumed = Windows(SAMPLER, T, M, start=first.position)
    assert begun + take(resumed, 6 - stop) == expected
    assert resumed.position == straight.position == 6


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_workers_change_nothing_before_and_after_resuming(workers):
    expected = take(Windows(SAMPLER, 3, 4), 5)
    with Windows(SAMPLER, 3, 4, workers=workers) as windows:
        assert take(windows, 3) == expected[:3]
        assert windows.position == 3
    with Windows(SAMPLER, 3, 4, start=windows.position, workers=workers) as windows:
        assert take(windows, 2) == expected[3:]


def test_closing_stops_the_workers_and_the_stream_goes_on():
    windows = Windows(SAMPLER, 2, 2, workers=2)
    begun = take(windows, 1)
    windows.close()
    assert begun + take(windows, 2) == take(Windows(SAMPLER, 2, 2), 3)


def test_a_failure_in_a_worker_loses_and_repeats_nothing():
    class FailsOnce:
        failed = False

        def episode(self, index):
            if index == 5 and not self.failed:
                self.failed = True
                raise OSError("a disk that hiccups")
            return SAMPLER.episode(index)

    with Windows(FailsOnce(), 2, 2, workers=2) as windows:
        begun = take(windows, 1)
        with pytest.raises(OSError, match="hiccups"):
            next(windows)
        assert windows.position == 1
        assert begun + take(windows, 3) == take(Windows(SAMPLER, 2, 2), 4)


def test_window_looks_anywhere_without_moving():
    windows = Windows(SAMPLER, 2, 3)
    assert contents(windows.window(4)) == take(Windows(SAMPLER, 2, 3, start=4), 1)[0]
    assert windows.position == 0


def test_windows_follow_each_other_without_gap_or_overlap():
    windows = Windows(SAMPLER, 2, 3)
    indices = [e.info["index"] for _ in range(3) for batch in next(windows) for e in batch]
    assert indices == list(range(18))


def _content_in_process(sampler, index):
    episode = sampler.episode(index)
    return episode.support_x.numpy().tobytes() + episode.query_y.numpy().tobytes()


def test_other_processes_draw_the_same_bytes_from_the_same_file(tmp_path):
    np.save(tmp_path / "images.npy", POOL.images)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    sampler = EpisodeSampler(ClassPool("m", "train", mapped, POOL.classes), SAMPLER.spec, seed=5)
    # Pickled by path: the pixels themselves do not travel.
    assert len(pickle.dumps(sampler.pool)) < 4000
    expected = [_content_in_process(SAMPLER, index) for index in range(8)]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as processes:
        found = list(processes.map(_content_in_process, [sampler] * 8, range(8)))
    assert found == expected


@pytest.mark.parametrize(
    "wrong", [{"horizon": 0}, {"meta_batch_size": 0}, {"start": -1}, {"workers": -1}]
)
def test_wrong_sizes_are_refused(wrong):
    with pytest.raises(DataError, match="expected at least"):
        Windows(**{"sampler": SAMPLER, "horizon": 1, "meta_batch_size": 1} | wrong)
