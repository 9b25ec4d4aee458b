"""The page on the architecture names modules and functions as they are."""

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.test_architecture import ORDER, ROOT

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(towpath\.[\w.]+)`", TEXT)))
FEATURE = re.compile(r"^\| ([^|]+) \| \[([\w/.]+)\]\(([\w/.]+)\) \| `([\w.]+)` \|$", re.MULTILINE)
ROOMS = ORDER[ORDER.index("data") :]


def resolved(name: str) -> tuple[ModuleType, object]:
    """The innermost module of a dotted name, and what the name stands for."""
    parts = name.split(".")
    for inside in range(len(parts), 0, -1):
        place = ".".join(parts[:inside])
        try:
            module = importlib.import_module(place)
        except ModuleNotFoundError:
            continue  # the last parts are names inside a module
        found: object = module
        for part in parts[inside:]:
            found = inspect.getattr_static(found, part)
        return module, found
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_page_is_one_of_the_code(name):
    module, found = resolved(name)
    # the file that defines it, not one that passes it on
    defined = getattr(getattr(found, "__func__", found), "__module__", module.__name__)
    assert defined == module.__name__, f"{name} is defined in {defined}"


def test_a_name_that_is_not_there_is_noticed():
    with pytest.raises(AttributeError):
        resolved("towpath.control.ilqr.nothing")
    with pytest.raises(AttributeError):
        resolved("towpath.control.nothing.solve")


def test_the_walks_go_from_the_command_to_the_table_and_from_plan_to_apply():
    comparison, plan = (
        re.findall(r"`(towpath\.[\w.]+)`", TEXT.split(f"\n## {title}")[1].split("\n## ")[0])
        for title in ("A comparison, hop by hop", "A plan, hop by hop")
    )
    assert comparison[0].startswith("towpath.cli.")
    assert comparison[-1].startswith("towpath.reports.")
    assert plan[0].endswith(".TOW.plan")
    assert any(name.endswith(".Plan.apply_") for name in plan)


def test_features_are_in_the_files_that_the_page_links():
    rows = FEATURE.findall(TEXT)
    assert len(rows) >= 10
    for feature, shown, link, name in rows:
        module, _ = resolved(name)
        assert module.__file__ is not None
        assert (PAGE.parent / link).resolve() == Path(module.__file__).resolve(), feature
        assert link.endswith(shown), feature


def test_the_page_and_the_picture_name_the_rooms_in_the_order_of_their_imports():
    listed = re.search(r"^`(data -> .*?)`$", TEXT, re.MULTILINE | re.DOTALL)
    assert listed is not None
    assert re.split(r"\s*->\s*", listed[1]) == ROOMS
    assert re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE) == ROOMS
    picture = (PAGE.parent / "images" / "architecture.svg").read_text(encoding="utf-8")
    drawn = re.findall(r'font-size="19"[^>]*>(\w+)<', picture)
    assert drawn == ROOMS
    assert "href" not in picture  # self-contained


def test_every_room_of_the_source_has_a_sentence():
    folders = {p.name for p in ROOT.iterdir() if (p / "__init__.py").is_file()}
    assert folders - {"distributed", "losses"} == set(ROOMS)  # these are below all
