"""Checkpoints: one safetensors file holds the tensors and, in its header, the rest as JSON.

A file is written beside its place, flushed to the disk and renamed, and the one before it is kept:
whatever happens, a complete checkpoint remains. Nothing is unpickled. Checksums of the tensors
tell a damaged file from a good one.
"""

import json
import logging
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from towpath.dynamics import Dynamics, OptimiserState
from towpath.files import UnreadableError, check_readable, write
from towpath.training.state import TrainState
from towpath.training.typed import RecipeError

logger = logging.getLogger(__name__)
FORMAT = 1
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


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint as the last one, and keep the one before it.

    After every line below a complete checkpoint lies under one of the names that are read.
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = _encode(checkpoint)
    last = folder / LAST
    beside = folder / f".{LAST}.new"
    write(beside, content)
    if last.exists():
        last.replace(folder / PREVIOUS)
    beside.replace(last)
    logger.info("checkpoint of step %d written to %s", checkpoint.state.step, last)


def load_checkpoint(folder: Path, dynamics: Dynamics) -> Checkpoint | None:
    """The last good checkpoint, on the CPU; None if there is none yet, RecipeError if all are
    damaged.

    Args:
        folder: the run's `checkpoints`.
        dynamics: the optimiser that the recipe names; its layout must be the checkpoint's.
    """
    damage = ""
    # between the two renames of a write only the new and the previous file exist
    for name in (LAST, f".{LAST}.new", PREVIOUS):
        path = folder / name
        if not path.exists():
            continue
        try:
            return _decode(path, dynamics)
        except UnreadableError:  # no permission: what is in it may well be good
            raise
        except (SafetensorError, _DamagedError, json.JSONDecodeError, OSError, KeyError) as error:
            damage = damage or f"{path.name}: {error}"
            logger.warning("checkpoint %s is damaged (%s); trying the one before it", path, error)
    if damage:
        raise RecipeError(
            f"Every checkpoint in {folder} is damaged ({damage}); expected at least one complete "
            "file. Delete the run folder and train again."
        )
    return None


class _DamagedError(Exception):
    """The file is readable but not what was written."""


def _encode(checkpoint: Checkpoint) -> bytes:
    state = checkpoint.state
    tensors = {f"params.{name}": p for name, p in state.params.items()}
    tensors |= {f"slots.{i}": slot for i, slot in enumerate(state.optimizer.slots)}
    if checkpoint.best is not None:
        tensors |= {f"best.{name}": p for name, p in checkpoint.best.params.items()}
    # copies: the best parameters may be the current ones, and safetensors refuses shared memory
    tensors = {name: t.detach().cpu().clone() for name, t in tensors.items()}
    meta = {
        "format": FORMAT,
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
        "seconds": checkpoint.seconds,
        "training_seconds": checkpoint.training_seconds,
        "checksums": {name: _checksum(t) for name, t in tensors.items()},
    }
    text = json.dumps(meta)
    return save(tensors, metadata={"towpath": text, "checksum": str(zlib.crc32(text.encode()))})


def _checksum(tensor: Tensor) -> int:
    return zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())


def _decode(path: Path, dynamics: Dynamics) -> Checkpoint:
    check_readable(path)
    with safe_open(path, framework="pt") as file:
        header = file.metadata() or {}
        if "towpath" not in header:
            raise _DamagedError("no towpath header")
        if header.get("checksum") != str(zlib.crc32(header["towpath"].encode())):
            raise _DamagedError("the header does not match its checksum")
        meta = json.loads(header["towpath"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for name, expected in meta["checksums"].items():
        if name not in tensors or _checksum(tensors[name]) != expected:
            raise _DamagedError(f"the tensor {name} does not match its checksum")
    params = _part(tensors, "params.")
    layout = dynamics.layout
    found = {name: p.shape for name, p in params.items()}
    expected_shapes = dict(zip(layout.names, layout.shapes, strict=True))
    if found != expected_shapes:
        raise RecipeError(
            f"The checkpoint {path} is of another model ({len(found)} parameters, "
            f"{sum(p.numel() for p in params.values()):,} numbers); expected the "
            f"{len(layout.names)} parameters of this run's recipe ({layout.total:,} numbers). "
            "Use the recipe that it was trained with."
        )
    params = {name: tensors[f"params.{name}"] for name in layout.names}
    slots = tuple(tensors[f"slots.{i}"] for i in range(_count(tensors, "slots.")))
    cold = OptimiserState.cold(dynamics, params)
    if (len(slots), len(meta["steps"])) != (len(cold.slots), len(cold.steps)):
        raise RecipeError(
            f"The checkpoint {path} is of another optimiser ({len(slots)} moments a parameter); "
            f"expected {len(cold.slots)}, as this run's recipe says. Use the recipe that it was "
            "trained with."
        )
    best_params = _part(tensors, "best.")
    state = TrainState(
        params=params,
        optimizer=OptimiserState(dynamics, slots, tuple(meta["steps"])),
        weighter_state=meta["weighter_state"],
        step=meta["step"],
        window=meta["window"],
        failures=meta["failures"],
        evaluations=meta["evaluations"],
        tasks=meta["tasks"],
    )
    best = None
    if meta["best"] is not None:
        ordered = {name: best_params[name] for name in layout.names}
        best = Best(ordered, meta["best"]["step"], meta["best"]["score"])
    return Checkpoint(
        state,
        best,
        meta["since_best"],
        meta["records_bytes"],
        meta["seconds"],
        meta["training_seconds"],
    )


def _part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def _count(tensors: Mapping[str, Any], prefix: str) -> int:
    return sum(name.startswith(prefix) for name in tensors)
