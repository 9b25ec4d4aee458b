"""Conv4 is the textbook network, whatever the order and layout it computes in."""

import pytest
import torch
from torch import nn

from towpath.backbones import NORM_POLICIES, Conv4
from towpath.backbones.conv4 import ConvBlock


def textbook(model: Conv4, ways: int | None) -> nn.Module:
    """conv - norm - ReLU - pool four times, sharing the model's layers."""
    layers: list[nn.Module] = []
    for block in model.blocks:
        assert isinstance(block, ConvBlock)
        layers += [block.conv, block.norm, nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), *([model.head] if ways else []))


@pytest.mark.parametrize("norm", list(NORM_POLICIES))
@pytest.mark.parametrize(
    ("channels", "image_size", "ways"), [(1, 28, 5), (3, (21, 35), 4), (2, 16, None), (1, 33, None)]
)
def test_outputs_and_gradients_equal_the_textbook_order(norm, channels, image_size, ways):
    torch.manual_seed(0)
    height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
    model = Conv4(channels, ways, image_size, filters=6, norm=norm).double()
    with torch.no_grad():  # gains of both signs: ReLU and pooling commute, the gain does not
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    x = torch.randn(7, channels, height, width, dtype=torch.float64)
    ours, theirs = model(x), textbook(model, ways)(x)
    assert ours.shape == (7, ways or model.features)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)

    cotangent = torch.randn_like(ours)
    parameters = list(model.parameters())
    for mine, reference in zip(
        torch.autograd.grad(ours, parameters, cotangent),
        torch.autograd.grad(theirs, parameters, cotangent),
        strict=True,
    ):
        torch.testing.assert_close(mine, reference, rtol=1e-9, atol=1e-9)


def test_single_precision_agrees_with_the_textbook_order():
    torch.manual_seed(0)
    model = Conv4()
    x = torch.rand(10, 1, 28, 28)
    torch.testing.assert_close(model(x), textbook(model, 5)(x), rtol=1e-4, atol=1e-5)


def test_layout_of_the_input_does_not_matter():
    torch.manual_seed(0)
    for channels in (1, 3):
        model = Conv4(channels).double()
        x = torch.randn(4, channels, 28, 28, dtype=torch.float64)
        turned = x.transpose(2, 3).contiguous().transpose(2, 3)
        assert not turned.is_contiguous()
        torch.testing.assert_close(model(turned), model(x), rtol=1e-10, atol=1e-10)


def test_input_gradient_equals_finite_differences():
    torch.manual_seed(0)
    model = Conv4(1, ways=2, image_size=16, filters=2).double()
    x = torch.randn(2, 1, 16, 16, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(model, (x,), fast_mode=True)
    assert torch.autograd.gradgradcheck(model, (x,), fast_mode=True)


@pytest.mark.parametrize("norm", list(NORM_POLICIES))
def test_policy_is_kept_without_buffers_and_alike_in_training_and_evaluation(norm):
    model = Conv4(norm=norm)
    assert model.norm == norm
    assert model.norm_policy == NORM_POLICIES[norm]
    assert not list(model.buffers())
    x = torch.rand(3, 1, 28, 28)
    assert torch.equal(model.train()(x), model.eval()(x))


def test_only_the_batch_policy_lets_samples_see_each_other():
    torch.manual_seed(0)
    x = torch.rand(6, 1, 28, 28)
    for norm, mixes in (("batch", True), ("group", False), ("none", False)):
        model = Conv4(norm=norm)
        alone, together = model(x[:2]), model(x)[:2]
        assert (not torch.allclose(alone, together, atol=1e-4)) == mixes, norm


def test_small_images_are_refused_with_the_remedy():
    with pytest.raises(
        ValueError, match=r"Found image_size=15x28; expected at least 16x16.*Resize"
    ):
        Conv4(image_size=(15, 28))


def test_unknown_norm_is_refused():
    with pytest.raises(ValueError, match="Found norm='layer'; expected one of 'batch', 'group'"):
        Conv4(norm="layer")


def test_other_images_than_it_was_built_for_are_refused():
    with pytest.raises(ValueError, match=r"\[2, 3, 28, 28\]; expected \[N, 1, 28, 28\]"):
        Conv4()(torch.rand(2, 3, 28, 28))
