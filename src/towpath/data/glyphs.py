"""`glyphs`, the built-in set: synthetic handwriting of printed characters, drawn on the spot.

About 680 characters of 17 scripts, 20 drawings each, 28x28, ink = 255; a group is a script. The
outlines come from the DejaVu fonts that matplotlib installs. Simulated writer n makes the n-th
drawing of every character, with a slant, a size and a pen of their own, and in each drawing with
another face, affine map, elastic deformation and pressure (`towpath.data.glyph_drawing`). Nobody
wrote these characters: the set is synthetic, and is called so wherever it appears.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from PIL import features

from towpath.data.build import check_split, split_pool
from towpath.data.cache import Blueprint, StoredClass, StoredSet, stored
from towpath.data.data_set import DataSet, nothing
from towpath.data.errors import DataError
from towpath.data.glyph_drawing import SIZE, Hand, draw_character
from towpath.data.glyph_scripts import SCRIPTS
from towpath.data.glyph_shapes import FACES, face_path
from towpath.data.pool import ClassPool
from towpath.data.set_report import Report, classes_and_images
from towpath.validation import Range, Seed
from towpath.wording import nearest

VERSION = 1
LEAST = (500, 14, 20)
"""characters, scripts, and drawings of each character: the least that the set has"""


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


def _load_glyphs(
    root: str | Path | None = None,
    split: str = "train",
    *,
    drawings: Annotated[int, Range(1, 10_000)] = 20,
    seed: Seed = 0,
    scripts: tuple[str, ...] | None = None,
) -> ClassPool:
    """`load_glyphs` with the arguments that every set's loader takes.

    Args:
        root: the data folder, which is not needed: the set is drawn, not read.
        split: train, validation or test.
        drawings: images of each character.
        seed: of the drawings.
        scripts: some of the scripts, where not all.
    """
    del root
    return load_glyphs(split, drawings=drawings, seed=seed, scripts=scripts)


def _verify(_root: Path) -> Report:
    whole = glyph_set()
    scripts = len({entry.group for entry in whole.classes})
    classes, each = classes_and_images(whole.classes)
    line = f"glyphs (synthetic): {classes} characters in {scripts} scripts, {each} drawings each"
    least = LEAST
    good = classes >= least[0] and scripts >= least[1] and each == str(least[2])
    problem = f"{line}; expected at least {least[0]} in {least[1]}, {least[2]} each"
    return Report("glyphs", (line,), () if good else (problem,))


GLYPHS = DataSet(
    "glyphs",
    "synthetic handwriting drawn from the DejaVu fonts, built in",
    "the fonts: Bitstream Vera / public domain",
    "682 characters of 17 scripts, 20 drawings each, 28x28 (synthetic)",
    _load_glyphs,
    nothing,
    _verify,
    "It is built in: there is nothing to fetch.",
    synthetic=True,
    built_in=True,
    ink_is_one=True,
)
