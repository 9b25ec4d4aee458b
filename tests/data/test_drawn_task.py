import numpy as np

from tests.data.makers import marked_pool, marks
from towpath.data import EpisodeSampler, EpisodeSpec

SAMPLER = EpisodeSampler(marked_pool({"a": 6, "b": 9}), EpisodeSpec(3, "any", 4), seed=2)


def test_a_draw_names_the_images_that_the_episode_then_reads():
    for index in range(20):
        draw, episode = SAMPLER.draw(index), SAMPLER.episode(index)
        for rows, images in ((draw.support, episode.support_x), (draw.query, episode.query_x)):
            own = zip(draw.classes, rows, strict=True)
            assert marks(images) == [(position, row) for position, rows in own for row in rows]


def test_the_shots_of_a_draw_are_the_support_images_of_each_class():
    for index in range(20):
        draw = SAMPLER.draw(index)
        assert list(draw.shots) == np.bincount(draw.support_y).tolist()
