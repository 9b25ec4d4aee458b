"""The experiments behind docs/results: one line each, run and written down by commands.

    python -m benchmarks.evidence list                    the exact `towpath compare` commands
    python -m benchmarks.evidence run RUNS [NAME...]      run them (or go on with them) in RUNS/NAME
    python -m benchmarks.evidence pages RUNS [NAME...]    docs/results/*.md, and the README's table,
                                                          of the runs that are finished

What two cores force, in all of them: hundreds of steps instead of tens of thousands, Adam at 1e-3
instead of 1e-4, five query images a class instead of fifteen, one thread a run.
"""

import shlex
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from PIL import Image

from benchmarks import any_shot
from benchmarks.results import Finished, index, page, remerge
from towpath import data
from towpath.runs.comparison import RESULT
from towpath.runs.comparison_spec import SPEC
from towpath.weighters import WEIGHTERS
from towpath.weighters.sets import REFEREES

CONTESTANTS = (
    "uniform,random,exploration,exploitation,gradient-agreement,cvar,group-dro,tow,"
    "tow-targets,tow-targets-fast,oracle"
)
SHORT = "uniform,exploitation,tow-targets,oracle"
RIVALS = ",".join(n for n in WEIGHTERS if not n.startswith("tow")) + ",tow-targets,tow-targets-fast"
"""every rule of the literature, and ours"""
REFEREE = ",".join(REFEREES)
TRUSTED_BIRDS = 10
TOWPATH = (sys.executable, "-m", "towpath")


@dataclass(frozen=True)
class Experiment:
    """One comparison."""

    recipe: str
    weighters: str
    steps: int
    about: str
    seeds: str = "0"
    overrides: dict[str, str] = field(default_factory=dict)
    tests: int = 600
    column: str = ""
    """the recipe of the column of Table 1 that this reruns on a smaller scale, if any"""

    def words(self, out: Path) -> list[str]:
        """The command's words after `towpath`."""
        settings = {
            "training.steps": str(self.steps),
            "optimizer.meta_lr": "0.001",
            "episodes.query": "5",
            "threads": "1",
            "test.tasks": str(self.tests),
            "validation.tasks": "100",
            "validation.every": str(max(25, self.steps // 4)),
            **self.overrides,
        }
        options = [word for key, value in settings.items() for word in (f"--{key}", value)]
        return [
            "compare",
            self.recipe,
            "--weighters",
            self.weighters,
            "--seeds",
            self.seeds,
            "--out",
            str(out),
            *options,
        ]


def noise(share: float, **settings: str) -> dict[str, str]:
    """Overrides of the recipe with trusted tasks."""
    return {"episodes.label_noise": str(share), **settings}


# the paper's recipes train on the 30 alphabets of Omniglot; these pages were run on 25
ON_25 = {"data.alphabets": "25"}

EXPERIMENTS = {
    "noise-40": Experiment(
        "omniglot-noise",
        CONTESTANTS,
        400,
        "40 per cent of the training tasks with permuted query labels, 20 trusted tasks",
        seeds="0,1",
    ),
    "noise-0": Experiment(
        "omniglot-noise",
        CONTESTANTS.removesuffix(",oracle"),
        400,
        "the same without wrong labels: what does weighting cost where nothing is wrong?",
        seeds="0,1",
        overrides=noise(0.0),
    ),
    "noise-20": Experiment(
        "omniglot-noise", SHORT, 150, "20 per cent wrong query labels", overrides=noise(0.2)
    ),
    "noise-60": Experiment(
        "omniglot-noise", SHORT, 150, "60 per cent wrong query labels", overrides=noise(0.6)
    ),
    "noise-support": Experiment(
        "omniglot-noise",
        SHORT,
        150,
        "40 per cent of the tasks with permuted support labels",
        overrides=noise(0.4, **{"episodes.noise_kind": "support"}),
    ),
    "noise-maml": Experiment(
        "omniglot-noise",
        SHORT,
        150,
        "40 per cent wrong query labels, first-order MAML",
        overrides=noise(0.4, learner="{name: maml, inner_lr: 0.1, adaptation_steps: 5}"),
    ),
    "zipf": Experiment(
        "omniglot-noise",
        "uniform,exploitation,group-dro,tow-targets",
        150,
        "alphabets drawn by a Zipf law (exponent 2), trusted tasks and test from a uniform mix",
        overrides=noise(0.0, **{"episodes.groups": "zipf", "episodes.zipf_exponent": "2.0"}),
    ),
    "referee-40": Experiment(
        "omniglot-noise",
        REFEREE,
        400,
        "what a referee will ask for, 40 per cent wrong query labels, 20 trusted tasks",
        seeds="0,1",
    ),
    "referee-zipf": Experiment(
        "omniglot-noise",
        REFEREE.replace(",oracle", ""),
        400,
        "what a referee will ask for, alphabets drawn by a Zipf law (exponent 2)",
        seeds="0,1",
        overrides=noise(0.0, **{"episodes.groups": "zipf", "episodes.zipf_exponent": "2.0"}),
    ),
    "referee-0": Experiment(
        "omniglot-noise",
        REFEREE.replace(",oracle", ""),
        400,
        "what a referee will ask for, where no label is wrong",
        seeds="0,1",
        overrides=noise(0.0),
    ),
    "rivals-40": Experiment(
        "omniglot-noise",
        RIVALS,
        400,
        "every weighting of the literature, 40 per cent wrong query labels, 20 trusted tasks",
        seeds="0,1",
    ),
    "rivals-0": Experiment(
        "omniglot-noise",
        RIVALS.replace(",oracle", ""),
        400,
        "every weighting of the literature where no label is wrong",
        seeds="0,1",
        overrides=noise(0.0),
    ),
    "rivals-zipf": Experiment(
        "omniglot-noise",
        RIVALS.replace(",oracle", ""),
        400,
        "every weighting of the literature, alphabets drawn by a Zipf law (exponent 2)",
        seeds="0,1",
        overrides=noise(0.0, **{"episodes.groups": "zipf", "episodes.zipf_exponent": "2.0"}),
    ),
    "rivals-horizon-20": Experiment(
        "omniglot-noise",
        "uniform,pds,pds:keep=0.4,tow-targets",
        400,
        "the horizon that PDS was published with, 40 per cent wrong query labels",
        seeds="0,1",
        overrides=noise(0.4, **{"training.horizon": "20"}),
    ),
    "domain-shift": Experiment(
        "mini-imagenet-protonet",
        "uniform,exploitation,tow-targets",
        150,
        "training on mini-ImageNet, trusted tasks from ten classes of birds, test on other birds",
        overrides={
            "training.meta_batch_size": "5",
            "trusted": "{count: 20, per_batch: 2, data: birds-trusted}",
            "test": "{tasks: 300, also: [birds-others]}",
            "validation.tasks": "30",
        },
        tests=300,
    ),
    "paper-protonet": Experiment(
        "omniglot-protonet",
        "uniform,exploration,exploitation,tow,tow-auto",
        400,
        "Table 1, Omniglot, prototypical network",
        seeds="0,1",
        overrides=ON_25,
        column="omniglot-protonet",
    ),
    "paper-maml": Experiment(
        "omniglot-maml",
        "uniform,exploration,exploitation,tow",
        300,
        "Table 1, Omniglot, first-order MAML",
        overrides=ON_25,
        column="omniglot-maml",
    ),
    "paper-weights": Experiment(
        "weights-study-omniglot",
        "tow",
        75,
        "how the weights of fixed tasks change while MAML trains",
        overrides={
            "probes": "[{name: train, split: train, every: 25}, "
            "{name: train-one-alphabet, split: train, groups: 1, every: 25}, "
            "{name: test, split: test, every: 25}, "
            "{name: test-one-alphabet, split: test, groups: 1, every: 25}]",
            **ON_25,
        },
        tests=300,
    ),
    "paper-iterations": Experiment(
        "omniglot-protonet",
        "tow:iterations=2,tow:iterations=10",
        60,
        "two against ten iterations (the paper: MAML on mini-ImageNet)",
        overrides=ON_25,
    ),
    "paper-exact-value": Experiment(
        "omniglot-protonet",
        "tow-faithful:value=diagonal,tow-faithful:value=exact",
        150,
        "exact against diagonal value function (the paper: MAML)",
        overrides=ON_25,
    ),
    "paper-any-shot": Experiment(
        "any-shot-protonet",
        "uniform,tow",
        50,
        "any-shot on mini-ImageNet (100 images a class), also tested on birds",
        overrides={"validation.tasks": "20", "test": "{tasks: 300, also: [cub]}"},
        tests=300,
    ),
}
KNOBS = {
    # name: (field, its values, what it is)
    "trusted": ("trusted.count", (5, 10, 50), "trusted tasks: {} instead of 20"),
    "per-batch": ("trusted.per_batch", (1, 4), "targets a mini-batch: {} instead of 2"),
    "horizon": ("training.horizon", (1, 2, 10), "horizon of a plan: {} instead of 5"),
}
_knob = Experiment(
    "omniglot-noise",
    "uniform,tow-targets",
    80,
    "20 trusted tasks, 2 targets a mini-batch, a horizon of 5: where the knobs are turned from",
    seeds="7",
)
EXPERIMENTS["knob-default"] = _knob
for _name, (_field, _values, _about) in KNOBS.items():
    for _value in _values:
        EXPERIMENTS[f"knob-{_name}-{_value}"] = replace(
            _knob, about=_about.format(_value), overrides={_field: str(_value)}
        )
for _share in (40, 0):
    EXPERIMENTS[f"knob-options-{_share}"] = Experiment(
        "omniglot-noise",
        "uniform,tow-targets:spread=1.5,tow-targets:spread=2.5,"
        "tow-targets:spread=1.5:shrink=none,tow-targets-fast:spread=1.5"
        + (",tow-targets:spread=1.5:bounds=project,oracle" if _share else ""),
        150,
        f"options of tow-targets, {_share} per cent wrong query labels",
        seeds="7",
        overrides=noise(_share / 100, **{"validation.tasks": "400", "validation.every": "150"}),
    )
for _row in any_shot.rows():
    EXPERIMENTS[_row.recipe] = Experiment(
        _row.recipe,
        _row.weighters,
        any_shot.STEPS,
        f"the any-shot table, row {_row.title}, in a shorter form",
        overrides=any_shot.SHORT_FORM,
        tests=any_shot.TESTS,
    )


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


def main() -> None:
    """The three commands of the module's docstring."""
    command, *rest = sys.argv[1:] or ["list"]
    if command == "list":
        for name, experiment in EXPERIMENTS.items():
            print(f"# {name}: {experiment.about}")
            print(shlex.join(["towpath", *experiment.words(Path(name))]))
        return
    folder = Path(rest[0])
    folder.mkdir(parents=True, exist_ok=True)
    names = rest[1:] or list(EXPERIMENTS)
    if command == "run":
        run(folder, names)
    elif command == "pages":
        for name in names:
            if (folder / name / SPEC).is_file():
                remerge(folder / name, EXPERIMENTS[name].weighters.split(","))
        pages = [
            Finished(
                folder / name,
                name,
                EXPERIMENTS[name].about,
                EXPERIMENTS[name].words(Path(name)),
                EXPERIMENTS[name].column,
            )
            for name in names
            if (folder / name / RESULT).is_file()
        ]
        table = {row.recipe for row in any_shot.rows()}
        rows = {done.name: done for done in pages if done.name in table}
        if rows:
            any_shot.write_page(rows)
        pages = [done for done in pages if done.name not in table]
        for done in pages:
            page(done)
        if pages:
            index(pages, "noise-40", "noise-0")
    else:
        sys.exit(f"Found {command!r}; expected list, run or pages.")


if __name__ == "__main__":
    main()
