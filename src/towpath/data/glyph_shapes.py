"""Turn the outline of a printed character into the line that a pen would follow.

A character is set in a face of the DejaVu family, fitted into a square of `CANVAS` pixels and
thinned to lines one pixel wide (Zhang and Suen 1984). What is kept is the distance of every pixel
to the nearest line, `[CANVAS, CANVAS]`: ink is where that distance is below half a pen's width.
"""

from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.ft2font import FT2Font
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

CANVAS = 64
_GLYPH = 46  # longest side of the character on the canvas
_SET_AT = 160  # size in pixels at which the outline is rasterised before it is fitted

# LastResortHE, in the same folder, maps every code point to a placeholder: faces are named, never
# searched for.
FACES = (
    "DejaVuSans.ttf",
    "DejaVuSerif.ttf",
    "DejaVuSansMono.ttf",
    "DejaVuSerif-Italic.ttf",
    "DejaVuSans-Oblique.ttf",
    "DejaVuSans-Bold.ttf",
    "DejaVuSerif-Bold.ttf",
)


def face_path(face: str) -> Path:
    """Return the path of this font file among those that matplotlib installs."""
    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / face


@cache
def characters_of(face: str) -> frozenset[int]:
    """Return the code points that the face has a glyph for."""
    return frozenset(
        code for code, glyph in FT2Font(str(face_path(face))).get_charmap().items() if glyph
    )


@cache
def _font(face: str) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(face_path(face)), _SET_AT, layout_engine=ImageFont.Layout.BASIC)


def faces_of(character: str) -> list[str]:
    """List those of `FACES` that have a glyph for the character."""
    return [face for face in FACES if ord(character) in characters_of(face)]


def printed(character: str, face: str) -> NDArray[np.bool_]:
    """Return the character as the face prints it, fitted and centred: `[CANVAS, CANVAS]`."""
    sheet = Image.new("L", (3 * _SET_AT, 3 * _SET_AT))
    ImageDraw.Draw(sheet).text((_SET_AT, _SET_AT), character, fill=255, font=_font(face))
    box = sheet.getbbox()
    assert box is not None, f"{face} draws nothing for U+{ord(character):04X}"
    glyph = sheet.crop(box)
    scale = _GLYPH / max(glyph.size)
    width, height = (max(1, round(side * scale)) for side in glyph.size)
    fitted = glyph.resize((width, height), Image.Resampling.BOX)
    canvas = Image.new("L", (CANVAS, CANVAS))
    canvas.paste(fitted, ((CANVAS - width) // 2, (CANVAS - height) // 2))
    return np.asarray(canvas) > 110


def thinned(shapes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Thin a stack of shapes `[B, H, W]` to lines (Zhang-Suen); their borders must be empty."""
    lines = shapes.copy()
    changed = True
    while changed:
        changed = False
        for first in (True, False):
            p2, p4, p6, p8 = (_shifted(lines, *by) for by in ((1, 0), (0, -1), (-1, 0), (0, 1)))
            p3, p5, p7, p9 = (_shifted(lines, *by) for by in ((1, -1), (-1, -1), (-1, 1), (1, 1)))
            ring = (p2, p3, p4, p5, p6, p7, p8, p9)
            neighbours = np.zeros(lines.shape, dtype=np.int8)
            crossings = np.zeros(lines.shape, dtype=np.int8)
            for here, there in zip(ring, (*ring[1:], p2), strict=True):
                neighbours += here
                crossings += ~here & there
            removable = lines & (neighbours >= 2) & (neighbours <= 6) & (crossings == 1)
            if first:
                removable &= ~(p2 & p4 & p6) & ~(p4 & p6 & p8)
            else:
                removable &= ~(p2 & p4 & p8) & ~(p2 & p6 & p8)
            if removable.any():
                lines &= ~removable
                changed = True
    return lines


def _shifted(stack: NDArray[np.bool_], down: int, right: int) -> NDArray[np.bool_]:
    return np.roll(stack, (down, right), axis=(1, 2))


def pen_distances(character: str) -> NDArray[np.float32]:
    """Return the distance of each pixel to the pen's line, for each face that has the character.

    The result is `[F, CANVAS, CANVAS]`, with the faces in the order of `faces_of`.
    """
    lines = thinned(np.stack([printed(character, face) for face in faces_of(character)]))
    return np.stack([ndimage.distance_transform_edt(~line).astype(np.float32) for line in lines])
