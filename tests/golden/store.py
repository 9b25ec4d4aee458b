"""Files of traces: JSON, with the machine and the build that the traces are of."""

import json
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.golden.trace import Trace, Value

FORMAT = 1
Traces = dict[str, Trace]


class GoldenError(ValueError):
    """The file or the selection cannot be used; the text says what to do."""


def build() -> dict[str, str]:
    """What decides how numbers are rounded here."""
    return {
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }


def write(path: Path, traces: Traces) -> None:
    """The file of traces."""
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = {name: _plain(trace) for name, trace in traces.items()}
    content = {"format": FORMAT, "build": build(), "cases": plain}
    path.write_text(json.dumps(content, indent=0, ensure_ascii=False), encoding="utf-8")


def _plain(trace: Trace) -> dict[str, dict[str, Any]]:
    return {
        place: {name: asdict(value) for name, value in fields.items()}
        for place, fields in trace.items()
    }


def read(path: Path) -> Traces:
    """The traces of a file; GoldenError where they are of another machine or build."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise GoldenError(
            f"{path} cannot be read ({error}); expected a file of traces. Write one with the code "
            f"as it was before your change: python -m tests.golden record {path}"
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise GoldenError(f"{path} is no file of traces of format {FORMAT}. Record it again.")
    if content["build"] != build():
        raise GoldenError(
            f"{path} was recorded with {content['build']}; found {build()} here. Traces are "
            "comparable only on one machine and build. Record it again here."
        )
    return {
        name: {
            place: {field: Value(**value) for field, value in fields.items()}
            for place, fields in places.items()
        }
        for name, places in content["cases"].items()
    }
