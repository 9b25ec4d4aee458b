"""From the sections `backbone` and `learner` of a recipe to a learner."""

import pytest
import torch
from safetensors.torch import save_file

from towpath.data import TaskShape
from towpath.losses import CrossEntropy, CustomLoss, Huber
from towpath.recipes.component import Component
from towpath.recipes.learners import make_learner, make_loss
from towpath.recipes.typed import RecipeError

CLASSES = TaskShape((1, 16, 16), 3)
NUMBERS = TaskShape((4,), 1, is_regression=True)
CONV4 = {"name": "conv4", "filters": 4}


def focal(scores, labels, gamma: float = 2.0):
    """A loss of a user's: cross-entropy with less weight for samples that are right already."""
    each = torch.nn.functional.cross_entropy(scores, labels, reduction="none")
    return ((1 - (-each).exp()) ** gamma * each).mean()


def learner(backbone=None, shape=CLASSES, allowed=(), **options):
    given = {"name": "maml", **options}
    return make_learner(
        Component.of("backbone", CONV4 if backbone is None else backbone),
        Component.of("learner", given),
        shape=shape,
        seed=0,
        allowed=allowed,
    )


def test_the_loss_follows_from_the_data_or_is_named():
    mlp = {"name": "mlp", "hidden": [4]}
    assert learner().loss == CrossEntropy()
    assert learner(mlp, NUMBERS).loss.name == "mse"
    assert learner(mlp, NUMBERS, loss="huber").loss == Huber()
    smooth = {"name": "cross_entropy", "label_smoothing": 0.1, "weight": [1.0, 2.0, 0.5]}
    found = learner(loss=smooth).loss
    assert isinstance(found, CrossEntropy)
    assert (found.label_smoothing, list(found.weight or ())) == (0.1, [1.0, 2.0, 0.5])
    for name in ("protonet", "proto-maml"):
        made = learner(name=name, loss={"name": "cross_entropy", "label_smoothing": 0.2})
        assert made.loss == CrossEntropy(label_smoothing=0.2)


def test_a_loss_of_the_users_is_imported_only_where_that_is_allowed():
    own = {"name": f"{__name__}:focal", "gamma": 1.5}
    with pytest.raises(RecipeError, match=r"learner\.loss.*--allow-import tests"):
        learner(loss=own)
    loss = learner(loss=own, allowed=["tests"]).loss
    assert isinstance(loss, CustomLoss)
    assert loss.classifies
    scores, labels = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
    assert torch.equal(loss.value(scores, labels), focal(scores, labels, 1.5))
    module = make_loss("torch.nn:SmoothL1Loss", NUMBERS, ["torch"])
    assert module.regresses


@pytest.mark.parametrize(
    ("shape", "loss", "said"),
    [
        (CLASSES, "mse", r"learner\.loss is 'mse', and the targets of the data are labels"),
        (CLASSES, "bce", "expected 'cross_entropy' or 'nll'"),
        (NUMBERS, "nll", "real numbers; expected 'mse' or 'huber'"),
        (CLASSES, "crossentropy", "Did you mean 'cross_entropy'"),
        (CLASSES, {"name": "cross_entropy", "smoothing": 0.1}, "Did you mean 'label_smoothing'"),
        (CLASSES, {"name": "cross_entropy", "label_smoothing": 2.0}, "label_smoothing"),
    ],
)
def test_a_loss_that_does_not_suit_is_refused_in_a_sentence(shape, loss, said):
    with pytest.raises(RecipeError, match=said):
        make_loss(loss, shape)


@pytest.mark.parametrize("name", ["maml", "meta-sgd", "protonet"])
def test_weights_and_frozen_layers_of_a_backbone(tmp_path, name):
    path = tmp_path / "net.safetensors"
    source = learner(name=name).model
    with torch.no_grad():
        for p in source.parameters():
            p.add_(1.0)
    save_file(source.state_dict(), path)
    made = learner({**CONV4, "weights": str(path), "frozen": ["blocks.0"]}, name=name)
    for key, tensor in source.state_dict().items():
        assert torch.equal(made.model.state_dict()[key], tensor)
    assert made.frozen()
    assert not any(key in made.parameters() for key in made.frozen())


def test_weights_are_read_for_a_trained_learner_only_where_no_checkpoint_has_them():
    gone = {**CONV4, "weights": "gone.safetensors"}
    options = {"shape": CLASSES, "seed": 0, "trained": True}
    make_learner(Component.of("backbone", gone), Component("maml"), **options)
    frozen = Component.of("backbone", {**gone, "frozen": ["head"]})
    with pytest.raises(ValueError, match=r"gone\.safetensors"):
        make_learner(frozen, Component("maml"), **options)


def test_a_head_from_zero_on_a_frozen_body_is_refused_where_nothing_is_left_to_train():
    body = {**CONV4, "frozen": ["blocks"]}
    with pytest.raises(
        RecipeError, match=r"\['blocks'\], and the learner freezes the rest.*meta-sgd"
    ):
        learner(body, zero_head=True)
    assert learner(body, name="meta-sgd", zero_head=True).parameters()
    assert learner({**CONV4, "frozen": ["blocks.0"]}, zero_head=True).parameters()
