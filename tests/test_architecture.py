"""The folder tree tells the architecture: imports go one way, and files, functions and signatures
stay small enough to be read.

Where the tree is not there yet, the exceptions are listed here, and the lists may only get shorter:
an exception that is no longer needed fails the test until it is taken off.
"""

import ast
import re
from collections.abc import Iterator
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
    "metrics",
    "label_evidence",
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


# -- sizes -------------------------------------------------------------------------------------

LINES_OF_A_MODULE, LINES_OF_A_FUNCTION, PARAMETERS = 400, 60, 8

LONG_MODULES: set[str] = set()
LONG_FUNCTIONS: set[str] = set()
LONG_SIGNATURES: set[str] = set()
SOURCES = sorted(ROOT.rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function below the node, by its qualified name; nested ones as well."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield prefix + child.name, child
            yield from functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from functions(child, f"{prefix}{child.name}.")
        else:
            yield from functions(child, prefix)


def parameters(function: Function) -> list[str]:
    """Names of the parameters, without `self` and `cls`."""
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


REASON = re.compile(r"\b(parameters|arguments)\b[^.]*\bbecause\b")


def states_a_reason(function: Function, text: str) -> bool:
    """Whether a docstring, or a comment in the signature or on the two lines above it, says why the
    function takes so many: "... parameters because ..."."""
    above = text.splitlines()[max(0, function.lineno - 3) : function.body[0].lineno - 1]
    comments = " ".join(line.partition("#")[2] for line in above)
    words = f"{comments} {ast.get_docstring(function) or ''}"
    return bool(REASON.search(" ".join(words.split())))


def long_functions(text: str) -> set[str]:
    """Functions with more lines than a reader keeps in mind, from `def` to the last one."""
    return {
        name
        for name, function in functions(ast.parse(text))
        if (function.end_lineno or 0) - function.lineno + 1 > LINES_OF_A_FUNCTION
    }


def long_signatures(text: str) -> set[str]:
    """Functions with too many parameters that do not say why."""
    return {
        name
        for name, function in functions(ast.parse(text))
        if len(parameters(function)) > PARAMETERS and not states_a_reason(function, text)
    }


def named(found: dict[str, set[str]]) -> set[str]:
    return {f"{place}: {name}" for place, names in found.items() for name in names}


def check_ratchet(found: set[str], allowed: set[str], limit: str, listed: str) -> None:
    new, mended = sorted(found - allowed), sorted(allowed - found)
    assert not new, f"{new} exceed {limit}. Split them."
    assert not mended, f"{mended} are within {limit} now. Take them off {listed}."


def texts() -> dict[str, str]:
    return {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in SOURCES}


def test_no_module_has_more_than_400_lines():
    found = {place for place, text in texts().items() if text.count("\n") > LINES_OF_A_MODULE}
    check_ratchet(found, LONG_MODULES, f"{LINES_OF_A_MODULE} lines", "LONG_MODULES")


def test_no_function_has_more_than_60_lines():
    found = named({place: long_functions(text) for place, text in texts().items()})
    check_ratchet(found, LONG_FUNCTIONS, f"{LINES_OF_A_FUNCTION} lines", "LONG_FUNCTIONS")


def test_no_signature_has_more_than_8_parameters_without_a_stated_reason():
    found = named({place: long_signatures(text) for place, text in texts().items()})
    limit = f"{PARAMETERS} parameters without a sentence '... parameters because ...'"
    check_ratchet(found, LONG_SIGNATURES, limit, "LONG_SIGNATURES")


def test_sizes_are_measured_as_a_reader_would():
    many = ", ".join("abcdefgh")
    method = f"class C:\n    def m(self, {many}):\n        pass\n"
    assert long_signatures(method) == set()  # self does not count
    assert long_signatures(method.replace("self, ", "self, x, ")) == {"C.m"}
    assert long_signatures(f"def f({many}, *, x):\n    pass\n") == {"f"}
    why = "Nine parameters because the file has nine columns."
    assert long_signatures(f"def f({many}, x):\n    'Reads it. {why}'\n") == set()
    assert long_signatures(f"# {why}\ndef f({many}, x):\n    pass\n") == set()
    assert long_signatures(f"def f({many}, x):\n    'It has parameters. Because.'\n") == {"f"}
    line = "    x = 1\n"
    assert long_functions("def f():\n" + 59 * line) == set()
    assert long_functions("def f():\n    def g():\n" + 60 * f"    {line}") == {"f", "f.g"}


# -- test files that mirror modules -------------------------------------------------------------

WITHOUT_A_TEST_FILE = {
    "": 2,
    "backbones": 1,
    "control": 5,
    "curvature": 1,
    "data": 11,
    "distributed": 1,
    "dynamics": 3,
    "grid": 1,
    "learners": 9,
    "objective": 5,
    "reports": 3,
    "training": 8,
    "weighters": 23,
}
"""how many modules of a room (of the root: "") have no `tests/<room>/test_<module>.py`"""


def unmirrored(modules: list[Path], tests: Path) -> dict[str, list[str]]:
    """Modules, as paths below `src/towpath`, without a test file of their name, by room.

    A module in a room's inner folder may have its test file in the room itself.
    """
    missing: dict[str, list[str]] = {}
    for module in modules:
        if module.stem in ("__init__", "__main__"):
            continue
        room = module.parts[0] if len(module.parts) > 1 else ""
        name = f"test_{module.stem}.py"
        if not (tests / module.parent / name).exists() and not (tests / room / name).exists():
            missing.setdefault(room, []).append(module.as_posix())
    return missing


def test_ever_more_modules_have_a_test_file_of_their_name():
    missing = unmirrored([p.relative_to(ROOT) for p in SOURCES], Path(__file__).parent)
    for room in sorted({*missing, *WITHOUT_A_TEST_FILE}):
        found, allowed = missing.get(room, []), WITHOUT_A_TEST_FILE.get(room, 0)
        assert len(found) <= allowed, (
            f"{room or 'the root'}: {len(found)} modules have no test file of their name, and "
            f"{allowed} may. Add tests/{room}/test_<module>.py for one of {found}."
        )
        assert len(found) == allowed, (
            f"{room or 'the root'}: only {len(found)} modules have no test file of their name. "
            "Lower the number in WITHOUT_A_TEST_FILE, so that it stays so."
        )


def test_a_test_file_is_looked_for_in_the_room_and_in_its_inner_folder(tmp_path):
    (tmp_path / "room" / "inner").mkdir(parents=True)
    for name in ("room/test_a.py", "room/inner/test_b.py", "test_c.py"):
        (tmp_path / name).touch()
    modules = ["room/inner/a.py", "room/inner/b.py", "room/b.py", "room/c.py", "c.py", "d.py"]
    missing = unmirrored([Path(name) for name in modules], tmp_path)
    assert missing == {"room": ["room/b.py", "room/c.py"], "": ["d.py"]}
