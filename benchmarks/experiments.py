"""What is run for docs/results: one experiment a setting, each a `towpath compare` command.

What two cores force, in all of them: hundreds of steps instead of tens of thousands, Adam at 1e-3
instead of 1e-4, five query images a class instead of fifteen, one thread a run.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks import any_shot
from towpath.recipes.reading import read_recipe
from towpath.recipes.recipe import Recipe
from towpath.weighters import WEIGHTERS
from towpath.weighters.sets import REFEREES

CONTESTANTS = (
    "uniform,random,exploration,exploitation,gradient-agreement,cvar,group-dro,tow,"
    "tow-targets,tow-targets-fast,oracle"
)
SHORT = "uniform,exploitation,tow-targets,oracle"
OURS = {"race", "auto", "kinds", "evidence", "evidence-easy"}
RIVALS = ",".join(
    [n for n in WEIGHTERS if not n.startswith("tow") and n not in OURS]
    + ["tow-targets", "tow-targets-fast"]
)
"""every rule of the literature, and the plan"""
REFEREE = ",".join(REFEREES)


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
    also: str = ""
    """another experiment of the same settings whose runs count here, too"""

    def settings(self) -> dict[str, str]:
        """The fields of the recipe that are overridden, by their dotted names."""
        return {
            "training.steps": str(self.steps),
            "optimizer.meta_lr": "0.001",
            "episodes.query": "5",
            "threads": "1",
            "test.tasks": str(self.tests),
            "validation.tasks": "100",
            "validation.every": str(max(25, self.steps // 4)),
            **self.overrides,
        }

    def read(self) -> Recipe:
        """Return the recipe that the runs share, but for weighter and seed."""
        return read_recipe(self.recipe, list(self.settings().items()))

    def words(self, out: Path) -> list[str]:
        """The command's words after `towpath`."""
        options = [word for key, value in self.settings().items() for word in (f"--{key}", value)]
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


def assays(family: str, share: float) -> dict[str, str]:
    """Overrides of the recipe that holds out a family of assays."""
    return noise(share, **{"data.family": family, "episodes.query": "16"})


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
ZIPF = noise(0.0, **{"episodes.groups": "zipf", "episodes.zipf_exponent": "2.0"})
MAML = {"learner": "{name: maml, inner_lr: 0.1, adaptation_steps: 5}"}
JUDGED = REFEREE.replace(",oracle", "") + ",evidence,auto"
"""what a referee will ask for, what the race starts from, and the race, which must be as good as
the best of them"""
_trust = Experiment(
    "omniglot-noise",
    "uniform,above-chance,mixture,tow-targets,oracle,evidence,auto",
    400,
    "",
    "0,1,2",
)
FIVE = "0,1,2,3,4"
"""the seeds of the main settings"""
EXPERIMENTS |= {
    # the table of the issue Trust, written before any of it was run: `auto` without options
    "trust-20": replace(_trust, about="20 per cent wrong query labels", overrides=noise(0.2)),
    "trust-40": replace(
        _trust,
        about="40 per cent wrong query labels",
        weighters=f"{JUDGED},oracle",
        seeds=FIVE,
        also="rivals-40",
    ),
    "trust-60": replace(_trust, about="60 per cent wrong query labels", overrides=noise(0.6)),
    "trust-support": replace(
        _trust,
        about="40 per cent of the tasks with permuted support labels",
        overrides=noise(0.4, **{"episodes.noise_kind": "support"}),
    ),
    "trust-0": replace(
        _trust,
        about="no wrong labels",
        weighters=JUDGED,
        overrides=noise(0.0),
        seeds=FIVE,
        also="rivals-0",
    ),
    "trust-wrong": replace(
        _trust,
        about="40 per cent of the trusted tasks with wrong labels, none of the training tasks",
        weighters="uniform,mixture,opus,tow-targets,evidence,auto",
        overrides=noise(0.0, **{"trusted.label_noise": "0.4"}),
    ),
    "trust-zipf": replace(
        _trust,
        about="alphabets drawn by a Zipf law (exponent 2), tested on a uniform mix",
        weighters=JUDGED,
        overrides=ZIPF,
        seeds=FIVE,
        also="rivals-zipf",
    ),
    "trust-maml": replace(
        _trust,
        about="40 per cent wrong query labels, first-order MAML",
        weighters=f"{JUDGED},oracle",
        overrides=noise(0.4, **MAML),
        seeds=FIVE,  # three could not tell `auto` from uniform weights: two more, whatever they say
    ),
    "trust-off-target": replace(
        _trust,
        recipe="off-target",
        about="60 per cent of the training tasks are handwritten characters, tested on photographs",
        weighters=f"{JUDGED},oracle",
    ),
}
_FLIPPED = {"episodes.noise_kind": "flip"}
for _name, _about, _settings in (
    ("flip-60", "labels flip with probability 0.6", {"episodes.flip_probability": "0.6"}),
    ("flip-80", "labels flip with probability 0.8", {"episodes.flip_probability": "0.8"}),
    ("images", "40 per cent of the images lie in wrong classes", {"episodes.noise_kind": "images"}),
    ("classes", "40 per cent of the classes are mixed up", {"episodes.noise_kind": "classes"}),
):
    _tasks = "40 per cent of the tasks: " if "flip" in _name else ""
    EXPERIMENTS[f"trust-{_name}"] = replace(
        _trust, about=_tasks + _about, overrides=noise(0.4, **{**_FLIPPED, **_settings})
    )
for _family in ("NVS", "TOX21", "ATG", "BSK"):
    for _share, _suffix in ((0.0, ""), (0.4, "-noise")):
        EXPERIMENTS[f"trust-toxcast-{_family.lower()}{_suffix}"] = Experiment(
            "toxcast-family",
            f"{JUDGED},oracle" if _share else JUDGED,
            400,
            f"assays of all families but {_family}, tested on it"
            + (", 40 per cent of the training tasks mislabelled" if _share else ""),
            seeds=FIVE,
            overrides=assays(_family, _share),
        )
EQUAL_TIME = {"uniform": 1300, "mixture": 1300, "mwl-maml": 700, "tow-targets": 400, "auto": 700}
"""steps on the assays that take each rule as long as the slowest, within six per cent: 1360, 1250,
690 and 740 fit (benchmarks/equal_time.py)"""


def equal_time_experiment(family: str, suffix: str, weighter: str) -> str:
    """Return the name of the experiment in which a rule has the time of the slowest."""
    name, steps = f"toxcast-{family}{suffix}", EQUAL_TIME[weighter]
    return f"trust-{name}" if steps == 400 else f"time-{name}-{steps}"


for _name, _experiment in list(EXPERIMENTS.items()):
    if _name.startswith("trust-toxcast-"):
        for _steps in sorted(set(EQUAL_TIME.values()) - {400}):
            EXPERIMENTS[f"{_name.replace('trust', 'time')}-{_steps}"] = replace(
                _experiment,
                weighters=",".join(n for n, steps in EQUAL_TIME.items() if steps == _steps),
                steps=_steps,
                about=f"{_experiment.about}; for the processor time of 400 steps of tow-targets",
            )
for _share in (40, 0):
    EXPERIMENTS[f"acceptance-{_share}"] = Experiment(
        "omniglot-noise",
        "tow:acceptance=strict,tow:acceptance=chance",
        400,
        f"a plan that knows of chance against a strict one, {_share} per cent wrong query labels",
        seeds="0,1",
        overrides=noise(_share / 100),
    )
for _name, _recipe, _about, _overrides in (
    ("maml", "omniglot-noise", "first-order MAML, 40 per cent wrong", noise(0.4, **MAML)),
    ("40", "omniglot-noise", "40 per cent wrong query labels", noise(0.4)),
    ("toxcast-tox21", "toxcast-family", "TOX21, 40 per cent mislabelled", assays("TOX21", 0.4)),
    ("toxcast-atg", "toxcast-family", "ATG, 40 per cent mislabelled", assays("ATG", 0.4)),
):
    EXPERIMENTS[f"tuning-{_name}"] = Experiment(
        _recipe,
        "uniform,exploitation,evidence,evidence-easy,auto",
        400,
        f"what `auto` could start from: {_about}",
        seeds="7,8",
        overrides=_overrides,
    )
FLOORS = ("0", "0.1", "0.25", "0.5")
for _name, _about, _overrides in (
    ("maml", "first-order MAML", noise(0.4, **MAML)),
    ("protonet", "a prototypical network", noise(0.4)),
):
    EXPERIMENTS[f"tuning-floor-{_name}"] = Experiment(
        "omniglot-noise",
        "uniform,exploitation," + ",".join(f"evidence:floor={floor}" for floor in FLOORS),
        400,
        f"how much of its weight should a wrong task keep? {_about}, 40 per cent wrong query "
        "labels",
        seeds="7,8",
        overrides=_overrides,
    )
OPTIONS = {
    "exploitation": ("concentration", (1.05, 1.2, 2, 5)),
    "trim": ("keep", (0.5, 0.6, 0.7, 0.8)),
    "mixture": ("window", (50, 100, 200, 400)),
    "above-chance": ("margin", (0, 1, 2, 3)),
    "opus": ("tau", (0.5, 1, 2, 4)),
    "mwl-maml": ("rounds", (1, 3, 5, 10)),
    "doge": ("rate", (0.1, 0.25, 0.5, 1)),
    "tow-targets": ("spread", (1, 1.5, 2, 3)),
}
"""the main option of each rule of `referee` that has one, and four settings of it"""
for _name, _about, _overrides in (
    ("40", "40 per cent wrong query labels", noise(0.4)),
    ("0", "no wrong labels", noise(0.0)),
    ("zipf", "Zipf alphabets", ZIPF),
):
    EXPERIMENTS[f"tuning-rules-{_name}"] = Experiment(
        "omniglot-noise",
        "uniform,"
        + ",".join(f"{rule}:{key}={v}" for rule, (key, values) in OPTIONS.items() for v in values),
        400,
        f"equal tuning: four settings of every rule's main option, {_about}",
        seeds="7,8",
        overrides=_overrides,
    )
AT_LENGTH = "uniform,exploration,exploitation,tow-faithful,tow,tow-fast"
EXPERIMENTS |= {
    # the paper's own comparison, for as long as two cores allow
    "length-protonet": Experiment(
        "omniglot-protonet",
        AT_LENGTH,
        3000,
        "Table 1, Omniglot, prototypical network, at length",
        seeds="0,1",
        overrides={"validation.every": "250"},
        column="omniglot-protonet",
    ),
    "length-protonet-slow": Experiment(
        "omniglot-protonet",
        "uniform,tow-faithful",
        2000,
        "the paper's algorithm at the paper's learning rate, prototypical network",
        overrides={"optimizer.meta_lr": "0.0001", "validation.every": "250"},
        column="omniglot-protonet",
    ),
    "length-maml": Experiment(
        "omniglot-maml",
        AT_LENGTH,
        3000,
        "Table 1, Omniglot, first-order MAML, at length",
        overrides={"validation.every": "250"},
        column="omniglot-maml",
    ),
    "length-mini-imagenet": Experiment(
        "mini-imagenet-protonet",
        "uniform,tow-faithful,tow",
        1000,
        "Table 1, mini-ImageNet (100 images a class), prototypical network",
        overrides={"validation.every": "250"},
        column="mini-imagenet-protonet",
    ),
    "chembl": Experiment(
        "chembl-targets",
        "uniform,mixture,exploitation,mwl-maml,tow-targets,auto",
        400,
        "activities of molecules at proteins, a regression",
        seeds=FIVE,
        overrides={"episodes.query": "16", "trusted": "{count: 20, per_batch: 2}"},
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
