"""Residual networks: architecture against a direct formula, dropout, policies."""

import pytest
import torch
from torch.nn import functional as F

from towpath.backbones import NORM_POLICIES, ResNet10, ResNet18


def batch_norm(x, name, p):
    return F.batch_norm(x, None, None, p[f"{name}.weight"], p[f"{name}.bias"], training=True)


def direct_resnet10(p, x):
    """The network written out from its description, on a dict of parameters."""
    x = F.conv2d(x, p["stem.weight"], stride=2, padding=3)
    x = F.max_pool2d(F.relu(batch_norm(x, "stem_norm", p)), 3, 2, padding=1)
    for stage in range(4):
        name, stride = f"blocks.{stage}", 1 if stage == 0 else 2
        y = F.conv2d(x, p[f"{name}.conv1.weight"], stride=stride, padding=1)
        y = F.relu(batch_norm(y, f"{name}.norm1", p))
        y = F.conv2d(y, p[f"{name}.conv2.weight"], padding=1)
        y = batch_norm(y, f"{name}.norm2", p)
        if stage:
            x = F.conv2d(x, p[f"{name}.shortcut.0.weight"], stride=stride)
            x = batch_norm(x, f"{name}.shortcut.1", p)
        x = F.relu(x + y)
    return F.adaptive_avg_pool2d(x, 1).flatten(1) @ p["head.weight"].T + p["head.bias"]


def test_resnet10_equals_the_direct_formula():
    torch.manual_seed(0)
    model = ResNet10(filters=4, image_size=(40, 33), dropout=0).double()
    x = torch.randn(3, 3, 40, 33, dtype=torch.float64)
    expected = direct_resnet10(dict(model.named_parameters()), x)
    torch.testing.assert_close(model(x), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("resnet", "count"), [(ResNet10, 4908357), (ResNet18, 11179077)])
def test_size_is_the_published_one(resnet, count):
    # ResNet-18 of the literature has 11,176,512 parameters below its head of 5 * 513.
    assert sum(p.numel() for p in resnet().parameters()) == count


@pytest.mark.parametrize("resnet", [ResNet10, ResNet18])
@pytest.mark.parametrize("norm", list(NORM_POLICIES))
@pytest.mark.parametrize("ways", [4, None])
def test_shapes_policies_and_gradients(resnet, norm, ways):
    torch.manual_seed(0)
    model = resnet(channels=1, ways=ways, image_size=28, filters=4, norm=norm)
    outputs = model(torch.rand(6, 1, 28, 28))
    assert model.features == 32
    assert outputs.shape == (6, ways or 32)
    assert model.norm_policy == NORM_POLICIES[norm]
    assert not list(model.buffers())
    gradients = torch.autograd.grad(outputs.square().sum(), list(model.parameters()))
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_dropout_acts_in_training_only_and_follows_the_seed():
    model = ResNet10(filters=4, image_size=32, dropout=0.5)
    x = torch.rand(4, 3, 32, 32)

    def seeded(seed):
        torch.manual_seed(seed)
        return model(x)

    assert torch.equal(seeded(0), seeded(0))
    assert not torch.allclose(seeded(0), seeded(1))
    model.eval()
    assert torch.equal(seeded(0), seeded(1))


def test_impossible_settings_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"Found dropout=1.5; expected a probability.*dropout=0"):
        ResNet10(dropout=1.5)
    with pytest.raises(ValueError, match="Found image_size=8x8; expected at least 16x16"):
        ResNet18(image_size=8)
