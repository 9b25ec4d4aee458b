"""The header of a checkpoint: the JSON metadata of its safetensors file.

The header names the run and the records that the checkpoint belongs to, so that a reader of a run
folder can recognise a checkpoint of another run (`origin.py`) without loading a tensor.
"""

import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from towpath.recipes.typed import RecipeError
from towpath.runs.plain import (
    Json,
    JsonObject,
    count_at,
    is_count,
    number_at,
    object_of,
)
from towpath.runs.trust import ALL_TRUSTED, Trust

FORMAT = 1
LAST, PREVIOUS = "last.safetensors", "previous.safetensors"
NEW = f".{LAST}.new"
"""name under which the next last checkpoint is written before it is renamed"""


class DamagedCheckpointError(Exception):
    """A checkpoint file can be read, but its content is not what was written."""


@dataclass(frozen=True)
class BestStep:
    """The step whose parameters scored best on the validation tasks, and that score."""

    step: int
    score: float


@dataclass(frozen=True, kw_only=True)
class Header:
    """All that a checkpoint stores beside its tensors."""

    # the run that it belongs to
    run: str
    """digest of the run's identity; empty for a run folder of towpath 0.1"""
    records_bytes: int
    """length of records.jsonl that belongs to the checkpoint"""
    records_digest: str
    """SHA-256 of those first bytes; empty in a checkpoint of towpath 0.1"""
    # where training stands
    step: int
    window: int
    failures: int
    evaluations: float
    tasks: int
    steps: tuple[int, ...]
    """steps that the optimiser has taken, for each parameter"""
    weighter_state: Mapping[str, Json] | None
    trust: Trust = ALL_TRUSTED
    """which trusted tasks are left out; all are trusted in a checkpoint that does not say"""
    # validation
    best: BestStep | None
    since_best: int
    # the clock
    seconds: float
    training_seconds: float
    checksums: Mapping[str, int]
    """checksum of each tensor, by name"""

    def as_metadata(self) -> dict[str, str]:
        """Return the header as the metadata of a safetensors file, with a checksum of its own."""
        best = self.best
        content: dict[str, Json] = {
            "format": FORMAT,
            "run": self.run,
            "steps": self.steps,
            "weighter_state": self.weighter_state,
            "step": self.step,
            "window": self.window,
            "failures": self.failures,
            "evaluations": self.evaluations,
            "tasks": self.tasks,
            "best": None if best is None else {"step": best.step, "score": best.score},
            "since_best": self.since_best,
            "records_bytes": self.records_bytes,
            "records_digest": self.records_digest,
            "seconds": self.seconds,
            "training_seconds": self.training_seconds,
            "checksums": self.checksums,
        }
        if self.trust != ALL_TRUSTED:
            content["trust"] = self.trust.as_json()
        text = json.dumps(content)
        return {"towpath": text, "checksum": str(zlib.crc32(text.encode()))}

    @classmethod
    def read(cls, metadata: Mapping[str, str] | None) -> "Header":
        """Return the header of a file after checking the type of every value.

        Raises:
            DamagedCheckpointError: if it is not what was written.
            RecipeError: if another release wrote it.
        """
        header = metadata or {}
        if "towpath" not in header:
            raise DamagedCheckpointError("no towpath header")
        if header.get("checksum") != str(zlib.crc32(header["towpath"].encode())):
            raise DamagedCheckpointError("the header does not match its checksum")
        try:
            content = object_of(json.loads(header["towpath"]), "a header")
            if content["format"] == FORMAT:
                return cls._of(content)
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedCheckpointError(f"the header cannot be read, {error!r}"[:200]) from error
        raise RecipeError(
            f"The checkpoint has format {content['format']!r}; expected {FORMAT}, which this "
            "release of towpath writes. Use the release that trained the run."
        )

    @classmethod
    def _of(cls, content: JsonObject) -> "Header":
        steps, state, best = content["steps"], content["weighter_state"], content["best"]
        if not isinstance(steps, list) or not all(map(is_count, steps)):
            raise TypeError(f"steps is {steps!r}")
        if not isinstance(state, dict | None):
            raise TypeError(f"weighter_state is {state!r}")
        return cls(
            run=str(content.get("run", "")),  # checkpoints of 0.1 have no digests
            records_bytes=count_at(content, "records_bytes"),
            records_digest=str(content.get("records_digest", "")),
            step=count_at(content, "step"),
            window=count_at(content, "window"),
            failures=count_at(content, "failures"),
            evaluations=number_at(content, "evaluations"),
            tasks=count_at(content, "tasks"),
            steps=tuple(step for step in steps if isinstance(step, int)),
            weighter_state=state,
            trust=Trust.from_json(object_of(content["trust"], "the trust in tasks"))
            if "trust" in content
            else ALL_TRUSTED,
            best=None if best is None else _best(object_of(best, "a best step")),
            since_best=count_at(content, "since_best"),
            seconds=number_at(content, "seconds"),
            training_seconds=number_at(content, "training_seconds"),
            checksums={
                name: count_at({name: value}, name)
                for name, value in object_of(content["checksums"], "checksums").items()
            },
        )


def _best(content: JsonObject) -> BestStep:
    score = content["score"]
    if not isinstance(score, float):  # NaN and infinity among them, as they were written
        raise TypeError(f"the score of the best is {score!r}")
    return BestStep(count_at(content, "step"), score)


def checkpoint_files(folder: Path) -> list[Path]:
    """Return the paths of the checkpoints in a folder, the newest first."""
    # between the two renames of a write only the new and the previous file exist
    return [folder / name for name in (LAST, NEW, PREVIOUS) if os.path.lexists(folder / name)]
