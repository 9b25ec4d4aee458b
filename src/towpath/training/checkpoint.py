"""Checkpoints: one safetensors file holds the tensors and, in its header, the rest as JSON.

A file is written beside its place, flushed to the disk and renamed, and the one before it is kept:
whatever happens, a complete checkpoint remains. Nothing is unpickled. Checksums of the tensors
tell a damaged file from a good one, and the digests of the run and of its records so far tell one
of another run (`Origin`).
"""

import logging
import zlib
from collections.abc import Mapping, Sequence
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
from towpath.runs.belonging import require_regular
from towpath.runs.header import (
    LAST,
    NEW,
    PREVIOUS,
    BestStep,
    DamagedCheckpointError,
    Header,
    checkpoint_files,
)
from towpath.runs.origin import ForeignRecordsError, Origin
from towpath.training.state import TrainState
from towpath.weighters.tensors import TENSORS, parted

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Best:
    """The parameters that scored best on the validation tasks, with their step and score."""

    params: dict[str, Tensor]
    step: int
    score: float


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The complete state of a run between two windows, from which it can be resumed."""

    state: TrainState
    best: Best | None
    since_best: int
    """number of validations since the best one"""
    records_bytes: int
    """length of records.jsonl that belongs to this checkpoint"""
    # wall-clock time so far, the only figures that are not reproducible
    seconds: float
    """the whole run so far"""
    training_seconds: float
    """planning and training alone, without validation and probes"""
    records_digest: str = ""
    """SHA-256 of those first bytes of records.jsonl; empty in a checkpoint of towpath 0.1"""

    def to(self, device: torch.device | str) -> "Checkpoint":
        """Return a copy of the checkpoint with its tensors on a device."""
        optimizer = self.state.optimizer
        slots = tuple(slot.to(device) for slot in optimizer.slots)
        state = replace(
            self.state,
            params={name: p.to(device) for name, p in self.state.params.items()},
            optimizer=replace(optimizer, slots=slots),
        )
        plain, held = parted(state.weighter_state)
        if held:
            moved = {name: t.to(device) for name, t in held.items()}
            state = replace(state, weighter_state={**(plain or {}), TENSORS: moved})
        best = self.best
        if best is not None:
            best = replace(best, params={name: p.to(device) for name, p in best.params.items()})
        return replace(self, state=state, best=best)


def save_checkpoint(folder: Path, checkpoint: Checkpoint, run: str = "") -> None:
    """Write the checkpoint as the last one, and keep the one before it.

    Whenever the process is killed, a complete checkpoint exists under one of the names that
    `load_checkpoint` tries.

    Args:
        folder: the run's folder of checkpoints.
        checkpoint: the state to save.
        run: digest of the run's identity.
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = _encode(checkpoint, run)
    last = folder / LAST
    beside = folder / NEW
    write(beside, content)
    if last.exists():
        last.replace(folder / PREVIOUS)
    beside.replace(last)
    logger.info("checkpoint of step %d written to %s", checkpoint.state.step, last)


def load_checkpoint(folder: Path, start: TrainState, origin: Origin) -> Checkpoint | None:
    """Load the last undamaged checkpoint onto the CPU; return None if there is none yet.

    Args:
        folder: the run's folder of checkpoints.
        start: the state before the first step; a checkpoint must have its shapes.
        origin: the run that the checkpoint must belong to.

    Raises:
        RecipeError: if all checkpoints are damaged, or one belongs to another run.
    """
    damage = ""
    foreign: ForeignRecordsError | None = None
    for path in checkpoint_files(folder):
        require_regular(path, "a checkpoint that the run wrote")
        try:
            return _decode(path, start, origin)
        except ForeignRecordsError as error:
            foreign = foreign or error
            logger.warning("%s Trying the checkpoint before it.", error)
        except (SafetensorError, DamagedCheckpointError, OSError) as error:
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


def _encode(checkpoint: Checkpoint, run: str) -> bytes:
    state, best = checkpoint.state, checkpoint.best
    tensors = {f"params.{name}": p for name, p in state.params.items()}
    tensors |= {f"slots.{i}": slot for i, slot in enumerate(state.optimizer.slots)}
    if best is not None:
        tensors |= {f"best.{name}": p for name, p in best.params.items()}
    plain, held = parted(state.weighter_state)
    tensors |= {f"weighter.{name}": t for name, t in held.items()}
    # copies: the best parameters may be the current ones, and safetensors refuses shared memory
    tensors = {name: t.detach().cpu().clone() for name, t in tensors.items()}
    header = Header(
        run=run,
        records_bytes=checkpoint.records_bytes,
        records_digest=checkpoint.records_digest,
        step=state.step,
        window=state.window,
        failures=state.failures,
        evaluations=state.evaluations,
        tasks=state.tasks,
        steps=state.optimizer.steps,
        weighter_state=plain,
        trust=state.trust,
        best=None if best is None else BestStep(best.step, best.score),
        since_best=checkpoint.since_best,
        seconds=checkpoint.seconds,
        training_seconds=checkpoint.training_seconds,
        checksums={name: _checksum(t) for name, t in tensors.items()},
    )
    return save(tensors, metadata=header.as_metadata())


def _checksum(tensor: Tensor) -> int:
    return zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())


def _decode(path: Path, start: TrainState, origin: Origin) -> Checkpoint:
    with safe_open(path, framework="pt") as file:
        header = Header.read(file.metadata())
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if tensors.keys() != header.checksums.keys():
        raise DamagedCheckpointError("it holds other tensors than its header says")
    for name, expected in header.checksums.items():
        if _checksum(tensors[name]) != expected:
            raise DamagedCheckpointError(f"the tensor {name} does not match its checksum")
    params = _part(tensors, "params.")
    _check_model(path, params, start.params)
    slots = _slots(path, tensors, header.steps, start.optimizer)
    best = None
    if header.best is not None:
        best_params = _part(tensors, "best.")
        if _shapes(best_params) != _shapes(start.params):
            raise DamagedCheckpointError("the best parameters are not those of the model")
        ordered = {name: best_params[name] for name in start.params}
        best = Best(ordered, header.best.step, header.best.score)
    # first, since "another model" helps the user more than "another run"
    origin.check(path, header)
    memory: Mapping[str, Any] | None = header.weighter_state
    if memory and TENSORS in memory:
        memory = {**memory, TENSORS: _part(tensors, "weighter.")}
    state = TrainState(
        params={name: params[name] for name in start.params},
        # every mini-batch trained on is one step of a schedule
        optimizer=replace(start.optimizer, slots=slots, steps=header.steps, taken=header.step),
        weighter_state=memory,
        trust=header.trust,
        step=header.step,
        window=header.window,
        failures=header.failures,
        evaluations=header.evaluations,
        tasks=header.tasks,
    )
    return Checkpoint(
        state,
        best,
        header.since_best,
        header.records_bytes,
        header.seconds,
        header.training_seconds,
        header.records_digest,
    )


def _check_model(path: Path, params: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Raise RecipeError if the parameters are not those of the recipe's model."""
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
    path: Path, tensors: Mapping[str, Tensor], steps: Sequence[int], cold: OptimiserState
) -> tuple[Tensor, ...]:
    """Return the optimiser's moments; raise RecipeError if they are another optimiser's."""
    slots = _part(tensors, "slots.")
    if (len(slots), len(steps)) != (len(cold.slots), len(cold.steps)):
        raise RecipeError(
            f"The checkpoint {path} is of another optimiser ({len(slots)} moments a parameter); "
            f"expected {len(cold.slots)}, as this run's recipe says. Use the recipe that it was "
            "trained with."
        )
    if _shapes(slots) != _shapes({str(i): slot for i, slot in enumerate(cold.slots)}):
        raise DamagedCheckpointError("the moments are not those of the optimiser")
    return tuple(slots[str(i)] for i in range(len(slots)))


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, tuple[torch.Size, torch.dtype]]:
    return {name: (t.shape, t.dtype) for name, t in tensors.items()}


def _part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
