"""The trace of a run: a digest and a readable form of every reproducible value in its folder.

A trace has *places*, in the order in which a run reaches them (`step 1 training`, `step 4
validation`, ..., `checkpoint params`, `summary`, `evaluations`), and every place has *fields* by
name. Digesting field by field lets a newer version add fields without disturbing the others.

Only the files of the run folder are read: the trace must survive a refactoring of the package.
"""

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

SHOWN = 160
"""characters kept of a readable value"""
CLOCKS = {"timing", "seconds", "training_seconds"}
"""fields that measure time, which no two runs share"""
NOT_RESULTS = CLOCKS | {
    "versions",  # said once for the whole file of traces
    "records_bytes",  # the length of records.jsonl, which includes the clock's digits
    "records_digest",  # of the same bytes
    "checksums",  # of the tensors, which are digested themselves
    "format",  # the version of the file format
    "run",  # the digest of configuration and data, which every new field of a recipe changes
}


@dataclass(frozen=True)
class Value:
    """One value of a run: equal digests mean equal bits."""

    digest: str
    shown: str


Fields = dict[str, Value]
Trace = dict[str, Fields]
"""fields by place"""


def trace_of(run: Path) -> Trace:
    """The trace of a finished run folder."""
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    evaluations = json.loads((run / "evaluations.json").read_text(encoding="utf-8"))
    return {
        **_records(run / "records.jsonl"),
        **_checkpoint(run / "checkpoints" / "last.safetensors"),
        "summary": dict(_fields(summary)),
        "evaluations": dict(_fields(evaluations)),
    }


def _records(path: Path) -> Trace:
    """A place a line; lines are told apart by their step and kind, not by their number, so that
    a new kind of line does not shift the others."""
    trace: Trace = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        kind = "validation" if "validation" in record else "training"
        if "probe" in record:
            kind = f"probe {record['probe']}"
        place = first = f"step {record['step']} {kind}"
        count = 1
        while place in trace:
            count += 1
            place = f"{first}, line {count}"
        trace[place] = dict(_fields(record))
    return trace


def _checkpoint(path: Path) -> Trace:
    """`params`, `slots` (the optimiser's state) and `best` apart, and the header's counters."""
    trace: Trace = {}
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["towpath"])
        for name in sorted(file.keys()):
            part, _, field = name.partition(".")
            trace.setdefault(f"checkpoint {part}", {})[field] = value_of(file.get_tensor(name))
    trace["checkpoint state"] = dict(_fields(header))
    return trace


def _fields(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Value]]:
    """Values by dotted name; a list of mappings (the tasks of a step) becomes a list a column."""
    for key, value in content.items():
        if key in NOT_RESULTS:
            continue
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            yield from _fields(value, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
            columns = dict.fromkeys(column for row in value for column in row)
            table = {column: [row.get(column) for row in value] for column in columns}
            yield from _fields(table, f"{name}.")
        else:
            yield name, value_of(value)


def value_of(value: Any) -> Value:
    """Digest and readable form of an array, or of a value from a JSON file."""
    digest = hashlib.sha256()
    for part in _encoded(value):
        digest.update(part)
    # 64 bits of the digest: enough for thousands of values, and the file stays small
    return Value(digest.hexdigest()[:16], _shown(value))


def _encoded(value: Any) -> Iterator[bytes]:
    """Bytes that differ whenever the value does, -0.0 and 0.0, 1 and 1.0 included."""
    if isinstance(value, np.ndarray):
        yield f"array {value.dtype} {value.shape};".encode()
        yield value.tobytes()
    elif isinstance(value, float):
        yield b"float " + struct.pack("<d", value)
    elif isinstance(value, list):
        yield f"list {len(value)};".encode()
        for item in value:
            yield from _encoded(item)
    elif isinstance(value, dict):
        yield f"mapping {len(value)};".encode()
        for key, item in value.items():
            yield from _encoded(key)
            yield from _encoded(item)
    else:  # text, a whole number, true, false or null
        text = str(value).encode()
        yield f"{type(value).__name__} {len(text)};".encode() + text


def _shown(value: Any) -> str:
    """All digits of a number, so that a difference in the last bit is seen."""
    if isinstance(value, np.ndarray):
        return _shown_array(value)
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _shown_array(array: NDArray[Any]) -> str:
    numbers = array.astype(np.float64).reshape(-1)
    sums = f"sum {float(numbers.sum())!r}, of squares {float(numbers @ numbers)!r}"
    return f"{array.dtype} {list(array.shape)}, {sums}"
