"""Runs with pretrained and frozen backbones, and with a loss of the recipe's choice."""

import pytest
import torch
from safetensors.torch import load_file, save_file

import towpath as tp
from tests.training.runs import TINY, Silent, Stopping, run
from towpath.recipes.typed import RecipeError
from towpath.training import Recipe, RunFolder, resume, train
from towpath.training.setup import prepare

SHORT = {"steps": 6, "horizon": 2, "meta_batch_size": 2, "checkpoint_every": 2}
HEADS = {"name": "mlp", "hidden": [6, 5]}


def recipe(**sections):
    learner = {"name": "maml", "adaptation_steps": 1}
    return Recipe.of({**TINY, "learner": learner, "training": SHORT, **sections})


@pytest.fixture
def weights(tmp_path):
    model = prepare(recipe(backbone=HEADS)).learner.model
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(0.5)
    path = tmp_path / "net.safetensors"
    save_file(model.state_dict(), path)
    return path


def frozen_layer(path):
    return next(iter(load_file(path))).rpartition(".")[0]


def test_a_run_begins_with_the_files_weights_and_leaves_frozen_layers(tmp_path, weights):
    layer = frozen_layer(weights)
    backbone = {**HEADS, "weights": str(weights), "frozen": [layer]}
    folder = run(tmp_path / "run", recipe(backbone=backbone))
    trained = tp.load(folder)
    held = trained.learner.model.state_dict()
    for name, tensor in load_file(weights).items():
        assert torch.equal(held[name], tensor) == name.startswith(f"{layer}.")
    assert not any(name.startswith(layer) for name in trained.params)


def test_a_resumed_run_notices_another_file(tmp_path, weights):
    out = tmp_path / "run"
    made = recipe(backbone={**HEADS, "weights": str(weights)})
    with pytest.raises(KeyboardInterrupt):
        train(out, made, Stopping(2, KeyboardInterrupt))
    identity = RunFolder.open(out).identity()
    assert identity is not None
    assert "backbone.weights" in identity.data
    content = weights.read_bytes()
    tensors = {name: t + 1 for name, t in load_file(weights).items()}
    save_file(tensors, weights)
    with pytest.raises(RecipeError, match=r"changed since it began \(backbone\.weights\)"):
        resume(out, Silent())
    weights.write_bytes(content)
    resume(out, Silent())
    # all that was trained is in the checkpoint: predictions need the file no more
    weights.unlink()
    assert tp.load(out).step > 0


def test_frozen_layers_need_their_file_to_predict(tmp_path, weights):
    backbone = {**HEADS, "weights": str(weights), "frozen": [frozen_layer(weights)]}
    folder = run(tmp_path / "run", recipe(backbone=backbone))
    save_file({name: t + 1 for name, t in load_file(weights).items()}, weights)
    with pytest.raises(RecipeError, match=r"backbone\.weights.*Restore"):
        tp.load(folder)


def test_the_loss_of_a_recipe_trains_and_is_read_back(tmp_path):
    loss = {"name": "cross_entropy", "label_smoothing": 0.2}
    smoothed = recipe(learner={"name": "maml", "adaptation_steps": 1, "loss": loss})
    folder = run(tmp_path / "smooth", smoothed)
    assert tp.load(folder).learner.loss == tp.losses.CrossEntropy(label_smoothing=0.2)
    plain = run(tmp_path / "plain", recipe())
    first = next(iter(RunFolder.open(folder).records()))
    other = next(iter(RunFolder.open(plain).records()))
    assert first != other
