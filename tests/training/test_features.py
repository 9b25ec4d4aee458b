"""Features of a run's network, and training on them: ProtoNet, ridge regression and ANIL."""

from typing import Any

import numpy as np
import pytest
import torch

from towpath.data import ClassPool, load
from towpath.data.registry import load_images
from towpath.recipes.typed import RecipeError
from towpath.training import load as load_run
from towpath.training import resume, train
from towpath.training.features import computed_features, embedding_of, features_of

from .runs import TINY, Killed, Silent, Stopping, outcome, run, tiny

OPTIONS: dict[str, Any] = {"drawings": 5, "scripts": ["Coptic", "Asomtavruli", "Hebrew"]}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return {
        learner: load_run(run(tmp_path_factory.mktemp(learner) / "run", tiny(learner=learner)))
        for learner in ("protonet", "maml")
    }


@pytest.fixture(scope="module")
def features(trained, tmp_path_factory):
    """The glyphs of the tiny recipe as features of its protonet."""
    pools = {split: load_images("glyphs", split=split, **OPTIONS) for split in SPLITS}
    path = tmp_path_factory.mktemp("features") / "glyphs.features.npz"
    done: list[int] = []
    path.write_bytes(features_of(trained["protonet"], pools, done.append))
    assert done[-1] == sum(pool.image_count for pool in pools.values())
    assert done == sorted(done)
    return path


SPLITS = ("train", "validation", "test")


@pytest.mark.parametrize("learner", ["protonet", "maml"])
def test_features_are_the_networks_before_its_head(trained, learner):
    pool = load_images("glyphs", split="test", **OPTIONS)
    one = trained[learner]
    found = computed_features(embedding_of(one), pool, torch.float32, lambda _: None)
    x = torch.from_numpy(pool.take(1, [2])).float().div(255).flatten(1)
    params = {n: p.detach() for n, p in one.learner.model.named_parameters()}
    weight, bias = params["layers.0.weight"], params["layers.0.bias"]
    expected = torch.relu(x @ weight.T + bias)[0]
    row = pool.classes[0].count + 2
    torch.testing.assert_close(torch.from_numpy(found[row]), expected, rtol=1e-5, atol=1e-6)
    assert found.shape == (pool.image_count, 6)


def test_a_network_without_a_head_of_that_name_is_refused(trained):
    one = trained["maml"]
    head = one.learner.model.head
    del one.learner.model.head
    try:
        with pytest.raises(RecipeError, match=r"no layer 'head'.*expected a run of a protonet"):
            embedding_of(one)
    finally:
        one.learner.model.head = head


def test_a_network_that_is_not_called_as_it_is_is_refused(tmp_path):
    short = {"steps": 2, "horizon": 2, "meta_batch_size": 2, "checkpoint_every": 2}
    one = load_run(run(tmp_path / "run", tiny(learner="mt-net", training=short)))
    with pytest.raises(RecipeError, match="MT-net are transformed"):
        embedding_of(one)


def test_the_file_holds_every_split_with_its_classes_and_groups(features):
    for split in SPLITS:
        images = load_images("glyphs", split=split, **OPTIONS)
        vectors = load(str(features), split=split)
        assert isinstance(vectors, ClassPool)
        assert sorted(vectors.names) == sorted(images.names)
        assert set(vectors.groups) == set(images.groups)
        assert vectors.input_shape == (6,)
        assert np.isfinite(vectors.images).all()


@pytest.mark.parametrize("weighter", ["uniform", "tow", "tow-targets"])
@pytest.mark.parametrize("learner", ["protonet", "ridge", "anil"])
def test_a_stopped_run_on_features_ends_equal(features, tmp_path, learner, weighter):
    recipe = tiny(weighter, learner, data={"name": str(features)})
    whole = outcome(run(tmp_path / "whole", recipe))
    assert whole["summary"]["steps"] == TINY["training"]["steps"]
    with pytest.raises(Killed):
        train(tmp_path / "stopped", recipe, Stopping(17, Killed))
    resume(tmp_path / "stopped", Silent())
    assert outcome(tmp_path / "stopped") == whole


def test_images_beside_features_are_refused_with_their_shapes(features, tmp_path):
    recipe = tiny(data={"name": str(features)}, test={"tasks": 4, "also": ["glyphs"]})
    with pytest.raises(RecipeError, match=r"images of test.also 'glyphs'.*expected \[6\]"):
        train(tmp_path / "run", recipe, Silent())
