"""Draw a character by hand, in simulation: once by each of several writers.

A drawing is made backwards: for each of its pixels p, `q = A^-1 (p + e(p))` says where on the
printed character to look, and p is inked by how far q lies from the pen's line.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from towpath.data.glyph_shapes import CANVAS, pen_distances
from towpath.data.randomness import Draws

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
