import pytest

from tests.data.makers import contents, marked_pool
from towpath.data import DataError, EpisodeSampler, EpisodeSpec, Windows, trusted_pool
from towpath.data.noise import NOISE_KINDS, OffTarget, noise_named

POOL = marked_pool({"a": 10, "b": 15})
OF_ONE_POOL = [kind for kind in NOISE_KINDS if kind != "off-target"]


def spec(kind: str) -> EpisodeSpec:
    return EpisodeSpec(3, 2, 4, label_noise=0.5, noise_kind=kind)


def test_the_kinds_are_those_that_the_protocols_name():
    assert list(NOISE_KINDS) == ["query", "support", "flip", "images", "classes", "off-target"]
    assert {kind: noise_named(kind).share_of for kind in NOISE_KINDS} == {
        **dict.fromkeys(("query", "support", "flip", "off-target"), "tasks"),
        "images": "images",
        "classes": "classes",
    }
    spread = [kind for kind in NOISE_KINDS if noise_named(kind).in_every_task]
    assert spread == ["images", "classes"]


@pytest.mark.parametrize("kind", OF_ONE_POOL)
def test_workers_change_nothing(kind):
    found = []
    for workers in (0, 1, 2):
        with Windows(EpisodeSampler(POOL, spec(kind), 9), 2, 5, workers=workers) as windows:
            window = [batch for _ in range(3) for batch in next(windows)]
        found.append((contents(window), [[task.info for task in batch] for batch in window]))
    assert found[0] == found[1] == found[2]
    assert any(info["mislabelled"] for batch in found[0][1] for info in batch)


@pytest.mark.parametrize("kind", OF_ONE_POOL)
def test_the_order_of_tasks_changes_nothing(kind):
    sampler = EpisodeSampler(POOL, spec(kind), 9)
    forward = [sampler.episode(index) for index in range(20)]
    backward = [sampler.episode(index) for index in reversed(range(20))][::-1]
    assert contents([forward]) == contents([backward])
    assert [task.info for task in forward] == [task.info for task in backward]


@pytest.mark.parametrize("kind", OF_ONE_POOL)
def test_noise_leaves_trusted_and_held_out_tasks_alone(kind):
    clean = EpisodeSpec(3, 2, 4)
    noisy = spec(kind)
    trusted, right = trusted_pool(POOL, noisy, 15, 9), trusted_pool(POOL, clean, 15, 9)
    assert contents([trusted]) == contents([right])
    held_out = [EpisodeSampler(POOL, s, 0, "validation") for s in (noisy.clean, clean)]
    one, other = ([sampler.episode(i) for i in range(15)] for sampler in held_out)
    assert contents([one]) == contents([other])
    for task in (*trusted, *one):
        assert task.info["wrong"] == 0.0
        assert not task.info["mislabelled"]


def test_one_pool_has_no_off_target_tasks():
    assert isinstance(spec("off-target").noise, OffTarget)
    with pytest.raises(DataError, match=r"off-target.*second pool.*data\.mix"):
        EpisodeSampler(POOL, spec("off-target"))
    assert EpisodeSpec(noise_kind="off-target").noise is None  # without a share there is no noise
