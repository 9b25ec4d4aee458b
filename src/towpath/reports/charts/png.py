"""Pictures as PNG files: how they are written, and the colours of clean and mislabelled tasks."""

import io
from pathlib import Path

from matplotlib.figure import Figure

from towpath.files import write

CLEAN, WRONG = "#009E73", "#D55E00"


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as a PNG file without date or version: the same run gives the same bytes."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=120, metadata={"Software": None})
    write(path, content.getvalue())
    return path
