"""`glyphs`, the built-in set: synthetic handwriting of printed characters, drawn on the spot.

About 680 characters of 17 scripts, 20 drawings each, 28x28, ink = 255; a group is a script. The
outlines come from the DejaVu fonts that matplotlib installs. Simulated writer n makes the n-th
drawing of every character, with a slant, a size and a pen of their own, and in each drawing with
another face, affine map, elastic deformation and pressure. Nobody wrote these characters: the set
is synthetic, and is called so wherever it appears.

A drawing is made backwards: for each of its pixels p, `q = A^-1 (p + e(p))` says where on the
printed character to look, and p is inked by how far q lies from the pen's line.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from PIL import features
from scipy import ndimage

from towpath.data.build import check_split, split_pool
from towpath.data.cache import Blueprint, StoredClass, StoredSet, stored
from towpath.data.errors import DataError
from towpath.data.glyph_scripts import SCRIPTS
from towpath.data.glyph_shapes import CANVAS, FACES, face_path, pen_distances
from towpath.data.pool import ClassPool
from towpath.data.randomness import Draws
from towpath.validation import Range, Seed
from towpath.wording import nearest

VERSION = 1
SIZE = 28
_FINE = 2 * SIZE  # drawn at twice the size, then averaged
_KNOTS = 5  # the elastic deformation is given at 5 x 5 points


@dataclass(frozen=True)
class Hand:
    """How much drawings vary, with angles in radians and lengths in halves of the image's side."""

    slant: float = 0.18
    rotation: float = 0.12
    scale: float = 0.10
    aspect: float = 0.10
    shift: float = 0.08
    elastic: float = 0.08
    pen: tuple[float, float] = (0.050, 0.085)  # half the stroke's width, thinnest to thickest
    pressure: float = 0.2


@cache
def _knot_weights(points: int) -> NDArray[np.float64]:
    """Cubic B-spline weights `[points, knots]` that carry values at knots to a smooth line."""
    position = np.linspace(0.0, _KNOTS - 1.0, points)[:, None]
    distance = np.abs(position - np.arange(-1, _KNOTS + 1)[None])
    near = 2 / 3 - distance**2 + distance**3 / 2
    far = np.clip(2 - distance, 0, None) ** 3 / 6
    return np.where(distance < 1, near, far)


def _normal(draws: Draws, *shape: int) -> NDArray[np.float64]:
    """About normal, at most 3.46 in size: the sum of twelve uniforms needs no library function."""
    words = draws.words(12 * int(np.prod(shape))).reshape(12, *shape)
    return np.asarray((words >> np.uint64(11)).astype(np.float64).sum(0) * 2.0**-53 - 6.0)


def _writers(seed: int, drawings: int) -> NDArray[np.float64]:
    """Habits of each writer, `[drawings, 4]`: slant, size, aspect, pen."""
    return _normal(Draws("glyphs/writers", seed, 0), drawings, 4)


def draw_character(
    character: str, drawings: int = 20, seed: int = 0, hand: Hand | None = None
) -> NDArray[np.uint8]:
    """Draw one character once by each simulated writer: `[drawings, 28, 28]`, ink = 255.

    Args:
        character: the character, which at least one of the faces must have.
        drawings: how many writers draw it.
        seed: decides the writers and their drawings.
        hand: how much the drawings vary; None for the default.
    """
    hand = hand or Hand()
    draws = Draws("glyphs/drawings", seed, ord(character))
    fields = pen_distances(character)  # [F, CANVAS, CANVAS]
    faces = np.array([draws.integer(0, len(fields) - 1) for _ in range(drawings)])
    habit = _writers(seed, drawings)
    mood = _normal(draws, drawings, 8)
    mixed = 0.7 * habit + 0.7 * mood[:, :4]
    slant = hand.slant * mixed[:, 0]
    size = np.exp2(hand.scale * mixed[:, 1] / np.log(2.0))
    aspect = np.exp2(hand.aspect * mixed[:, 2] / np.log(2.0))
    turn = hand.rotation * mood[:, 4]
    shift = hand.shift * mood[:, 5:7]  # [drawings, 2]

    weights = _knot_weights(_FINE)
    knots = _normal(draws, drawings, 3, _KNOTS + 2, _KNOTS + 2)
    smooth = weights @ knots @ weights.T  # [drawings, 3, fine, fine]
    axis = (np.arange(_FINE) + 0.5) * (2.0 / _FINE) - 1.0
    y = axis[None, :, None] + hand.elastic * smooth[:, 0] - shift[:, 0, None, None]
    x = axis[None, None, :] + hand.elastic * smooth[:, 1] - shift[:, 1, None, None]

    cos, sin = np.cos(turn)[:, None, None], np.sin(turn)[:, None, None]
    x, y = cos * x + sin * y, -sin * x + cos * y
    x = (x + slant[:, None, None] * y) / (size * aspect)[:, None, None]
    y = y / (size / aspect)[:, None, None]
    half = CANVAS / 2
    where = np.broadcast_to(faces[:, None, None], x.shape)
    # Outside the canvas the nearest border value stands in: no ink can come from there.
    distance = ndimage.map_coordinates(
        fields, [where, (y + 1) * half - 0.5, (x + 1) * half - 0.5], order=1, mode="nearest"
    )
    thin, thick = hand.pen
    width = thin + (thick - thin) * np.clip(0.5 + 0.25 * mixed[:, 3], 0.0, 1.0)
    pen = width[:, None, None] * (1.0 + hand.pressure * smooth[:, 2])
    # Back from the canvas's pixels to the drawing's: the pen does not grow with the character.
    ink = np.clip((pen - distance / half * size[:, None, None]) * (_FINE / 2) + 0.5, 0.0, 1.0)
    coarse = ink.reshape(drawings, SIZE, 2, SIZE, 2).mean((2, 4))
    return np.asarray(np.round(coarse * 255.0), dtype=np.uint8)


def _key(drawings: int, seed: int, hand: Hand, scripts: tuple[str, ...]) -> str:
    """Everything that decides the pixels: options, fonts, and the library that rasterises them."""
    total = hashlib.sha256()
    for face in FACES:
        total.update(hashlib.sha256(face_path(face).read_bytes()).digest())
    decisive = {
        "version": VERSION,
        "drawings": drawings,
        "seed": seed,
        "hand": asdict(hand),
        "scripts": {name: SCRIPTS[name].codes for name in scripts},
        "freetype": features.version("freetype2"),
    }
    total.update(json.dumps(decisive, sort_keys=True).encode())
    return total.hexdigest()


def glyph_set(
    drawings: int = 20,
    seed: int = 0,
    hand: Hand | None = None,
    scripts: tuple[str, ...] | None = None,
) -> StoredSet:
    """Return the set with all its splits, from the cache or newly drawn.

    Args:
        drawings: drawings of each character.
        seed: decides the writers and their drawings.
        hand: how much the drawings vary; None for the default.
        scripts: names in `SCRIPTS` to draw; None for all of them.
    """
    hand = hand or Hand()
    chosen = tuple(SCRIPTS) if scripts is None else scripts

    def blueprint() -> Blueprint:
        """List the classes and their rows; nothing is drawn yet."""
        characters = [(name, c) for name in chosen for c in SCRIPTS[name].characters]
        classes = tuple(
            StoredClass(
                SCRIPTS[name].split, name, f"{name}/U+{ord(c):04X}", row * drawings, drawings
            )
            for row, (name, c) in enumerate(characters)
        )

        def fill(images: NDArray[np.uint8]) -> None:
            """Draw every character into its rows of the array."""
            for row, (_, c) in enumerate(characters):
                drawn = draw_character(c, drawings, seed, hand)
                images[row * drawings : (row + 1) * drawings, 0] = drawn

        return Blueprint(classes, (len(characters) * drawings, 1, SIZE, SIZE), fill)

    return stored("glyphs", _key(drawings, seed, hand, chosen), blueprint)


def load_glyphs(
    split: str = "train",
    *,
    drawings: Annotated[int, Range(1, 10_000)] = 20,
    seed: Seed = 0,
    scripts: tuple[str, ...] | None = None,
) -> ClassPool:
    """Return the class pool of a split of the synthetic set.

    Args:
        split: `train`, `validation`, `test` or `all`; they share no script.
        drawings: drawings of each character.
        seed: decides the writers and their drawings.
        scripts: scripts to draw, for a smaller set; None for all 17 of them.
    """
    check_split(split)
    if drawings < 1:
        raise DataError(f"drawings is {drawings}; expected at least 1. The usual is 20.")
    unknown = sorted(set(scripts or ()) - set(SCRIPTS))
    if unknown:
        raise DataError(
            f"glyphs has no script {unknown[0]!r}; expected some of {', '.join(SCRIPTS)}."
            f"{nearest(unknown[0], SCRIPTS)} Correct it."
        )
    whole = glyph_set(drawings, seed, None, scripts)
    return split_pool("glyphs", whole, split, synthetic=True, ink_is_one=True)
