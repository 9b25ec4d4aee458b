"""The experiments behind docs/results: one line each, run and written down by commands.

python -m benchmarks.evidence list                    the exact `towpath compare` commands
python -m benchmarks.evidence run RUNS [NAME...]      run them (or go on with them) in RUNS/NAME
python -m benchmarks.evidence pages RUNS [NAME...]    docs/results/NAME.md of the runs that are
                                                      finished here and of those gathered before,
                                                      and the index and the README's table of all
                                                      pages that are there

`python -m benchmarks.worklist` runs parts of experiments, in an order of one's own.
"""

import shlex
import subprocess
import sys
from pathlib import Path

from PIL import Image

from benchmarks.any_shot_page import write_any_shot_page
from benchmarks.checkout import pin
from benchmarks.equal_time import write_equal_time_page
from benchmarks.experiments import EXPERIMENTS
from benchmarks.gathering import Finished, adopt, gather
from benchmarks.index import HEADLINE, PANELS, agreements, headline, index
from benchmarks.results import draw, page, supplement
from benchmarks.trust_page import write_trust_page
from benchmarks.written import DOCS, Written
from towpath import data
from towpath.runs.comparison_spec import SPEC

TRUSTED_BIRDS = 10
TOWPATH = (sys.executable, "-m", "towpath")


def part_birds(folder: Path) -> None:
    """CUB as two folders of a user's: ten classes that are trusted, the others to test on."""
    if (folder / "birds-others").exists():
        return
    pool = data.load_images("cub", split="test")
    for position, entry in enumerate(pool.classes):
        kind = "birds-trusted" if position < TRUSTED_BIRDS else "birds-others/test"
        place = folder / kind / entry.name
        place.mkdir(parents=True)
        for i, image in enumerate(pool.take(position, range(entry.count))):
            Image.fromarray(image.transpose(1, 2, 0)).save(place / f"{i:03}.png")


def run(folder: Path, names: list[str]) -> None:
    """Run the experiments that are not finished, one after another, in the folder of all runs."""
    for name in names:
        if name == "domain-shift":
            part_birds(folder)
        begun = (folder / name / SPEC).is_file()
        words = ["resume", name] if begun else EXPERIMENTS[name].words(Path(name))
        with (folder / f"{name}.log").open("a") as log:
            done = subprocess.run(
                [*TOWPATH, *words], stdout=log, stderr=log, check=False, cwd=folder
            )
        outcome = "done" if done.returncode == 0 else f"exit {done.returncode}"
        print(f"{name}: {outcome}", flush=True)


def write(folder: Path, names: list[str]) -> None:
    """Gather the runs that are finished, and write the pages of whatever was gathered."""
    for name in names:
        if any((folder / name).glob("*/summary.json")):
            done = Finished(folder, name)
            gather(done)
            draw(done)
            if name == HEADLINE.noisy[1] and set(PANELS) <= set(done.result.weighters):
                headline(done)
        else:
            adopt(name)
        if (DOCS / f"{name}.json").is_file():
            (page if _gathers(name) else supplement)(name)
    agreements()
    write_any_shot_page()
    write_trust_page()
    write_equal_time_page()
    index()


def _gathers(name: str) -> bool:
    """Return whether a page is one that runs are gathered on, of several sessions or pages."""
    kept = any("values" in run for run in Written(name).content["runs"])
    return kept or bool(EXPERIMENTS[name].also)


def main() -> None:
    """The three commands of the module's docstring."""
    command, *rest = sys.argv[1:] or ["list"]
    if command in ("-h", "--help"):
        print(__doc__)
        return
    if command not in ("list", "run", "pages"):
        sys.exit(f"Found {command!r}; expected list, run or pages.\n\n{__doc__}")
    if command == "list":
        for name, experiment in EXPERIMENTS.items():
            print(f"# {name}: {experiment.about}")
            print(shlex.join(["towpath", *experiment.words(Path(name))]))
        return
    if not rest or rest[0].startswith("-"):
        sys.exit(f"Found {command} without a folder; expected {command} RUNS.\n\n{__doc__}")
    folder, names = Path(rest[0]), rest[1:] or list(EXPERIMENTS)
    folder.mkdir(parents=True, exist_ok=True)
    if command == "run":
        pin(folder)
        run(folder, names)
    else:
        write(folder, names)


if __name__ == "__main__":
    main()
