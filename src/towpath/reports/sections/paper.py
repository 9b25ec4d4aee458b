"""The paper's own numbers, to be shown beside ours.

Nguyen, Do, Carneiro: Task Weighting in Meta-learning with Trajectory Optimisation. Accuracies are
percentages with half-widths of 95% intervals; running times are GPU hours on a Tesla V100.
"""

from dataclasses import dataclass

Figure = tuple[float, float]

METHODS = {
    "uniform": "uniform",
    "exploration": "exploration",
    "exploitation": "exploitation",
    "tow": "tow-faithful",
}
"""the paper's method -> the weighter that is it; its TOW is the one that follows its text"""

OURS = "tow"
"""our own form of TOW, shown beside the paper's and never as it"""

TABLE_1: dict[str, dict[str, Figure]] = {
    "omniglot-maml": {
        "uniform": (94.86, 0.43),
        "exploration": (92.64, 0.52),
        "exploitation": (95.34, 0.42),
        "tow": (95.94, 0.40),
    },
    "omniglot-protonet": {
        "uniform": (95.21, 0.37),
        "exploration": (94.57, 0.38),
        "exploitation": (95.78, 0.40),
        "tow": (96.84, 0.37),
    },
    "mini-imagenet-maml": {
        "uniform": (48.70, 1.84),
        "exploration": (48.80, 0.72),
        "exploitation": (49.22, 0.74),
        "tow": (51.55, 0.75),
    },
    "mini-imagenet-protonet": {
        "uniform": (49.42, 0.78),
        "exploration": (48.56, 0.77),
        "exploitation": (48.39, 0.79),
        "tow": (51.05, 0.80),
    },
    "mini-imagenet-maml-resnet10": {
        "uniform": (49.12, 0.76),
        "exploration": (48.72, 0.74),
        "exploitation": (48.44, 0.76),
        "tow": (52.32, 0.80),
    },
}
"""recipe -> weighter -> accuracy. Uniform on mini-ImageNet was taken from earlier papers."""

TABLE_2: dict[str, dict[str, float]] = {
    "omniglot-maml": {"uniform": 1.35, "exploration": 1.55, "exploitation": 1.55, "tow": 7.50},
    "mini-imagenet-maml": {
        "uniform": 5.03,
        "exploration": 5.24,
        "exploitation": 5.24,
        "tow": 38.12,
    },
    "mini-imagenet-maml-resnet10": {
        "uniform": 7.16,
        "exploration": 7.18,
        "exploitation": 7.18,
        "tow": 67.78,
    },
}

ANY_SHOT: dict[str, dict[str, dict[str, Figure]]] = {
    "any-shot-maml": {"tow": {"mini-imagenet": (70.02, 0.24), "cub": (68.34, 0.25)}},
    "any-shot-protonet": {"tow": {"mini-imagenet": (72.12, 0.21), "cub": (64.79, 0.25)}},
}
"""recipe -> weighter -> test set -> accuracy, of the rows that the paper ran itself; of its other
weighters it shows curves only"""


@dataclass(frozen=True)
class AnyShotRow:
    """A row of the any-shot table that the paper took from Lee et al. (2020), without weighting."""

    title: str
    recipe: str
    """the recipe with the settings of that source; it need not be shipped"""
    theirs: dict[str, Figure]
    """test set -> accuracy"""


ANY_SHOT_OTHERS = (
    AnyShotRow(
        "MAML", "any-shot-plain-maml", {"mini-imagenet": (66.64, 0.22), "cub": (65.77, 0.24)}
    ),
    AnyShotRow(
        "Meta-SGD", "any-shot-meta-sgd", {"mini-imagenet": (69.95, 0.20), "cub": (65.94, 0.22)}
    ),
    AnyShotRow("MT-net", "any-shot-mt-net", {"mini-imagenet": (67.63, 0.23), "cub": (66.09, 0.23)}),
    AnyShotRow("ABML", "any-shot-abml", {"mini-imagenet": (56.91, 0.19), "cub": (57.88, 0.20)}),
    AnyShotRow(
        "Protonet",
        "any-shot-plain-protonet",
        {"mini-imagenet": (69.11, 0.19), "cub": (60.80, 0.19)},
    ),
    AnyShotRow(
        "Proto-MAML", "any-shot-proto-maml", {"mini-imagenet": (68.96, 0.18), "cub": (61.77, 0.19)}
    ),
    AnyShotRow(
        "Bayesian TAML",
        "any-shot-bayesian-taml",
        {"mini-imagenet": (71.46, 0.19), "cub": (71.71, 0.21)},
    ),
)

TEN_ITERATIONS_SLOWER = 6
"""how many times slower ten iterations were than two"""


@dataclass(frozen=True)
class Part:
    """A figure or table of the paper, and the recipes that rerun it."""

    key: str
    title: str
    about: str
    recipes: tuple[str, ...]
    """names of recipes; one that is not shipped yet is left out"""


PARTS = (
    Part(
        "figure-1",
        "Figure 1: validation accuracy during training",
        "Exponential moving average (0.1) of the accuracy on 100 validation tasks, 5-way 1-shot.",
        tuple(TABLE_1),
    ),
    Part(
        "table-1",
        "Table 1: 5-way 1-shot test accuracy",
        "1,000 test tasks of Omniglot, 600 of mini-ImageNet, with 95% intervals.",
        tuple(TABLE_1),
    ),
    Part(
        "table-2",
        "Table 2: running time",
        "The paper gives GPU hours, we give seconds of training on the machine that ran it; the "
        "ratio to uniform is what can be compared.",
        tuple(TABLE_2),
    ),
    Part(
        "any-shot",
        "Any-shot classification",
        "Between 1 and 50 shots a class, tested on mini-ImageNet and, out of domain, on birds.",
        (*ANY_SHOT, *(row.recipe for row in ANY_SHOT_OTHERS)),
    ),
    Part(
        "weights",
        "Weights of fixed tasks during training",
        "The paper finds that weights are large at the beginning and fall as training goes on, "
        "and that test tasks get slightly larger weights than training tasks.",
        ("weights-study-omniglot", "weights-study-mini-imagenet"),
    ),
    Part(
        "iterations",
        "Two against ten iterations of iLQR",
        "The paper's appendix D finds ten iterations slightly more accurate and about "
        f"{TEN_ITERATIONS_SLOWER} times slower.",
        ("ablation-iterations",),
    ),
    Part(
        "exact-value",
        "The exact value function",
        "With the full matrix V the paper needed 160 GPU hours on Omniglot and 184 on "
        "mini-ImageNet (7.5 and 38.1 with the diagonal).",
        ("ablation-exact-value", "ablation-exact-value-mini-imagenet"),
    ),
)
