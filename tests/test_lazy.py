"""Names that are imported when they are asked for look as if they had been there from the start."""

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import towpath
import towpath.data
import towpath.training

PACKAGES = [towpath, towpath.data, towpath.training]


def for_type_checkers(package) -> set[str]:
    """Names that the package's `__init__` imports below `if TYPE_CHECKING:`."""
    body = ast.parse(Path(package.__file__).read_text(encoding="utf-8")).body
    (checked,) = (node for node in body if isinstance(node, ast.If))
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in imports for alias in node.names}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.__name__)
def test_every_name_is_there_for_people_programs_and_type_checkers(package):
    assert set(package.__all__) <= set(dir(package))
    assert for_type_checkers(package) == set(package.__all__)
    everything: dict[str, object] = {}
    exec(f"from {package.__name__} import *", everything)
    for name in package.__all__:
        assert everything[name] is getattr(package, name)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.__name__)
def test_no_exported_name_is_hidden_by_a_module_of_the_same_name(package):
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    for name in modules & set(package.__all__):
        assert getattr(package, name) is importlib.import_module(f"{package.__name__}.{name}")


def test_a_name_that_is_not_there_is_an_attribute_error():
    assert not hasattr(towpath, "TOWW")
    assert not hasattr(towpath.data, "__wrapped__")
    with pytest.raises(ImportError, match="TOWW"):
        from towpath import TOWW  # noqa: F401


def test_modules_are_attributes_whether_or_not_they_were_imported():
    assert towpath.theory.__name__ == "towpath.theory"
    assert towpath.weighters.TOW is towpath.TOW
