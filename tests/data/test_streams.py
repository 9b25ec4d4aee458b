"""One way to draw tasks from images and from tables."""

from tests.data.makers import marked_pool
from tests.data.tables.marked import marked_table, numbers_table
from towpath.data import EpisodeSampler, EpisodeSpec, TaskShape, Windows, shape_of, stream_of
from towpath.data.tables.sampler import TableSampler
from towpath.data.trusted import trusted_pool

IMAGES = marked_pool({"g": 6})
TABLE = marked_table({"a": (20, 20), "b": (20, 20)})
SPEC = EpisodeSpec(2, 3, 4)


def test_the_pool_decides_the_sampler():
    for pool, kind in ((IMAGES, EpisodeSampler), (TABLE, TableSampler)):
        stream = stream_of(pool, SPEC, 5, "test")
        assert isinstance(stream, kind)
        assert (stream.seed, stream.stream, stream.spec) == (5, "test", SPEC)
        assert stream.notes == ()
        assert sum(stream.group_frequencies.values()) == 1.0
        assert stream.group_of(0) == stream.episode(0).info["group"]
        assert stream.summarise(range(5)).episodes == 5


def test_the_shape_says_what_a_network_must_take_and_return():
    assert shape_of(IMAGES, 2) == TaskShape((1, 2, 2), 2)
    assert shape_of(TABLE, 2) == TaskShape((2,), 2)
    assert shape_of(numbers_table({"a": 9}), 2) == TaskShape((1,), 1, is_regression=True)


def test_windows_and_trusted_tasks_take_a_table_as_they_take_images():
    window = Windows(stream_of(TABLE, SPEC), 2, 3).window(1)
    assert [[task.info["index"] for task in batch] for batch in window] == [[6, 7, 8], [9, 10, 11]]
    with Windows(stream_of(TABLE, SPEC), 2, 3, workers=2) as ahead:
        assert next(ahead)[1][2].info == stream_of(TABLE, SPEC).episode(5).info
    trusted = trusted_pool(TABLE, EpisodeSpec(2, 3, 4, label_noise=1.0), 3)
    assert all(task.info["trusted"] and not task.info["mislabelled"] for task in trusted)
