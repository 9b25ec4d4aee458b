"""What a run said that it would take over what it took, validation and test included."""

import sys
import tempfile
from pathlib import Path

from benchmarks.measure import write
from towpath.recipes.reading import read_recipe
from towpath.training import train
from towpath.training.estimate import Estimate
from towpath.training.reporter import SilentReporter

RUNS = (
    ("omniglot-protonet", "uniform", 50),
    ("omniglot-protonet", "tow", 50),
    ("omniglot-protonet", "tow-fast", 50),
    ("omniglot-noise", "tow-targets", 50),
    ("omniglot-noise", "tow-targets-fast", 50),
    ("omniglot-maml", "uniform", 50),
    ("omniglot-maml", "exploitation", 50),
    ("omniglot-maml", "tow-fast", 50),
    ("mini-imagenet-protonet", "uniform", 30),
)
TARGET = 0.25


class Noting(SilentReporter):
    """A reporter that keeps the prediction."""

    seconds = 0.0

    def expected(self, cost: Estimate) -> None:
        """What the run should take."""
        self.seconds = cost.seconds


def ratio(name: str, weighter: str, steps: int, folder: Path) -> float:
    """Predicted over taken."""
    recipe = read_recipe(
        name,
        [
            ("training.steps", str(steps)),
            ("weighter.name", weighter),
            ("validation.every", str(steps)),
            ("validation.tasks", "50"),
            ("test.tasks", "100"),
        ],
    )
    told = Noting()
    summary = train(folder / f"{name}-{weighter}", recipe, told)
    return float(told.seconds / summary.timing.seconds)


def main() -> None:
    """Each run of the list, one after another."""
    print("\n== predicted over taken, whole runs")
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, weighter, steps in RUNS:
            if sys.argv[2:] and name not in sys.argv[2:]:
                continue
            rows[f"{name}, {weighter}"] = found = ratio(name, weighter, steps, Path(folder))
            within = "within" if abs(found - 1) <= TARGET else "NOT within"
            print(f"  {name:<24} {weighter:<18} {found:5.2f}   {within} {TARGET:.0%}", flush=True)
    write("predictions", {"ratios": rows})


if __name__ == "__main__":
    main()
