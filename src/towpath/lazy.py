"""Imports at first use, because torch takes seconds to import and `towpath --help` must not.

`exports` serves the `__init__` of a package (PEP 562): `towpath.TOW` imports `towpath.weighters`
the first time that it is read, and is an ordinary attribute from then on. Type checkers see
ordinary imports below `if TYPE_CHECKING:`. The commands of cli/ import what they need when they
run.

A package must not export a name that one of its modules has: importing the module would hide it.
"""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any


def exports(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for the `__init__` of a package.

    Modules of the package are attributes of it too, and imported when they are first read.

    Args:
        package: the package's own name, `__name__`.
        homes: the names that the package exports, by the full name of the module they are in.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> Any:
        """Import the module that has the name, and return what it stands for."""
        if name in home_of:
            value = getattr(importlib.import_module(home_of[name]), name)
        elif not name.startswith("__") and find_spec(f"{package}.{name}") is not None:
            value = importlib.import_module(f"{package}.{name}")
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)  # the next access does not come here
        return value

    def names() -> list[str]:
        """List what the package exports, imported already or not."""
        own = vars(sys.modules[package])
        return sorted({*own, *own["__all__"]})

    return get, names
