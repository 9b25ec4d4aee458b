"""Runs of several experiments in an order of one's own, one process a core.

python -m benchmarks.worklist RUNS FILE

Each line of FILE is the name of an experiment, some of its weighters and some of its seeds:

    trust-40 uniform,auto,oracle 1,2
    trust-zipf auto 2

Runs are worked off seed by seed in that order. A run that is finished is left alone, one that was
interrupted goes on from its checkpoint, and one that another process works on is passed over, so
the same command may run once for each core. The comparisons in RUNS are those of
`python -m benchmarks.evidence`, which writes their pages from whatever is finished.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.checkout import pin
from benchmarks.experiments import EXPERIMENTS
from towpath.grid.compare import begin_comparison, missing_runs
from towpath.grid.jobs import EventReporter, Job
from towpath.runs.comparison_spec import SPEC, ComparisonSpec, label_of, run_name
from towpath.runs.folder import RunFolder
from towpath.runs.locking import LockedError, locked
from towpath.training.allocator import keep_freed_memory

CLAIMS = ".claims"
SILENT = EventReporter(lambda _: None)


def comparison(runs: Path, name: str) -> ComparisonSpec:
    """Return the comparison of an experiment, begun if it is not yet."""
    experiment, folder = EXPERIMENTS[name], runs / name
    wanted = experiment.weighters.split(",")
    seeds = [int(seed) for seed in experiment.seeds.split(",")]
    if not (folder / SPEC).is_file():
        return begin_comparison(folder, experiment.read(), wanted, seeds)
    found = ComparisonSpec.read(folder)
    spec = ComparisonSpec.new(folder, found.recipe, wanted, seeds)
    spec.replace()  # the experiment may have got weighters or seeds since it was begun
    return spec


def begun(runs: Path, name: str) -> ComparisonSpec:
    """Return the comparison, one process at a time."""
    while True:
        try:
            with claim(runs / CLAIMS / name):
                return comparison(runs, name)
        except LockedError:
            time.sleep(0.2)


@dataclass(frozen=True)
class Line:
    """Some runs of an experiment, in their order."""

    name: str
    runs: Sequence[str]

    @classmethod
    def read(cls, text: str) -> "Line":
        """Return what a line asks for; exit if it is no line, or asks for what there is not."""
        words = text.split()
        if len(words) != 3 or words[0] not in EXPERIMENTS:
            sys.exit(f"Found the line {text!r}; expected EXPERIMENT WEIGHTERS SEEDS.")
        name, weighters, seeds = words
        experiment = EXPERIMENTS[name]
        known = _names(experiment.weighters, experiment.seeds)
        asked = _names(weighters, seeds)
        if unknown := [run for run in asked if run not in known]:
            sys.exit(f"{name} found the runs {', '.join(unknown)}; expected some of {known}.")
        return cls(name, asked)

    def jobs(self, spec: ComparisonSpec) -> Iterator[Job]:
        """Yield the runs that are not finished."""
        missing = {job.name: job for job in missing_runs(spec)}
        return (missing[name] for name in self.runs if name in missing)


def _names(weighters: str, seeds: str) -> list[str]:
    return [
        run_name(label_of(weighter), int(seed))
        for seed in seeds.split(",")
        for weighter in weighters.split(",")
    ]


def claim(place: Path) -> AbstractContextManager[None]:
    """Hold a run for this process, which raises a LockedError if another one has it."""
    place.mkdir(parents=True, exist_ok=True)
    return locked(place)


def work_off(runs: Path, lines: Sequence[str]) -> None:
    """Run what the lines ask for and print a line about each run."""
    for line in [Line.read(text) for text in lines]:
        for job in line.jobs(begun(runs, line.name)):
            with suppress(LockedError), claim(runs / CLAIMS / line.name / job.name):
                if not RunFolder(Path(job.folder)).finished:  # by another process, meanwhile
                    job.run(SILENT)
                    print(f"{line.name}/{job.name}: done", flush=True)


def main() -> None:
    """Work off a file of lines."""
    if len(sys.argv) != 3:
        sys.exit("Expected: python -m benchmarks.worklist RUNS FILE")
    runs, file = Path(sys.argv[1]), Path(sys.argv[2])
    pin(runs)
    keep_freed_memory()  # as the command line does
    lines = [line.strip() for line in file.read_text().splitlines()]
    work_off(runs, [line for line in lines if line and not line.startswith("#")])


if __name__ == "__main__":
    main()
