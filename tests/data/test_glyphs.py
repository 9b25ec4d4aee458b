import numpy as np
import pytest
import torch
from torch import nn

from towpath.data import DataError, EpisodeSampler, EpisodeSpec, load_images


@pytest.fixture(scope="session")
def glyphs():
    return {split: load_images("glyphs", split=split) for split in ("train", "validation", "test")}


def nearest_neighbour_accuracy(pool, tasks: int) -> float:
    """Pixels, Euclidean distance, 5-way 1-shot within a script."""
    sampler = EpisodeSampler(pool, EpisodeSpec(5, 1, 15), seed=0)
    hits = []
    for index in range(tasks):
        episode = sampler.episode(index)
        distances = torch.cdist(episode.query_x.flatten(1), episode.support_x.flatten(1))
        hits.append((episode.support_y[distances.argmin(1)] == episode.query_y).float().mean())
    return float(torch.stack(hits).mean())


def test_the_set_is_as_large_as_promised(glyphs):
    classes = [entry for pool in glyphs.values() for entry in pool.classes]
    assert len(classes) >= 500
    assert len({entry.group for entry in classes}) >= 14
    assert {entry.count for entry in classes} == {20}
    assert len({entry.name for entry in classes}) == len(classes)


def test_the_splits_share_no_script(glyphs):
    train, validation, test = (set(glyphs[s].groups) for s in ("train", "validation", "test"))
    assert not train & validation
    assert not train & test
    assert not validation & test
    assert test == {"Georgian", "Hebrew", "Tifinagh", "Lao"}


def test_it_is_called_synthetic(glyphs):
    for pool in glyphs.values():
        assert pool.synthetic
        assert "synthetic" in pool.describe()
    assert EpisodeSampler(glyphs["train"]).episode(0).info["synthetic"]


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_pixel_nearest_neighbours_find_it_about_as_hard_as_omniglot(glyphs, split):
    assert 0.35 <= nearest_neighbour_accuracy(glyphs[split], 300) <= 0.55


def test_every_drawing_has_ink_and_paper_and_differs_from_the_others(glyphs):
    for pool in glyphs.values():
        for entry in pool.classes:
            drawn = pool.images[entry.start : entry.start + entry.count, 0]
            ink = drawn.mean((1, 2)) / 255.0
            assert ink.min() > 0.005, entry
            assert ink.max() < 0.5, entry
            assert len(np.unique(drawn.reshape(20, -1), axis=0)) == 20, entry


def test_a_seed_and_a_choice_of_scripts_make_another_set():
    usual = load_images("glyphs", split="test", scripts=("Hebrew",), drawings=4)
    other = load_images("glyphs", split="test", scripts=("Hebrew",), drawings=4, seed=1)
    assert usual.images.shape == other.images.shape == (24 * 4, 1, 28, 28)
    assert not np.array_equal(usual.images, other.images)


def test_unknown_scripts_and_no_drawings_are_refused():
    with pytest.raises(DataError, match="no script 'Klingon'"):
        load_images("glyphs", scripts=("Klingon",))
    with pytest.raises(DataError, match="drawings is 0"):
        load_images("glyphs", drawings=0)


@pytest.mark.slow
def test_a_prototypical_network_learns_it_far_beyond_nearest_neighbours(glyphs):
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for channels in (1, 64, 64, 64):
        layers += [nn.Conv2d(channels, 64, 3, padding=1), nn.BatchNorm2d(64), nn.MaxPool2d(2)]
        layers += [nn.ReLU()]
    network = nn.Sequential(*layers, nn.Flatten())
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)

    def logits(episode):
        z = network(torch.cat([episode.support_x, episode.query_x]))
        return -(torch.cdist(z[5:], z[:5]) ** 2)  # one shot: support image n has label n

    train = EpisodeSampler(glyphs["train"], seed=0)
    for index in range(300):
        episode = train.episode(index)
        optimizer.zero_grad()
        nn.functional.cross_entropy(logits(episode), episode.query_y).backward()
        optimizer.step()
    test = EpisodeSampler(glyphs["test"], seed=1)
    with torch.no_grad():
        hits = [
            (logits(e).argmax(1) == e.query_y).float().mean() for e in map(test.episode, range(200))
        ]
    assert float(torch.stack(hits).mean()) > 0.75
