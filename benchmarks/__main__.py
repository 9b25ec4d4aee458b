"""`make bench`: all benchmarks, or one that is named.

python -m benchmarks              all of them, each in a process of its own, and one page of
                                  everything that they print: bench-results/page.md
python -m benchmarks NAME [...]   one of them, with its own arguments; NAME --help says what it does

A benchmark that fails does not keep the others from running; the page says so, and the command ends
with 1. The page is written anew after each benchmark, so that one that was stopped has the rest.
"""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.measure import RESULTS, machine

ALL = (
    "start",
    "learners",
    "planner",
    "every_window",
    "growth",
    "memory",
    "data",
    "weighters",
    "race_cost",
    "race_errors",
    "scale",
    "predictions",
    "features",
)
HELP = ("-h", "--help")
BY_NAME = ("why", "equal_time", "fidelity")
"""those that belong to a page of docs/results or to the choice of a preset, and run only when they
are named"""
PAGE = RESULTS / "page.md"


@dataclass(frozen=True)
class Section:
    """What one benchmark printed, and how it ended."""

    name: str
    printed: str
    code: int

    def lines(self) -> Iterator[str]:
        """Yield the lines of its section of the page."""
        yield f"## {self.name}"
        yield ""
        if self.code:
            yield f"This benchmark failed: it ended with {self.code}."
            yield ""
        yield "```text"
        yield self.printed.strip("\n")
        yield "```"
        yield ""


def measured(name: str) -> Section:
    """Run a benchmark in a process of its own, and show what it prints while it runs."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        printed = []
        for line in process.stdout:
            print(line, end="", flush=True)
            printed.append(line)
    return Section(name, "".join(printed), process.returncode)


def page(sections: list[Section]) -> str:
    """Return the page of the benchmarks that have run."""
    about = ", ".join(f"{key} {value}" for key, value in machine().items())
    head = [
        "# What it costs",
        "",
        "Written by `make bench`. A figure is a ratio to something measured in the same run, in "
        f"turns. Measured on: {about}.",
        "",
    ]
    return "\n".join([*head, *(line for section in sections for line in section.lines())])


def one(name: str, arguments: list[str]) -> None:
    """Run a benchmark in this process, or print what it does."""
    if name in HELP:
        print(__doc__)
        return
    if name not in ALL + BY_NAME:
        known = ", ".join(ALL + BY_NAME)
        sys.exit(
            f"Found {name!r}; expected one of {known}, or none for all but {' and '.join(BY_NAME)}."
        )
    module = importlib.import_module(f"benchmarks.{name}")
    if set(arguments) & set(HELP):
        print(module.__doc__)
    else:
        module.main()


def main() -> None:
    """Run the benchmark that is named, or all of them."""
    if named := sys.argv[1:2]:
        one(named[0], sys.argv[2:])
        return
    sections: list[Section] = []
    RESULTS.mkdir(exist_ok=True)
    for name in ALL:
        sections.append(measured(name))
        PAGE.write_text(page(sections), encoding="utf-8")
    failed = [section.name for section in sections if section.code]
    print(f"\n{PAGE} has the figures of {len(sections)} benchmarks.")
    if failed:
        sys.exit(f"These failed: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
