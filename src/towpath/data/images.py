"""Decode image files of any mode and size to uint8 pixels `[C, H, W]`."""

import io
import struct
import warnings
import zlib

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from towpath.data.errors import DataError

# What Pillow's plug-ins raise on damaged files, depending on where the damage is.
_UNREADABLE = (
    UnidentifiedImageError,
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    ArithmeticError,
    LookupError,
    TypeError,
    MemoryError,
    RuntimeError,
    struct.error,
    zlib.error,
)

FORMATS = ("PNG", "JPEG", "GIF", "BMP", "PPM", "TIFF", "WEBP")
"""The formats that are decoded, whatever a file's name says. Pillow knows more, but it runs other
programs for some of them (PostScript), which is unsafe for files that come from strangers."""
Image.init()
IMAGE_SUFFIXES = frozenset(
    suffix for suffix, kind in Image.registered_extensions().items() if kind in FORMATS
)


def is_image_name(name: str) -> bool:
    """Return whether the file name ends like that of an image in one of the `FORMATS`."""
    dot = name.rfind(".")
    return dot > 0 and name[dot:].lower() in IMAGE_SUFFIXES


def decode(content: bytes, name: str, size: tuple[int, int], channels: int) -> NDArray[np.uint8]:
    """Decode and resize an image to pixels `[channels, H, W]`.

    Transparency becomes white, and 16 bits become 8.

    Args:
        content: the bytes of the file.
        name: the file's name, for messages.
        size: (H, W) of the result.
        channels: 1 for grey, 3 for colour.
    """
    image = _open(content, name)
    flat = _flatten(image).convert("L" if channels == 1 else "RGB")
    height, width = size
    if flat.size != (width, height):
        flat = flat.resize((width, height), Image.Resampling.LANCZOS)
    pixels = np.asarray(flat)
    return pixels[None] if channels == 1 else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def is_grey(content: bytes, name: str) -> bool:
    """Return whether the image has no colour, judged by its pixels rather than by its mode.

    Args:
        content: the bytes of the file.
        name: the file's name, for messages.
    """
    image = _open(content, name)
    if image.mode in ("1", "L", "LA", "I", "I;16", "F"):
        return True
    pixels = np.asarray(_flatten(image).convert("RGB"))
    return bool((pixels == pixels[..., :1]).all())


def _open(content: bytes, name: str) -> Image.Image:
    if not content:
        raise DataError(
            f"{name!r} has zero bytes; expected an image. Copy the file again or remove it."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            warnings.filterwarnings("ignore", category=UserWarning)
            image = Image.open(io.BytesIO(content), formats=FORMATS)
            image.load()
            return ImageOps.exif_transpose(image)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise DataError(
            f"{name!r} has more pixels than an image should ({error}); expected a photograph or "
            "a drawing. Remove the file or resize it."
        ) from error
    except _UNREADABLE as error:
        # Pillow names the stream that it was given, which says nothing to the file's owner
        unknown = isinstance(error, UnidentifiedImageError)
        reason = "its content is of no known format" if unknown else str(error)
        raise DataError(
            f"{name!r} cannot be read as an image ({reason or type(error).__name__}); expected "
            f"one of {', '.join(FORMATS)}. Convert the file, copy it again or remove it."
        ) from error


def _flatten(image: Image.Image) -> Image.Image:
    """Without transparency and without more than 8 bits a channel."""
    if image.mode.startswith("I"):  # 16-bit grey; Pillow's own conversion would clip at 255
        values = np.asarray(image).astype(np.float64)
        return Image.fromarray(np.clip(values / 257.0 + 0.5, 0, 255).astype(np.uint8))
    if image.mode == "F":
        values = np.nan_to_num(np.asarray(image).astype(np.float64))
        return Image.fromarray(np.clip(values + 0.5, 0, 255).astype(np.uint8))
    if image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        layered = image.convert("RGBA")
        paper = Image.new("RGBA", layered.size, "white")
        return Image.alpha_composite(paper, layered)
    return image
