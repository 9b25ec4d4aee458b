"""Checkpoints: one safetensors file holds the tensors and, in its header, the rest as JSON.

A file is written beside its place, flushed to the disk and renamed, and the one before it is kept:
whatever happens, a complete checkpoint remains. Nothing is unpickled. Checksums of the tensors
tell a damaged file from a good one, and the digests of the run and of its records so far tell one
of another run (`Origin`).
"""

import json
import logging
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from towpath.dynamics import OptimiserState
from towpath.files import write
from towpath.recipes.typed import RecipeError
from towpath.runs.belonging import is_count, is_number, prefix_digest, require_regular
from towpath.runs.folder import RunFolder
from towpath.training.state import TrainState

logger = logging.getLogger(__name__)
FORMAT = 1
COUNTS = ("step", "window", "failures", "tasks", "since_best", "records_bytes")
FIGURES = ("evaluations", "seconds", "training_seconds")
LAST, PREVIOUS = "last.safetensors", "previous.safetensors"


@dataclass(frozen=True, eq=False)
class Best:
    """The parameters that did best on the validation tasks."""

    params: dict[str, Tensor]
    step: int
    score: float


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Where a run stands between two windows."""

    state: TrainState
    best: Best | None
    since_best: int
    """validations since the best"""
    records_bytes: int
    """length of records.jsonl that belongs to this checkpoint"""
    # wall-clock time so far, the only figures that are not reproducible
    seconds: float
    """of everything"""
    training_seconds: float
    """of planning and training alone, without validation and probes"""
    records_digest: str = ""
    """SHA-256 of those first bytes of records.jsonl; empty in a checkpoint of towpath 0.1"""

    def to(self, device: torch.device | str) -> "Checkpoint":
        """The same with its tensors on a device."""
        optimizer = self.state.optimizer
        slots = tuple(slot.to(device) for slot in optimizer.slots)
        state = replace(
            self.state,
            params={name: p.to(device) for name, p in self.state.params.items()},
            optimizer=replace(optimizer, slots=slots),
        )
        best = self.best
        if best is not None:
            best = replace(best, params={name: p.to(device) for name, p in best.params.items()})
        return replace(self, state=state, best=best)


@dataclass(frozen=True)
class Origin:
    """The run that a checkpoint must be of."""

    run: str
    """digest of the run's identity; empty for a run folder of towpath 0.1"""
    records: Path
    """its records"""

    @classmethod
    def of(cls, folder: RunFolder) -> "Origin":
        """The run in a folder."""
        return cls(folder.digest, folder.records_path)

    def check_run(self, path: Path, found: str) -> None:
        """RecipeError if the checkpoint is another run's."""
        if found != self.run:
            raise RecipeError(
                f"The checkpoint {path} is of another run than the config.yaml beside it; expected "
                "the files of one run. Restore the file that was replaced, or train again in a new "
                "folder."
            )

    def check_records(self, path: Path, size: int, digest: str) -> None:
        """ForeignRecordsError if the records are not those that the checkpoint was written with.

        Only the bytes before the checkpoint count: whatever a run wrote after it is written again.
        """
        found = self.records.stat().st_size if self.records.is_file() else 0
        if found < size:
            raise ForeignRecordsError(
                f"{self.records} has {found} bytes; expected at least {size}, as the checkpoint "
                "says. Restore the file, or delete the run folder and train again."
            )
        prefix = prefix_digest(self.records, size)
        if digest and (prefix is None or prefix.hexdigest() != digest):
            raise ForeignRecordsError(
                f"{self.records} is not the file that the checkpoint {path} was written with: it "
                "was edited, or is of another run; expected the files of one run. Restore it, or "
                "delete the run folder and train again."
            )


class ForeignRecordsError(RecipeError):
    """Records that do not belong to a checkpoint."""


def save_checkpoint(folder: Path, checkpoint: Checkpoint, run: str = "") -> None:
    """Write the checkpoint as the last one, and keep the one before it.

    After every line below a complete checkpoint lies under one of the names that are read.

    Args:
        folder: the run's `checkpoints`.
        checkpoint: where the run stands.
        run: digest of the run's identity.
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = _encode(checkpoint, run)
    last = folder / LAST
    beside = folder / f".{LAST}.new"
    write(beside, content)
    if last.exists():
        last.replace(folder / PREVIOUS)
    beside.replace(last)
    logger.info("checkpoint of step %d written to %s", checkpoint.state.step, last)


def load_checkpoint(folder: Path, start: TrainState, origin: Origin) -> Checkpoint | None:
    """The last good checkpoint, on the CPU; None if there is none yet, RecipeError if all are
    damaged, or of another run.

    Args:
        folder: the run's `checkpoints`.
        start: the state before the first step; a checkpoint must have its shapes.
        origin: the run that it must be of.
    """
    damage = ""
    foreign: ForeignRecordsError | None = None
    for path in _files(folder):
        require_regular(path, "a checkpoint that the run wrote")
        try:
            return _decode(path, start, origin)
        except ForeignRecordsError as error:
            foreign = foreign or error
            logger.warning("%s Trying the checkpoint before it.", error)
        except (SafetensorError, _DamagedError, json.JSONDecodeError, OSError) as error:
            damage = damage or f"{path.name}: {error}"
            logger.warning("checkpoint %s is damaged (%s); trying the one before it", path, error)
    if foreign is not None:
        raise foreign
    if damage:
        raise RecipeError(
            f"Every checkpoint in {folder} is damaged ({damage}); expected at least one complete "
            "file. Delete the run folder and train again."
        )
    return None


def _files(folder: Path) -> list[Path]:
    """What is there, the newest first."""
    # between the two renames of a write only the new and the previous file exist
    names = (LAST, f".{LAST}.new", PREVIOUS)
    return [folder / name for name in names if os.path.lexists(folder / name)]


def check_origin(folder: RunFolder) -> None:
    """RecipeError if the last checkpoint is another run's, or the records are not its own.

    Only the header is read. A checkpoint that is damaged says nothing here.
    """
    origin = Origin.of(folder)
    for path in _files(folder.checkpoints)[:1]:
        require_regular(path, "a checkpoint that the run wrote")
        try:
            with safe_open(path, framework="pt") as file:
                meta = _header(file.metadata())
        except (SafetensorError, _DamagedError, OSError):
            return
        origin.check_run(path, meta["run"])
        origin.check_records(path, meta["records_bytes"], meta["records_digest"])


class _DamagedError(Exception):
    """The file is readable but not what was written."""


def _encode(checkpoint: Checkpoint, run: str) -> bytes:
    state = checkpoint.state
    tensors = {f"params.{name}": p for name, p in state.params.items()}
    tensors |= {f"slots.{i}": slot for i, slot in enumerate(state.optimizer.slots)}
    if checkpoint.best is not None:
        tensors |= {f"best.{name}": p for name, p in checkpoint.best.params.items()}
    # copies: the best parameters may be the current ones, and safetensors refuses shared memory
    tensors = {name: t.detach().cpu().clone() for name, t in tensors.items()}
    meta = {
        "format": FORMAT,
        "run": run,
        "steps": list(state.optimizer.steps),
        "weighter_state": state.weighter_state,
        "step": state.step,
        "window": state.window,
        "failures": state.failures,
        "evaluations": state.evaluations,
        "tasks": state.tasks,
        "best": None
        if checkpoint.best is None
        else {"step": checkpoint.best.step, "score": checkpoint.best.score},
        "since_best": checkpoint.since_best,
        "records_bytes": checkpoint.records_bytes,
        "records_digest": checkpoint.records_digest,
        "seconds": checkpoint.seconds,
        "training_seconds": checkpoint.training_seconds,
        "checksums": {name: _checksum(t) for name, t in tensors.items()},
    }
    text = json.dumps(meta)
    return save(tensors, metadata={"towpath": text, "checksum": str(zlib.crc32(text.encode()))})


def _checksum(tensor: Tensor) -> int:
    return zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())


def _header(metadata: Mapping[str, str] | None) -> dict[str, Any]:
    """The header, every value of the kind that was written; checkpoints of 0.1 have no digests."""
    header = metadata or {}
    if "towpath" not in header:
        raise _DamagedError("no towpath header")
    if header.get("checksum") != str(zlib.crc32(header["towpath"].encode())):
        raise _DamagedError("the header does not match its checksum")
    try:
        meta = {"run": "", "records_digest": "", **json.loads(header["towpath"])}
        if meta["format"] != FORMAT:
            raise RecipeError(
                f"The checkpoint has format {meta['format']!r}; expected {FORMAT}, which this "
                "release of towpath writes. Use the release that trained the run."
            )
        best = meta["best"]
        sound = {
            **{name: is_count(meta[name]) for name in COUNTS},
            **{name: is_number(meta[name]) for name in FIGURES},
            "steps": isinstance(meta["steps"], list) and all(map(is_count, meta["steps"])),
            "weighter_state": isinstance(meta["weighter_state"], dict | None),
            "checksums": isinstance(meta["checksums"], dict),
            "run": isinstance(meta["run"], str) and isinstance(meta["records_digest"], str),
            "best": best is None or (is_count(best["step"]) and isinstance(best["score"], float)),
        }
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, RecipeError):
            raise
        raise _DamagedError(f"the header cannot be read, {error!r}") from error
    for name, is_sound in sound.items():
        if not is_sound:
            raise _DamagedError(f"{name} of the header is {meta[name]!r}"[:200])
    return meta


def _decode(path: Path, start: TrainState, origin: Origin) -> Checkpoint:
    with safe_open(path, framework="pt") as file:
        meta = _header(file.metadata())
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if tensors.keys() != meta["checksums"].keys():
        raise _DamagedError("it holds other tensors than its header says")
    for name, expected in meta["checksums"].items():
        if _checksum(tensors[name]) != expected:
            raise _DamagedError(f"the tensor {name} does not match its checksum")
    params = _part(tensors, "params.")
    _check_model(path, params, start.params)
    slots = _slots(path, tensors, meta["steps"], start.optimizer)
    best = None
    if meta["best"] is not None:
        best_params = _part(tensors, "best.")
        if _shapes(best_params) != _shapes(start.params):
            raise _DamagedError("the best parameters are not those of the model")
        ordered = {name: best_params[name] for name in start.params}
        best = Best(ordered, meta["best"]["step"], meta["best"]["score"])
    # another model or optimiser says more than "another run"
    origin.check_run(path, meta["run"])
    origin.check_records(path, meta["records_bytes"], meta["records_digest"])
    state = TrainState(
        params={name: params[name] for name in start.params},
        optimizer=OptimiserState(start.optimizer.dynamics, slots, tuple(meta["steps"])),
        weighter_state=meta["weighter_state"],
        step=meta["step"],
        window=meta["window"],
        failures=meta["failures"],
        evaluations=meta["evaluations"],
        tasks=meta["tasks"],
    )
    return Checkpoint(
        state,
        best,
        meta["since_best"],
        meta["records_bytes"],
        meta["seconds"],
        meta["training_seconds"],
        meta["records_digest"],
    )


def _check_model(path: Path, params: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """RecipeError if the parameters are not those of the recipe's model."""
    if {name: p.shape for name, p in params.items()} != {n: p.shape for n, p in expected.items()}:
        raise RecipeError(
            f"The checkpoint {path} is of another model ({len(params)} parameters, "
            f"{sum(p.numel() for p in params.values()):,} numbers); expected the {len(expected)} "
            f"parameters of this run's recipe ({sum(p.numel() for p in expected.values()):,} "
            "numbers). Use the recipe that it was trained with."
        )
    if _shapes(params) != _shapes(expected):
        found, wanted = (next(iter(each.values())).dtype for each in (params, expected))
        raise RecipeError(
            f"The checkpoint {path} is of numbers of another kind ({found}); expected {wanted}, as "
            "dtype of this run's recipe says. Use the recipe that it was trained with."
        )


def _slots(
    path: Path, tensors: Mapping[str, Tensor], steps: list[int], cold: OptimiserState
) -> tuple[Tensor, ...]:
    """The optimiser's moments; RecipeError if they are another optimiser's."""
    slots = _part(tensors, "slots.")
    if (len(slots), len(steps)) != (len(cold.slots), len(cold.steps)):
        raise RecipeError(
            f"The checkpoint {path} is of another optimiser ({len(slots)} moments a parameter); "
            f"expected {len(cold.slots)}, as this run's recipe says. Use the recipe that it was "
            "trained with."
        )
    if _shapes(slots) != _shapes({str(i): slot for i, slot in enumerate(cold.slots)}):
        raise _DamagedError("the moments are not those of the optimiser")
    return tuple(slots[str(i)] for i in range(len(slots)))


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, tuple[torch.Size, torch.dtype]]:
    return {name: (t.shape, t.dtype) for name, t in tensors.items()}


def check_weighter_state(found: Any, initial: Any, where: str = "weighter_state") -> None:
    """RecipeError if what a weighter remembers is not of the kind that it starts with.

    A collection that starts empty may be filled with numbers and with further collections.
    """
    sound = isinstance(found, type(initial)) or (is_number(found) and is_number(initial))
    if sound and isinstance(initial, dict) and initial:
        sound = found.keys() == initial.keys()
    elif sound and isinstance(initial, dict):
        sound = all(is_number(value) or isinstance(value, dict | list) for value in found.values())
    if not sound:
        raise RecipeError(
            f"The checkpoint has {where} {repr(found)[:80]}; expected what the weighter of this "
            "run's recipe remembers. Delete the run folder and train again."
        )
    for key in initial if isinstance(initial, dict) else ():
        check_weighter_state(found[key], initial[key], f"{where}.{key}")


def _part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
