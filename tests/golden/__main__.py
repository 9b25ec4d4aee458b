"""Golden traces: show that a change of the code changes no bit of the results.

    python -m tests.golden record FILE    before: run the cases and write their traces
    python -m tests.golden check FILE     after: run them again and say what differs

A trace holds digests of everything reproducible in a run folder: the records without their timing,
the parameters and the optimiser's state of the last checkpoint, the summary and the scores of every
test task; and beside each digest the value in a readable form. `check` names, for every case that
differs, the first step, the field and both values, and then exits with 1. Fields that only one of
the two versions writes are listed as notes, and so are cases that the file does not have yet. Both
commands also fail where resuming or a second thread changes a result.

Traces are comparable only on one machine and one build of torch: other kernels round otherwise.
Files are therefore never committed; `make golden-record` and `make golden-check` keep theirs in
.golden/, which git ignores. All cases together take two minutes of one core.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from unittest import mock

os.environ["OMP_NUM_THREADS"] = "1"  # before torch; child processes included

from tests.golden.cases import Case, CaseFailedError, all_cases
from tests.golden.compare import Comparison, compare
from tests.golden.store import GoldenError, Traces, read, write
from tests.golden.trace import Trace, trace_of

CACHE_VARIABLE = "TOWPATH_CACHE"


def chosen_cases(patterns: Sequence[str]) -> list[Case]:
    """The cases whose names match one of the patterns; all where there is none."""
    cases = all_cases()
    if not patterns:
        return cases
    for pattern in patterns:
        if not any(fnmatchcase(case.name, pattern) for case in cases):
            raise GoldenError(
                f"--only found no case {pattern!r}; expected a name or a pattern such as "
                "'weighter/*'. See them with: python -m tests.golden list"
            )
    return [c for c in cases if any(fnmatchcase(c.name, pattern) for pattern in patterns)]


def run_cases(cases: Sequence[Case]) -> tuple[Traces, dict[str, str]]:
    """Traces by case, and what those that failed had to say."""
    traces: Traces = {}
    failed: dict[str, str] = {}
    with (
        tempfile.TemporaryDirectory(prefix="towpath-golden-") as root,
        # decoded data of an earlier version must not hide a change in how it is made
        mock.patch.dict(os.environ, {CACHE_VARIABLE: str(Path(root) / "cache")}),
    ):
        for number, case in enumerate(cases):
            folder = Path(root) / str(number)
            folder.mkdir()
            began = time.perf_counter()
            try:
                traces[case.name] = trace_of(case.run(folder))
            except (CaseFailedError, AssertionError, OSError, KeyError) as error:
                failed[case.name] = f"{type(error).__name__}: {error}"
            state = "failed" if case.name in failed else "done"
            seconds = time.perf_counter() - began
            print(f"[{number + 1}/{len(cases)}] {case.name} {state}, {seconds:.1f} s", flush=True)
    return traces, failed


def unequal_pairs(cases: Sequence[Case], traces: Mapping[str, Trace]) -> dict[str, Comparison]:
    """Cases that should give the bits of another one, and do not."""
    pairs = [c for c in cases if c.equals and {c.name, c.equals} <= traces.keys()]
    found = {f"{c.equals} -> {c.name}": compare(traces[c.equals], traces[c.name]) for c in pairs}
    return {pair: result for pair, result in found.items() if result.differences}


def record(path: Path, cases: Sequence[Case]) -> int:
    """`record`: exit code 1 where a case failed, and then no file is written."""
    traces, failed = run_cases(cases)
    wrong = _report_failures(failed) + _report_unequal(unequal_pairs(cases, traces))
    if failed:
        return 1
    write(path, traces)
    values = sum(len(fields) for trace in traces.values() for fields in trace.values())
    print(f"{len(traces)} cases with {values:,} values recorded in {path}")
    return 1 if wrong else 0


def check(path: Path, cases: Sequence[Case], everything: bool) -> int:
    """`check`: exit code 1 where anything differs.

    Args:
        path: the file of traces.
        cases: what to run.
        everything: whether these are all cases; a recorded one that is not there is then missed.
    """
    recorded = read(path)
    traces, failed = run_cases(cases)
    wrong = _report_failures(failed) + _report_unequal(unequal_pairs(cases, traces))
    results = {name: compare(recorded[name], traces[name]) for name in traces if name in recorded}
    for name, result in results.items():
        for line in result.differences:
            print(f"DIFFERS {name}: {line}")
        wrong += bool(result.differences)
    if everything:
        for name in sorted(recorded.keys() - {case.name for case in cases}):
            print(f"GONE {name}: recorded, but no case any more. If that is meant, record again.")
            wrong += 1
    _report_notes(results)
    for name in sorted(traces.keys() - recorded.keys()):
        print(f"new {name}: not in the file, so not compared")
    same = sum(not result.differences for result in results.values())
    values = sum(result.compared for result in results.values())
    print(f"{same} of {len(results)} recorded cases are the same; {values:,} values were compared")
    return 1 if wrong else 0


def _report_failures(failed: Mapping[str, str]) -> int:
    for name, text in failed.items():
        print(f"FAILED {name}: {text}")
    return len(failed)


def _report_unequal(pairs: Mapping[str, Comparison]) -> int:
    for pair, result in pairs.items():
        for line in result.differences:
            print(f"UNEQUAL {pair}: {line}")
    return len(pairs)


def _report_notes(results: Mapping[str, Comparison]) -> None:
    for what in ("added", "removed"):
        counts = Counter(note for result in results.values() for note in getattr(result, what))
        for note, count in sorted(counts.items()):
            print(f"note: field {what}, not compared: {note} ({count} cases)")


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; 0 where all is the same, 1 where not, 2 where the input is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.golden",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in (("record", "run and write traces"), ("check", "run and compare with them")):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("file", metavar="FILE", type=Path)
        command.add_argument(
            "--only", action="append", default=[], metavar="CASE", help="a name or a pattern"
        )
    commands.add_parser("list", help="name the cases")
    given = parser.parse_args(words)
    if given.command == "list":
        print("\n".join(case.name for case in all_cases()))
        return 0
    try:
        cases = chosen_cases(given.only)
        if given.command == "record":
            return record(given.file, cases)
        return check(given.file, cases, everything=not given.only)
    except GoldenError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
