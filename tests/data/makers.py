"""Small pools, pictures and trees that the data tests are made of."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image

from towpath.data import ClassEntry, ClassPool
from towpath.data.windows import Window


def marked_pool(groups: Mapping[str, int], images: int | list[int] = 20) -> ClassPool:
    """A pool whose pixels say which class (pixel 0) and which image (pixel 1) they are of."""
    names = [(group, f"{group}/{i}") for group, count in groups.items() for i in range(count)]
    counts = [images] * len(names) if isinstance(images, int) else images
    entries, rows, start = [], [], 0
    for position, ((group, name), count) in enumerate(zip(names, counts, strict=True)):
        entries.append(ClassEntry(name, group, start, count))
        for image in range(count):
            rows.append([position, image, 255, 0])
        start += count
    pixels = np.array(rows, dtype=np.uint8).reshape(-1, 1, 2, 2)
    return ClassPool("marked", "train", pixels, tuple(entries))


def marks(x) -> list[tuple[int, int]]:
    """(class, image) of each image of a marked pool's tensor."""
    values = (x.flatten(1) * 255).round().int()
    return [(int(row[0]), int(row[1])) for row in values]


def contents(window: Window) -> list[list[tuple[bytes, ...]]]:
    """The bytes of the images and labels of each task of a window."""
    return [
        [
            tuple(
                tensor.numpy().tobytes()
                for tensor in (e.support_x, e.support_y, e.query_x, e.query_y)
            )
            for e in batch
        ]
        for batch in window
    ]


def picture(seed: int, mode: str = "RGB", size: tuple[int, int] = (12, 12)) -> Image.Image:
    """A random picture, the same for the same seed."""
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(pixels).convert(mode)


def encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    """The picture as a file's bytes."""
    stream = io.BytesIO()
    image.save(stream, kind)
    return stream.getvalue()


def write_tree(root: Path, files: Mapping[str, bytes]) -> Path:
    """Files by relative path."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def write_zip(path: Path, files: Mapping[str, bytes]) -> Path:
    """The same as a zip."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path
