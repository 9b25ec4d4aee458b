"""`made_with` of a run's `config.yaml`: what is needed, beside the recipe, to repeat the run.

It also carries the version of the folder's format. Format 2 names the kind of every record; run
folders of towpath 0.1 state no format and are read as format 1.
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import torch

from towpath.data import TaskShape
from towpath.recipes.typed import RecipeError
from towpath.runs.identity import KEY, Identity
from towpath.runs.plain import Json, JsonObject, is_count

FORMAT = 2
"""version of the file format of a run folder"""


@dataclass(frozen=True)
class MadeWith:
    """What a run was made with, beside its recipe: sizes, command, versions, digests."""

    shape: TaskShape | None = None
    """None where the file does not record it"""
    command: str = ""
    """the command line; empty for a run made from Python"""
    versions: Mapping[str, str] = field(default_factory=dict)
    identity: Identity | None = None
    """None in a run folder of towpath 0.1"""
    format: int = FORMAT
    table: str = ""
    """digest of `table.json`; empty for a run on images"""

    def as_mapping(self) -> dict[str, Json]:
        """Return the plain values from which `read` makes the object again."""
        content: dict[str, Json] = {"format": self.format}
        if self.shape is not None:
            content |= _sizes(self.shape)
        content |= {"command": self.command, "versions": dict(self.versions)}
        if self.table:
            content["table"] = self.table
        if self.identity is not None:
            content[KEY] = self.identity.as_mapping()
        return content

    @classmethod
    def read(cls, content: JsonObject, path: Path) -> "MadeWith":
        """Return what a configuration records; whatever is missing is unknown.

        Args:
            content: the section `made_with` of the configuration.
            path: the configuration's file, for messages.

        Raises:
            RecipeError: if the identity cannot be read, or a later release wrote the folder.
        """
        found = content.get("format", 1)
        if not isinstance(found, int) or found > FORMAT:
            raise RecipeError(
                f"{path} has made_with.format {found!r}; expected at most {FORMAT}, which this "
                "release of towpath writes. Use the release that trained the run."
            )
        versions = content.get("versions")
        return cls(
            shape=_shape(content),
            command=str(content.get("command") or ""),
            versions={name: str(v) for name, v in versions.items()}
            if isinstance(versions, Mapping)
            else {},
            identity=Identity.read(content, path),
            format=found,
            table=str(content.get("table") or ""),
        )


def _sizes(shape: TaskShape) -> dict[str, Json]:
    """Return the sizes that are needed to build a trained model again without its data."""
    outputs = {"targets" if shape.is_regression else "ways": shape.outputs}
    if not shape.of_images:
        return {"features": shape.inputs[0], **outputs}
    channels, height, _ = shape.inputs
    return {"channels": channels, "image_size": height, **outputs}


def _shape(content: JsonObject) -> TaskShape | None:
    """Return the shape whose sizes are recorded; None where one of them is missing."""
    sizes = {
        name: size
        for name in ("channels", "image_size", "features", "ways", "targets")
        if isinstance(size := content.get(name), int) and is_count(size)
    }
    outputs = sizes.get("ways", sizes.get("targets"))
    if outputs is None:
        return None
    if "features" in sizes:
        return TaskShape((sizes["features"],), outputs, is_regression="ways" not in sizes)
    if "channels" in sizes and "image_size" in sizes:
        height = sizes["image_size"]
        return TaskShape((sizes["channels"], height, height), outputs)
    return None


def versions() -> dict[str, str]:
    """Return the versions of towpath, torch and Python that are running now."""
    return {
        "towpath": version("towpath"),
        "torch": str(torch.__version__),
        "python": platform.python_version(),
    }
