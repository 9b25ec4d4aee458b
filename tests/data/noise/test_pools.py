import numpy as np
import pytest
from scipy import stats

from tests.data.makers import marked_pool, marks
from towpath.data import DataError, EpisodeSampler, EpisodeSpec
from towpath.data.noise import DealtClasses, MovedImages
from towpath.data.pool import ClassPool
from towpath.data.randomness import Draws

POOL = marked_pool({"a": 10, "b": 15})


def draws(seed: int = 0) -> Draws:
    return Draws("test/noise", seed, 0)


def places(pool: ClassPool, noise) -> list[tuple[int, int, int]]:
    """(class that holds it, class, row) of every image of the pool after the noise."""
    return [
        (position, int(owner), int(row))
        for position in range(len(pool))
        for owner, row in zip(noise.classes[position], noise.rows[position], strict=True)
    ]


@pytest.mark.parametrize("kind", [MovedImages(), DealtClasses()])
def test_every_image_is_in_one_place_and_every_class_keeps_its_size(kind):
    pool = marked_pool({"g": 4}, images=[20, 7, 12, 9])
    found = places(pool, kind.relabelled(pool, 0.5, draws()))
    assert sorted((owner, row) for _, owner, row in found) == [
        (position, row) for position, e in enumerate(pool.classes) for row in range(e.count)
    ]
    assert [sum(p == c for p, _, _ in found) for c in range(4)] == [20, 7, 12, 9]


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 1.0])
def test_that_share_of_the_images_is_under_another_class_exactly(share):
    found = places(POOL, MovedImages().relabelled(POOL, share, draws()))
    wrong = sum(position != owner for position, owner, _ in found)
    assert wrong == round(share * POOL.image_count)


def test_moved_images_go_to_every_other_class_alike():
    pool = marked_pool({"g": 4}, images=60)
    counts = np.zeros((4, 4))
    for seed in range(40):
        for position, owner, _ in places(pool, MovedImages().relabelled(pool, 0.5, draws(seed))):
            counts[owner, position] += position != owner
    others = counts[~np.eye(4, dtype=bool)]
    # exchanged in pairs, hence not quite independent: a wide margin, which a turn by one class,
    # all of which goes to a single other class, is far outside of
    assert others.max() / others.mean() < 1.15
    assert others.min() / others.mean() > 0.85


def test_a_surplus_of_one_class_stays_where_it_is():
    pool = marked_pool({"g": 2}, images=[20, 4])
    found = places(pool, MovedImages().relabelled(pool, 1.0, draws()))
    assert sum(position != owner for position, owner, _ in found) == 8  # four each way


def test_a_share_of_the_classes_is_dealt_and_the_others_are_untouched():
    noise = DealtClasses().relabelled(POOL, 0.4, draws())
    touched = [c for c in range(len(POOL)) if noise.wrong(c, np.arange(20))]
    assert len(touched) == 10
    owners = {int(owner) for c in touched for owner in noise.classes[c]}
    assert owners == set(touched)
    wrong = sum(noise.wrong(c, np.arange(20)) for c in touched)
    assert stats.binomtest(wrong, 200, 0.9).pvalue > 1e-3  # a tenth comes back by chance


def test_a_single_class_cannot_be_dealt():
    with pytest.raises(DataError, match=r"label_noise 0.04 of the 25 classes .* is 1; .* Raise"):
        DealtClasses().relabelled(POOL, 0.04, draws())


@pytest.mark.parametrize("kind", ["images", "classes"])
def test_the_pixels_of_a_task_are_those_that_the_record_counts_as_wrong(kind):
    spec = EpisodeSpec(5, 2, 6, within_group=False, label_noise=0.4, noise_kind=kind)
    sampler = EpisodeSampler(POOL, spec, seed=7)
    shares = []
    for index in range(200):
        episode = sampler.episode(index)
        names = episode.info["classes"]
        wrong = [
            POOL.classes[true].name != names[label]
            for x, y in ((episode.support_x, episode.support_y), (episode.query_x, episode.query_y))
            for (true, _), label in zip(marks(x), y.tolist(), strict=True)
        ]
        assert episode.info["wrong"] == pytest.approx(np.mean(wrong))
        assert episode.info["mislabelled"] == any(wrong)
        draw = sampler.draw(index)
        found = [
            origin
            for position, rows in zip(draw.classes, draw.query, strict=True)
            for origin in sampler.origins(position, rows)
        ]
        assert found == marks(episode.query_x)
        shares.append(np.mean(wrong))
    expected = 0.4 if kind == "images" else 0.4 * 0.9
    assert np.mean(shares) == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize("kind", ["images", "classes"])
def test_an_image_has_the_same_label_in_the_whole_training_and_after_it_is_resumed(kind):
    spec = EpisodeSpec(5, 2, 6, within_group=False, label_noise=0.5, noise_kind=kind)
    filed: dict[tuple[int, int], str] = {}
    for index in range(300):
        # a new sampler for each task, as after a stop
        episode = EpisodeSampler(POOL, spec, seed=3).episode(index)
        for x, y in ((episode.support_x, episode.support_y), (episode.query_x, episode.query_y)):
            for image, label in zip(marks(x), y.tolist(), strict=True):
                name = episode.info["classes"][label]
                assert filed.setdefault(image, name) == name
    assert len(filed) == POOL.image_count
    other = EpisodeSampler(POOL, spec, seed=4).episode(0)
    names = [other.info["classes"][label] for label in other.query_y.tolist()]
    assert [filed[image] for image in marks(other.query_x)] != names  # another seed, another noise


def test_turned_classes_keep_their_turn_when_images_move():
    pool = marked_pool({"g": 3}).with_rotations()
    noise = MovedImages().relabelled(pool, 1.0, draws())
    for position in range(len(pool)):
        taken = noise.take(pool, position, np.arange(20))
        for pixels, owner, row in zip(
            taken, noise.classes[position], noise.rows[position], strict=True
        ):
            assert np.array_equal(pixels, pool.take(int(owner), [int(row)])[0])
