"""Pretrained weights and frozen layers of a recipe's backbone."""

import pickle

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from towpath.files import FileError
from towpath.recipes.component import Component
from towpath.recipes.pretrained import Pretrained, freeze, has_untrained, weights_content
from towpath.recipes.typed import RecipeError


def net(outputs: int = 2) -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, outputs))


def saved(path, tensors):
    save_file({name: t.contiguous() for name, t in tensors.items()}, path)
    return Pretrained.of(str(path))


def test_all_parameters_and_buffers_come_from_the_file(tmp_path):
    source, model = net(), net()
    source(torch.randn(8, 3))  # moves the running statistics
    pretrained = saved(tmp_path / "net.safetensors", source.state_dict())
    assert pretrained is not None
    pretrained.load_into(model)
    for name, tensor in source.state_dict().items():
        assert torch.equal(model.state_dict()[name], tensor)


def test_layers_may_be_left_out_by_name_or_pattern(tmp_path):
    source, model = net(outputs=5), net()
    before = model.state_dict()["2.weight"].clone()
    path = str(tmp_path / "net.safetensors")
    save_file({k: v for k, v in source.state_dict().items() if "running" not in k}, path)
    pretrained = Pretrained.of({"file": path, "skip": ["2", "*.running_*"]})
    assert pretrained is not None
    pretrained.load_into(model)
    assert torch.equal(model[2].weight, before)
    assert torch.equal(model[0].weight, source[0].weight)


def test_missing_unexpected_and_misshaped_names_are_told_in_one_sentence(tmp_path):
    tensors = net(outputs=5).state_dict()
    tensors["fc.weight"] = tensors.pop("0.weight")
    pretrained = saved(tmp_path / "net.safetensors", tensors)
    model = net()
    before = model.state_dict()["0.bias"].clone()
    with pytest.raises(RecipeError) as refusal:
        pretrained.load_into(model)
    said = str(refusal.value)
    assert "lacks 0.weight and has besides fc.weight and differs in 2.weight [5, 4]" in said
    assert "(the model: [2, 4])" in said
    assert "skip: [head]" in said
    assert "\n" not in said
    assert torch.equal(model[0].bias, before), "nothing is read of a file that does not fit"


def test_many_names_are_counted(tmp_path):
    pretrained = saved(tmp_path / "a.safetensors", {"x": torch.ones(1)})
    with pytest.raises(RecipeError, match=r"lacks 0.weight, .* and 4 more and has besides x"):
        pretrained.load_into(net())


class Loud:
    """Unpickling it fails the test."""

    def __reduce__(self):
        return pytest.fail, ("unpickled",)


def test_nothing_is_unpickled(tmp_path):
    path = tmp_path / "net.safetensors"
    path.write_bytes(pickle.dumps(Loud()))
    with pytest.raises(RecipeError, match=r"no safetensors file.*could run code.*save_file"):
        Pretrained(str(path)).load_into(net())


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileError, match=r"gone\.safetensors"):
        Pretrained(str(tmp_path / "gone.safetensors")).content()


@pytest.mark.parametrize("wrong", [3, ["a.safetensors"], {"skip": ["head"]}, {"file": 3}])
def test_another_value_is_refused(wrong):
    with pytest.raises(RecipeError, match=r"backbone\.weights"):
        Pretrained.of(wrong)


def test_the_digest_is_that_of_the_bytes(tmp_path):
    path = tmp_path / "net.safetensors"
    save_file(net().state_dict(), path)
    backbone = Component("conv4", {"weights": str(path)})
    first = weights_content(backbone)
    assert first.keys() == {"backbone.weights"}
    save_file(net().state_dict(), path)
    assert weights_content(backbone) != first
    assert weights_content(Component("conv4")) == {}


def test_an_option_of_a_users_class_keeps_its_own_meaning():
    assert weights_content(Component("package.nets:Net", {"weights": "IMAGENET1K_V1"})) == {}


def test_paths_last(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Pretrained("a.safetensors").lasting() == str(tmp_path / "a.safetensors")
    assert Pretrained("a.safetensors", ["head"]).lasting() == {
        "file": str(tmp_path / "a.safetensors"),
        "skip": ["head"],
    }


def test_layers_are_frozen_by_name():
    model = net()
    freeze(model, ["0", "1.bias"])
    frozen = [name for name, p in model.named_parameters() if not p.requires_grad]
    assert frozen == ["0.weight", "0.bias", "1.bias"]
    freeze(model, "2")
    assert not model[2].weight.requires_grad
    assert has_untrained(model)
    assert not has_untrained(nn.Linear(2, 2))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["body"], "has 'body'; expected a layer of the backbone, such as 0, 1, 2"),
        (["0", "1", "2"], "all of the backbone"),
        (True, "expected names of layers"),
    ],
)
def test_layers_that_cannot_be_frozen_are_told(given, said):
    with pytest.raises(RecipeError, match=said):
        freeze(net(), given)
