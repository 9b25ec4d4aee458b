"""Contact sheets, to see what a split, its classes and its tasks look like."""

import io
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from towpath.data.episode import Episode
from towpath.data.glyph_shapes import face_path
from towpath.data.pool import ClassPool

_GAP = 2
_MARGIN = 8
_TITLE = 20
_LABEL = (120, 400)  # pixels that names may take
_TILE = 42  # small images are enlarged to about this
Take = Callable[[int, NDArray[np.int64]], NDArray[np.uint8]]
SHEET_SIGNATURE = b"Software\0towpath"
"""bytes by which a contact sheet made by towpath is recognised"""


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(face_path("DejaVuSans.ttf")), size)


def _tile(pixels: NDArray[np.uint8], ink_is_one: bool) -> Image.Image:
    """One image `[C, H, W]`; ink is shown dark on white paper, a photograph as it is."""
    shown = 255 - pixels if ink_is_one else pixels
    grey = shown.shape[0] == 1
    image = Image.fromarray(shown[0] if grey else np.ascontiguousarray(shown.transpose(1, 2, 0)))
    return image.convert("RGB").resize((_TILE, _TILE), Image.Resampling.LANCZOS)


def _sheet(title: str, rows: list[tuple[str, list[Image.Image | None]]]) -> Image.Image:
    """Rows of tiles with a label before each; None leaves a gap."""
    pitch = _TILE + _GAP
    columns = max(len(tiles) for _, tiles in rows)
    names = [_fitting(_printable(label)) for label, _ in rows]
    room = max(_LABEL[0], *(round(_font(10).getlength(name)) + _MARGIN for name in names))
    width = 2 * _MARGIN + room + columns * pitch
    width = max(width, round(_font(13).getlength(_printable(title))) + 2 * _MARGIN)
    height = 2 * _MARGIN + _TITLE + len(rows) * pitch
    sheet = Image.new("RGB", (width, height), "white")
    pen = ImageDraw.Draw(sheet)
    pen.text((_MARGIN, _MARGIN), _printable(title), fill="black", font=_font(13))
    for line, (name, (_, tiles)) in enumerate(zip(names, rows, strict=True)):
        top = _MARGIN + _TITLE + line * pitch
        pen.text((_MARGIN, top + _TILE // 3), name, fill="#555555", font=_font(10))
        for column, tile in enumerate(tiles):
            if tile is not None:
                sheet.paste(tile, (_MARGIN + room + column * pitch, top))
    return sheet


def _fitting(name: str) -> str:
    """Return the name, without its middle if it is wider than the sheet allows."""
    kept = len(name)
    while _font(10).getlength(short := _without_middle(name, kept)) > _LABEL[1] - _MARGIN:
        kept -= 1
    return short


def _without_middle(name: str, kept: int) -> str:
    half = kept // 2
    return name if kept >= len(name) else f"{name[: kept - half]}…{name[len(name) - half :]}"


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def split_sheet(pool: ClassPool, rows: int = 16, columns: int = 20) -> Image.Image:
    """Draw a sheet of images of some classes, evenly spread over the pool.

    Args:
        pool: the split to show.
        rows: how many classes, at most.
        columns: how many images of each class, at most.
    """
    chosen = np.unique(np.linspace(0, len(pool) - 1, min(rows, len(pool))).astype(int))
    return class_sheet(pool, chosen.tolist(), pool.describe(), columns)


def class_sheet(
    pool: ClassPool,
    positions: Sequence[int],
    title: str,
    columns: int = 20,
    take: Take | None = None,
) -> Image.Image:
    """Draw a sheet with a row of images for each of some classes.

    Args:
        pool: the split that the classes are of.
        positions: the classes, as indices into `pool.classes`, from top to bottom.
        title: what is written above them.
        columns: how many images of each class, at most.
        take: returns images of a class, by its position and their rows; None for the pool's own.
    """
    lines: list[tuple[str, list[Image.Image | None]]] = []
    for position in positions:
        entry = pool.classes[position]
        shown = (take or pool.take)(position, np.arange(min(columns, entry.count)))
        lines.append((entry.name, [_tile(pixels, pool.ink_is_one) for pixels in shown]))
    return _small(_sheet(title, lines), pool.image_shape[0] == 1, pool.ink_is_one)


def episode_sheet(episode: Episode, columns: int = 15, *, ink_is_one: bool = False) -> Image.Image:
    """Draw a sheet of one task: a row for each label, with support images, a gap, query images.

    Args:
        episode: the task, as an `EpisodeSampler` made it.
        columns: how many query images of each label, at most.
        ink_is_one: whether the images are strokes whose ink is 1, as the task's pool says.
    """
    info = episode.info
    lines: list[tuple[str, list[Image.Image | None]]] = []
    widest = max(int((episode.support_y == way).sum()) for way in range(episode.ways))
    widest = min(widest, 10)
    for way in range(episode.ways):
        tiles: list[Image.Image | None] = []
        for x, y, limit in (
            (episode.support_x, episode.support_y, widest),
            (episode.query_x, episode.query_y, columns),
        ):
            own = (x[y == way][:limit] * 255).round().byte().numpy()
            tiles += [_tile(pixels, ink_is_one) for pixels in own]
            if x is episode.support_x:
                tiles += [None] * (widest - len(own) + 1)
        lines.append((f"{way}: {info['classes'][way]}", tiles))
    synthetic = " (synthetic)" if info["synthetic"] else ""
    wrong = ", mislabelled on purpose" if info["mislabelled"] else ""
    title = (
        f"{info['set']}{synthetic}, {info['split']}, episode {info['index']} of seed "
        f"{info['seed']}: support | query{wrong}"
    )
    return _small(_sheet(title, lines), episode.support_x.shape[1] == 1, ink_is_one)


def _small(sheet: Image.Image, grey: bool, ink_is_one: bool) -> Image.Image:
    """The sheet in as few colours as its images need: 16 greys are enough for ink."""
    if ink_is_one:
        return sheet.convert("L").quantize(16)
    return sheet.convert("L") if grey else sheet


def png(sheet: Image.Image) -> bytes:
    """Return a sheet as a PNG file that carries the signature of towpath."""
    made_by = PngInfo()
    made_by.add_text("Software", "towpath")
    content = io.BytesIO()
    sheet.save(content, "PNG", optimize=True, pnginfo=made_by)
    return content.getvalue()
