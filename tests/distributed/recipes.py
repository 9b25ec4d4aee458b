"""The small experiments that must come out the same in one process and over ranks."""

from typing import Any

from tests.training.runs import TINY

WINDOWS, HORIZON = 20, 2
BACKTRACK = {"name": "tow", "bounds": "backtrack"}
CASES: dict[str, dict[str, Any]] = {
    # name: weighter, or the sections that differ
    "uniform": {"weighter": {"name": "uniform"}},
    "exploration": {"weighter": {"name": "exploration"}},
    "project": {"weighter": {"name": "tow"}},
    "chance": {"weighter": {"name": "tow", "acceptance": "chance"}},
    "backtrack": {"weighter": BACKTRACK},
    "exact": {"weighter": {**BACKTRACK, "value": "exact"}},
    "targets": {
        "weighter": {"name": "tow-targets"},
        "trusted": {"count": 5, "per_batch": 3},
    },
    "rule with targets": {
        "weighter": {"name": "l2rw"},
        "trusted": {"count": 5, "per_batch": 3},
    },
    "rule that looks ahead": {
        "weighter": {"name": "tests.training.ahead:Ahead"},
        "trusted": {"count": 5, "per_batch": 3},
    },
    "weighter that judges": {
        "weighter": {"name": "tests.training.judge:Referee"},
        "trusted": {"count": 6, "per_batch": 3, "classes": 6},
    },
    "fast": {"weighter": {"name": "tow-fast"}},
    "fast, coasting": {"weighter": {"name": "tow-fast"}, "horizon": 5},
    "maml": {"weighter": {"name": "tow"}, "learner": {"name": "maml", "adaptation_steps": 1}},
    # learners that draw: the draws of a task know nothing of ranks
    **{
        name: {"weighter": {"name": "tow"}, "learner": {"name": name, "adaptation_steps": 1}}
        for name in ("abml", "bayesian-taml", "mt-net")
    },
}
MORE: dict[str, dict[str, Any]] = {
    "influence": {
        "weighter": {"name": "opus"},
        "trusted": {"count": 5, "per_batch": 3},
        "optimizer": {"name": "sgd", "meta_lr": 0.01, "momentum": 0.9},
    },
    "faithful": {"weighter": {"name": "tow-faithful"}},
    "auto": {"weighter": {"name": "tow-auto", "terminal": "replay"}},
    "fast targets": {
        "weighter": {"name": "tow-targets-fast"},
        "trusted": {"count": 5, "per_batch": 3},
    },
    "softmax": {"weighter": {"name": "tow", "normalise": "softmax", "bounds": "none"}},
    "true adjoint": {
        "weighter": {"name": "tow", "adjoint": "exact", "curvature": "hutchinson"},
        "learner": {"name": "maml", "adaptation_steps": 1, "first_order": False},
    },
    "true adjoint, feedback": {
        "weighter": {**BACKTRACK, "adjoint": "exact", "value": "exact"},
        "backbone": {"name": "mlp", "hidden": [6]},
    },
    "momentum": {
        "weighter": {"name": "tow"},
        "optimizer": {"name": "sgd", "meta_lr": 0.01, "momentum": 0.9},
    },
    "conv": {
        "weighter": {"name": "tow"},
        "backbone": {"name": "conv4", "filters": 4},
        "optimizer": {"name": "adam", "meta_lr": 1e-4},
    },
    "more ranks than tasks": {"weighter": {"name": "tow"}, "tasks": 2},
}


TRUSTED = {"count": 5, "per_batch": 3}
HEAT = {"first": 2, "length": 4, "looks": 2, "deals": 2}
RULES: dict[str, dict[str, Any]] = {
    **{
        name: {"weighter": {"name": name}}
        for name in (
            *("cvar", "dwa", "exploitation", "famo", "gradient-agreement", "group-dro", "mgda"),
            *("random", "tr-maml", "trim", "uncertainty"),
        )
    },
    "mixture": {"weighter": {"name": "mixture", "warmup": 0}},
    "above-chance": {
        "weighter": {"name": "above-chance"},
        "episodes": {**TINY["episodes"], "label_noise": 0.4},
    },
    "evidence": {
        # at the tiny recipe's rate of 0.01 rounding grew to 7e-9 in three windows on one machine
        "optimizer": {"name": "adam", "meta_lr": 1e-4},
        "weighter": {"name": "evidence", "least": 2, "apart": 0.0},
        "episodes": {**TINY["episodes"], "label_noise": 0.4},
    },
    "evidence-easy": {"weighter": {"name": "evidence-easy", "least": 2, "apart": 0.0}},
    "oracle": {
        "weighter": {"name": "oracle"},
        "episodes": {**TINY["episodes"], "label_noise": 0.4},
    },
    **{
        name: {"weighter": {"name": name}, "trusted": TRUSTED}
        for name in (
            *("fine-tune", "meta-weight-net", "mwl-maml", "alpha-maml", "auto-lambda", "doge"),
            *("nested", "opus", "pds", "ats", "kinds", "trusted-only", "tow-targets-fast"),
        )
    },
    "differences": {
        "weighter": {"name": "auto-lambda", "differences": True, "rate": 0.01},
        "trusted": TRUSTED,
    },
    # plans about a rule's weights
    "about a rule": {
        "weighter": {"name": "tow-targets", "nominal": {"name": "mixture", "warmup": 0}},
        "trusted": TRUSTED,
    },
    "tow-evidence": {
        "weighter": {"name": "tow-evidence", "nominal": {"name": "evidence", "least": 2}},
        "trusted": TRUSTED,
    },
    "about a rule with targets": {
        "weighter": {"name": "tow", "wants_targets": True, "nominal": "opus"},
        "trusted": TRUSTED,
    },
    "race in a heat": {
        "weighter": {"name": "auto", **HEAT},
        "trusted": {"count": 8, "per_batch": 3},
    },
    "race of two": {
        "weighter": {
            "name": "race",
            "rules": ["uniform", "trim"],
            **HEAT,
        },
        "trusted": {"count": 8, "per_batch": 3},
    },
    "scheduler with an inner loop": {
        "weighter": {"name": "ats"},
        "trusted": TRUSTED,
        "learner": {"name": "maml", "adaptation_steps": 1},
    },
}
"""the rules of the literature, kinds, plans about a rule, and a race of such"""


def recipes(
    cases: dict[str, dict[str, Any]],
    tasks: int = 7,
    windows: int = WINDOWS,
    dtype: str = "float64",
) -> dict[str, dict[str, Any]]:
    """The tiny recipe for each case, without trusted tasks unless it says so."""
    made = {}
    for name, case in cases.items():
        sections = {k: value for k, value in case.items() if k not in ("tasks", "horizon")}
        horizon = case.get("horizon", HORIZON)
        training = {
            "steps": windows * horizon,
            "horizon": horizon,
            "meta_batch_size": case.get("tasks", tasks),
            "checkpoint_every": 100,
        }
        common = {
            "trusted": {},
            "training": training,
            "dtype": dtype,
            "validation": {"every": 20, "tasks": 3},
        }
        made[name] = {**TINY, **common, **sections}
    return made
