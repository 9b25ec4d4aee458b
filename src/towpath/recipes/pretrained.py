"""Pretrained and frozen parameters of a recipe's backbone.

    backbone:
      name: resnet18
      weights: net.safetensors                           # or {file: net.safetensors, skip: [head]}
      frozen: [stem, blocks.0]                           # layers that are not trained

Weights are read from safetensors files only: nothing is ever unpickled. The digest of the file is
kept with the run like that of its data, so that a resumed run notices another file.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor, nn

from towpath.files import expanded, open_regular
from towpath.recipes.component import Component
from towpath.recipes.typed import RecipeError, options_for
from towpath.wording import nearest, quoted

OPTIONS = ("weights", "frozen")
"""options of the section `backbone` that are not its class's own"""
WEIGHTS = "backbone.weights"
MANY = 5
"""the most names that a message lists"""


@dataclass(frozen=True)
class Pretrained:
    """The file that a backbone's parameters and buffers are read from."""

    file: str
    skip: list[str] = field(default_factory=list)
    """layers, or patterns of names such as "*.running_mean", that are not read: they keep their
    initial values, and may be missing in the file or in the model"""

    @classmethod
    def of(cls, given: object) -> "Pretrained | None":
        """Read `backbone.weights`: a file, or a mapping with `file` and `skip`; None for nothing.

        Args:
            given: what the recipe has there.

        Raises:
            RecipeError: if it is anything else.
        """
        if given is None:
            return None
        if isinstance(given, str):
            return cls(given)
        if not isinstance(given, Mapping):
            raise RecipeError(
                f"{WEIGHTS} is {quoted(given)}; expected a safetensors file, such as "
                "net.safetensors, or {file: net.safetensors, skip: [head]}."
            )
        return cls(**options_for(cls, given, WEIGHTS))

    @classmethod
    def of_backbone(cls, backbone: Component) -> "Pretrained | None":
        """Return the pretrained weights of a recipe's backbone, None if it has none.

        A class of the user's may have an option of this name with a meaning of its own: what names
        no safetensors file is left to it.
        """
        given = backbone.options.get("weights")
        own_class = bool({".", ":"} & set(backbone.name))
        return None if own_class and not _names_a_file(given) else cls.of(given)

    def lasting(self) -> str | dict[str, object]:
        """Return the option with an absolute path, as `config.yaml` of a run has it."""
        file = str(expanded(self.file).resolve())
        return {"file": file, "skip": list(self.skip)} if self.skip else file

    def content(self) -> str:
        """Return the digest of the file's bytes."""
        return hashlib.sha256(self._bytes()).hexdigest()

    def load_into(self, model: nn.Module) -> None:
        """Copy the file's tensors into the model's parameters and buffers.

        Args:
            model: the model, whose names and shapes the file must have.

        Raises:
            RecipeError: if names or shapes differ, or the file is no safetensors file.
        """
        found = self._tensors()
        held = model.state_dict()
        expected = {name: t for name, t in held.items() if not self._skips(name)}
        given = {name: t for name, t in found.items() if not self._skips(name)}
        self._check(given, expected)
        with torch.no_grad():
            for name, tensor in expected.items():
                tensor.copy_(given[name])

    def _skips(self, name: str) -> bool:
        return _belongs(name, self.skip) or any(fnmatchcase(name, one) for one in self.skip)

    def _bytes(self) -> bytes:
        with open_regular(Path(expanded(self.file))) as file:
            return file.read()

    def _tensors(self) -> dict[str, Tensor]:
        content = self._bytes()
        try:
            return dict(load(content))
        except (SafetensorError, ValueError) as error:
            raise RecipeError(
                f"{WEIGHTS} is {quoted(self.file)}, which is no safetensors file ({error}); "
                "expected one, because a pickled file could run code. Convert it with "
                "safetensors.torch.save_file(model.state_dict(), 'net.safetensors')."
            ) from None

    def _check(self, found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
        """Raise RecipeError unless the file has the model's names with the model's shapes."""
        missing = [name for name in expected if name not in found]
        unexpected = [name for name in found if name not in expected]
        misshaped = [
            f"{name} {list(found[name].shape)} (the model: {list(tensor.shape)})"
            for name, tensor in expected.items()
            if name in found and found[name].shape != tensor.shape
        ]
        problems = (("lacks", missing), ("has besides", unexpected), ("differs in", misshaped))
        told = [f"{verb} {_listed(names)}" for verb, names in problems if names]
        if told:
            raise RecipeError(
                f"{WEIGHTS} is {quoted(self.file)}, which {' and '.join(told)}; expected the "
                f"{len(expected)} tensors of the backbone, by name and shape. Choose the backbone "
                "that the file was made with, or leave layers out: "
                f"{WEIGHTS}: {{file: ..., skip: [head]}}."
            )


def has_untrained(model: nn.Module) -> bool:
    """Return whether a model has tensors that no checkpoint has: frozen parameters, or buffers."""
    return any(not p.requires_grad for p in model.parameters()) or any(
        True for _ in model.buffers()
    )


def weights_content(backbone: Component) -> dict[str, str]:
    """Return the digest of a backbone's pretrained weights by its name in a run's identity."""
    pretrained = Pretrained.of_backbone(backbone)
    return {} if pretrained is None else {WEIGHTS: pretrained.content()}


def freeze(model: nn.Module, given: object) -> None:
    """Freeze the layers that `backbone.frozen` names: their parameters are not trained.

    Args:
        model: the model.
        given: names of layers, as in `model.named_modules()`, or of parameters; None for none.

    Raises:
        RecipeError: if a name is not the model's, or nothing would be left to train.
    """
    if given is None:
        return
    layers = [given] if isinstance(given, str) else given
    if not isinstance(layers, list) or not all(isinstance(name, str) for name in layers):
        raise RecipeError(
            f"backbone.frozen is {quoted(given)}; expected names of layers, such as [stem]."
        )
    params = dict(model.named_parameters())
    known = [name for name, _ in model.named_modules() if name] + list(params)
    for layer in layers:
        if layer not in known:
            tops = ", ".join(name for name, _ in model.named_children())
            raise RecipeError(
                f"backbone.frozen has {quoted(layer)}; expected a layer of the backbone, such as "
                f"{tops}.{nearest(layer, known)}"
            )
    for name, p in params.items():
        if _belongs(name, layers):
            p.requires_grad_(False)
    if not any(p.requires_grad for p in params.values()):
        raise RecipeError(
            f"backbone.frozen is {quoted(given)}, which is all of the backbone; expected something "
            "left to train. Take a layer off the list."
        )


def _belongs(name: str, layers: list[str]) -> bool:
    return any(name == layer or name.startswith(f"{layer}.") for layer in layers)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return ", ".join(names[:MANY]) + more


def _names_a_file(given: object) -> bool:
    file = given.get("file") if isinstance(given, Mapping) else given
    return isinstance(file, str) and file.endswith(".safetensors")
