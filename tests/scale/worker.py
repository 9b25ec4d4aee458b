"""Runs recipes one after another in the ranks that torchrun made: one start for many comparisons.

    torchrun ... -m tests.scale.worker FOLDER    (FOLDER/recipes.json: name -> recipe)

Without torchrun it is the one process that they are compared with.
"""

import json
import sys
from pathlib import Path

import torch

from towpath.ranks import launched
from towpath.training import Recipe, train
from towpath.training.loop import Unheard


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    recipes = json.loads((folder.parent / "recipes.json").read_text())
    sent = {}
    with launched() as ranks:
        for name, mapping in recipes.items():
            before = ranks.sent
            train(folder / name, Recipe.of(mapping), Unheard(), ranks=ranks)
            sent[name] = ranks.sent - before
    (folder / f"sent-{ranks.rank}.json").write_text(json.dumps(sent))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
