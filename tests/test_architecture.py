"""The folder tree tells the architecture: imports go one way."""

import ast
from pathlib import Path

import pytest

import towpath

ROOT = Path(towpath.__file__).parent
ORDER = [
    "wording",
    "files",
    "validation",
    "lazy",
    "machine",
    "flat",
    "distributed",
    "losses",
    "theory",
    "data",
    "backbones",
    "learners",
    "curvature",
    "objective",
    "dynamics",
    "control",
    "weighters",
    "recipes",
    "runs",
    "training",
    "grid",
    "reports",
    "cli",
]
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem in ORDER)


def imported_rooms(path: Path) -> set[str]:
    """First component below `towpath` of every import in the file."""
    rooms: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the arrow"
            base = node.module or ""
            names = [base] if base != "towpath" else [f"towpath.{n.name}" for n in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("towpath.")}
    return rooms


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_never_point_to_the_right(path):
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    assert room in ORDER, f"{room} has no place in the order {ORDER}"
    for other in imported_rooms(path):
        assert other in ORDER, f"{path} imports towpath.{other}, which has no place in the order"
        assert ORDER.index(other) <= ORDER.index(room), f"{room} imports {other}"


def test_control_knows_nothing_of_learning():
    for path in (ROOT / "control").rglob("*.py"):
        assert imported_rooms(path) <= {"control"}, path
