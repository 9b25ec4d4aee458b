"""Runs recipes one after another in the ranks that torchrun made: one start for many comparisons.

    torchrun ... -m tests.distributed.worker FOLDER    (beside it recipes.json: name -> recipe)

Besides, it plans one window with each kind of weighter and writes down what that sent.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch

from towpath.distributed.launch import launched
from towpath.distributed.ranks import Ranks
from towpath.training import Recipe, train
from towpath.training.reporter import SilentReporter
from towpath.training.setup import prepare
from towpath.weighters import TOW, Uniform, Weighter


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    recipes = json.loads((folder.parent / "recipes.json").read_text())
    with launched() as ranks:
        for name, mapping in recipes.items():
            train(
                folder / name, Recipe.of(mapping), SilentReporter(), allowed=["tests"], ranks=ranks
            )
        if ranks.size > 1:
            sent = traffic(Recipe.of(next(iter(recipes.values()))), ranks)
            (folder / f"sent-{ranks.rank}.json").write_text(json.dumps(sent))


def traffic(recipe: Recipe, ranks: Ranks) -> dict[str, Any]:
    """Bytes that a window of each kind sent, what they depend on, and the trials that it took."""
    setup = prepare(recipe, ranks=ranks)
    params = setup.start.params
    window, _ = setup.window(0, recipe.training.steps)
    goals = [batch[:2] for batch in setup.window(1, recipe.training.steps)[0]]
    shape = {"P": sum(p.numel() for p in params.values()), "T": len(window), "M": len(window[0])}
    result: dict[str, Any] = {**shape, "tensors": len(params)}
    kinds: dict[str, Weighter] = {
        "uniform": Uniform(),
        "tow": TOW(beta=1e-3, acceptance="strict"),
        "targets": TOW.towards_targets(shrink="none", acceptance="strict"),
    }
    for name, weighter in kinds.items():
        before = ranks.sent
        targets = goals if name == "targets" else None
        plan = weighter.plan(
            setup.objective, params, setup.start.optimizer, window, targets=targets
        )
        result[name] = {
            "sent": ranks.sent - before,
            "trials": [line.trials for line in plan.history],
        }
    return result


if __name__ == "__main__":
    main(Path(sys.argv[1]))
