"""What a run is, so that files that do not belong together are noticed.

A run is its configuration and the content of its data. Both are written into `config.yaml` when the
run begins, as one short digest a section and one a data set, and the digest of all of them goes
into every checkpoint and into the summary. So an edited configuration, another run's checkpoint or
results, and data that changed are noticed, and the message can name what is different. Nothing in
it is random: two runs that would end in the same bits are the same run.

What may be changed on purpose is left out by name (`MAY_CHANGE`). Run folders of towpath 0.1 have
no identity; they are read, and one sentence says that changes to them cannot be noticed.
"""

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from towpath.recipes.rules import rules_of
from towpath.recipes.spelling import spelt
from towpath.recipes.typed import RecipeError
from towpath.runs.plain import Json, JsonObject, count_at, object_of

logger = logging.getLogger(__name__)
KEY = "identity"
"""key of the identity in `made_with` of config.yaml, in a checkpoint and in a summary"""
MAY_CHANGE = (
    "about",
    "compare",
    "device",
    "threads",
    "training.checkpoint_every",
    "training.steps",  # it may only be raised
)
PLACES = ("data.name", "data.mix", "trusted.data", "test.also")
"""fields that name data sets; where they are paths the data may move, since content is compared"""


@dataclass(frozen=True)
class Identity:
    """The digests of a run's configuration and data, by which its files are recognised."""

    sections: Mapping[str, str]
    """digest of each section of the configuration"""
    data: Mapping[str, str]
    """digest of each data set, keyed by the recipe's field that names the set"""
    steps: int
    """number of steps requested when the run began"""

    @classmethod
    def of(cls, config: JsonObject, data: Mapping[str, str]) -> "Identity":
        """Compute the identity of a new run.

        Args:
            config: the plain values of `config.yaml`. Not a `Recipe`, which fills in the defaults
                of the release that reads it.
            data: a digest of each data set.
        """
        return cls(_digests(config), dict(data), _steps(config) or 0)

    @property
    def digest(self) -> str:
        """One digest of everything, which is stored in the files that belong to the run."""
        return _digest({"sections": dict(self.sections), "data": dict(self.data)})

    def as_mapping(self) -> dict[str, Json]:
        """Return the plain values from which `read` makes the identity again."""
        return {"sections": dict(self.sections), "data": dict(self.data), "steps": self.steps}

    @classmethod
    def read(cls, made_with: JsonObject, path: Path) -> "Identity | None":
        """Return the identity stored in `made_with`; None for a run folder of towpath 0.1.

        Args:
            made_with: the section of the configuration.
            path: the configuration's file, for messages.

        Raises:
            RecipeError: if the identity is there but damaged.
        """
        found = made_with.get(KEY)
        if found is None:
            return None
        try:
            identity = object_of(found, "the identity of a run")
            sections, data = (
                {name: str(digest) for name, digest in object_of(identity[part], part).items()}
                for part in ("sections", "data")
            )
            return cls(sections, data, count_at(identity, "steps"))
        except (KeyError, TypeError) as error:
            raise RecipeError(
                f"{path} has a made_with.{KEY} that cannot be read ({error!r}); expected what the "
                "run wrote. Restore the file, or train again in a new folder."
            ) from error

    def check_config(self, config: JsonObject, path: Path) -> None:
        """Raise RecipeError if the configuration was edited in a way that bars resuming the run."""
        now = _digests(config)
        edited = sorted(
            name for name in {*now, *self.sections} if now.get(name) != self.sections.get(name)
        )
        if edited:
            raise RecipeError(
                f"{path} was edited since the run began ({', '.join(edited)}); expected it as the "
                f"run wrote it, but for {', '.join(MAY_CHANGE)}. Undo the edit, or train with the "
                "other values in a new folder."
            )
        steps = _steps(config)
        if steps is not None and steps < self.steps:
            raise RecipeError(
                f"{path} says training.steps {steps}; expected at least {self.steps}, with which "
                "the run began: it may only be raised. Undo the edit, or train in a new folder."
            )

    def check_data(self, data: Mapping[str, str], run: Path) -> None:
        """Raise RecipeError if the content of a data set has changed since the run began.

        Sets that are not loaded now are not checked.

        Args:
            data: digests of the sets that are loaded, keyed as in `Identity.data`.
            run: the run's folder, for the message.
        """
        changed = [
            name for name, content in data.items() if self.data.get(name, content) != content
        ]
        if changed:
            raise RecipeError(
                f"The data of {run} have changed since it began ({', '.join(changed)}): images or "
                "rows, classes, splits or pretrained weights are not those it was trained with; "
                "expected the same files. Restore them, or train again in a new folder."
            )


def tell_of_old(path: Path) -> None:
    """Warn that changes to a run folder of towpath 0.1, which has no digests, go unnoticed."""
    logger.warning(
        "%s was begun by towpath 0.1, which kept no digest of data and configuration: whether they "
        "changed since then cannot be noticed.",
        path,
    )


def differences(asked: JsonObject, found: JsonObject, where: str = "") -> list[str]:
    """Return the dotted names of requested values that a configuration has otherwise.

    Values that only `found` has are no difference: they are defaults that were filled in later.

    Args:
        asked: the requested configuration.
        found: the configuration to compare with it.
        where: dotted name of the section that both are, for the names returned.
    """
    names = []
    for key, value in _plain(asked).items():
        name, other = f"{where}{key}", found.get(key) if isinstance(found, Mapping) else None
        if name in MAY_CHANGE and name != "training.steps":
            continue
        if isinstance(value, dict) and isinstance(other, Mapping) and name not in PLACES:
            names += differences(value, other, f"{name}.")
        elif not _same(_placeless(name, value), _placeless(name, _plain({key: other})[key])):
            names.append(name)
    return names


def _same(one: Json, other: Json) -> bool:
    """Return whether two values are equal; YAML reads `1e-3` as a word, an option as a number.

    A component that was asked for in a word is written down as a section with all its options, and
    a list of them as such sections by name.
    """
    if isinstance(one, str) and isinstance(other, Mapping):
        return not differences(spelt(one).as_mapping(), other)
    if isinstance(one, list) and isinstance(other, Mapping):
        return list(rules_of(one, "rules")) == list(other)
    for word, number in ((one, other), (other, one)):
        if isinstance(word, str) and isinstance(number, int | float):
            try:
                return float(word) == number
            except ValueError:
                return False
    return one == other


def _steps(config: JsonObject) -> int | None:
    """Return the number of steps that a configuration requests, if it is a number."""
    steps = object_of(config["training"], "a section").get("steps")
    return steps if isinstance(steps, int) else None


def _digests(config: JsonObject) -> dict[str, str]:
    return {name: _digest(value)[:16] for name, value in _decisive(config)}


def _decisive(config: JsonObject) -> Iterator[tuple[str, Json]]:
    """Yield the sections of a configuration without the fields that may change."""
    for section, value in _plain(config).items():
        if section in MAY_CHANGE:
            continue
        if isinstance(value, dict):
            value = {
                key: _placeless(f"{section}.{key}", inside)
                for key, inside in value.items()
                if f"{section}.{key}" not in MAY_CHANGE
            }
        yield section, value


def _placeless(name: str, value: Json) -> Json:
    """Return the value; a path to the user's own data is cut to its last part."""
    if name not in PLACES:
        return value
    if isinstance(value, list):
        return [_placeless(name, one) for one in value]
    if isinstance(value, dict):  # data by name, with its share
        return {str(_placeless(name, key)): inside for key, inside in value.items()}
    if not isinstance(value, str):
        return value
    # a run folder may have been made on the other kind of system
    for path in (PurePosixPath(value), PureWindowsPath(value)):
        if path.is_absolute():
            return path.name
    return value


def _plain(value: JsonObject) -> dict[str, Json]:
    """Return the mapping as JSON would give it back: lists for tuples, strings for keys."""
    plain: dict[str, Json] = json.loads(json.dumps(value, default=str))
    return plain


def _digest(value: Json) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
