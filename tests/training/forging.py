"""Checkpoints rewritten with other contents and right checksums."""

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file


def header(path: Path) -> dict[str, Any]:
    """What the header of a checkpoint says."""
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()["towpath"])


def forge(
    path: Path,
    change: Callable[[dict[str, Any]], Any] = lambda meta: None,
    change_tensors: Callable[[dict[str, torch.Tensor]], Any] = lambda tensors: None,
) -> None:
    """Change header and tensors in place, and make every checksum fit."""
    meta = header(path)
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change_tensors(tensors)
    meta["checksums"] = {
        name: zlib.crc32(t.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        for name, t in tensors.items()
    }
    change(meta)
    text = json.dumps(meta)
    words = {"towpath": text, "checksum": str(zlib.crc32(text.encode()))}
    save_file({name: t.contiguous() for name, t in tensors.items()}, path, metadata=words)
