"""Batch norm policies: what each normalises by, and that a layer can go from one to another."""

import pytest
import torch
from torch import nn

import towpath as tp
from towpath.backbones.norms import BATCH_NORM_POLICIES, check_norm, norm_layer


def model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3, affine=False), nn.Dropout(0.5))


def inputs() -> torch.Tensor:
    return 5 + torch.randn(40, 2, generator=torch.Generator().manual_seed(0))


def normalised(layer: nn.Module, x: torch.Tensor) -> bool:
    """Whether the layer's outputs have the batch's own mean taken off."""
    return bool(layer(x).mean(0).abs().max() < 1e-5)


def test_each_policy_normalises_by_what_it_says():
    for policy in BATCH_NORM_POLICIES:
        found = tp.backbones.use_batch_norm(model().eval(), policy)
        layer, x = found[1], inputs()[:, :1] * torch.ones(3)
        assert isinstance(layer, nn.BatchNorm1d)
        before = None if layer.running_mean is None else layer.running_mean.clone()
        assert normalised(layer, x) == (policy != "frozen")
        if before is None:
            assert policy == "batch"
        else:
            assert torch.equal(layer.running_mean, before) == (policy == "frozen")
        assert normalised(layer.eval(), x) == (policy == "batch")
        assert not found[2].training, "other layers stay as they are"


def test_a_model_says_which_policies_its_layers_have():
    found = nn.Sequential(
        nn.BatchNorm1d(2), nn.BatchNorm1d(2), nn.BatchNorm1d(2, track_running_stats=False)
    )
    found[1].eval()
    assert tp.backbones.batch_norm_policies(found) == {"0": "running", "1": "frozen", "2": "batch"}
    ours = tp.backbones.Conv4(channels=1, ways=5, image_size=28)
    assert set(tp.backbones.batch_norm_policies(ours).values()) == {"batch"}


def test_a_layer_that_tracked_nothing_begins_to():
    found = tp.backbones.use_batch_norm(model().double(), "batch")
    tp.backbones.use_batch_norm(found, "running")
    found(inputs().double())
    assert int(found[1].num_batches_tracked) == 1
    assert "1.running_mean" in found.state_dict()


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"'1' has no running statistics to freeze; expected"):
        tp.backbones.use_batch_norm(tp.backbones.use_batch_norm(model(), "batch"), "frozen")
    with pytest.raises(ValueError, match=r"policy 'frosen'; expected one of 'batch'"):
        tp.backbones.use_batch_norm(model(), "frosen")
    with pytest.raises(ValueError, match=r"norm='layer'; expected one of 'batch'"):
        check_norm("layer")


def test_our_own_backbones_keep_no_statistics():
    assert norm_layer("batch", 4).running_mean is None
    assert isinstance(norm_layer("group", 12), nn.GroupNorm)
