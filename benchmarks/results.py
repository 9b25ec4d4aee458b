"""`python -m benchmarks.results FOLDER NAME`: a finished comparison as a small page of the docs.

Writes docs/results/NAME.md (table, exact settings) and NAME.json (the figures), and copies the
figures' PNG files beside them. Nothing in those pages is typed by hand.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import yaml

from towpath.training.compare import ASKED, RESULT

DOCS = Path("docs/results")
KEPT = ("label", "seed", "mean", "interval", "worst_tenth", "tasks", "steps", "tasks_trained")


def row(result: dict[str, Any], label: str, test: str) -> str:
    """One line of the table: means over the seeds, paired difference to the baseline."""
    runs = [run for run in result["runs"] if run["label"] == label]
    mean = 100 * sum(run["test"][test]["mean"] for run in runs) / len(runs)
    width = 100 * sum(run["test"][test]["interval"] for run in runs) / len(runs)
    worst = 100 * sum(run["test"][test]["worst_tenth"] for run in runs) / len(runs)
    work = sum(run["evaluations"] for run in runs) / len(runs)
    ratios = [run["weight_by_label"]["ratio"] for run in runs if run["weight_by_label"]]
    ratio = f"{sum(ratios) / len(ratios):.2f} : 1" if ratios else "-"
    difference = result["differences"].get(label, {}).get(test)
    change = "-"
    if difference:
        mark = "" if difference["excludes_zero"] else " (n.s.)"
        change = f"{100 * difference['mean']:+.1f} ±{100 * difference['interval']:.1f}{mark}"
    return f"| {label} | {mean:.1f} ±{width:.1f} | {change} | {worst:.1f} | {ratio} | {work:.0f} |"


def main() -> None:
    """Turn one comparison folder into a page."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    result = json.loads((folder / RESULT).read_text())
    asked = yaml.safe_load((folder / ASKED).read_text())
    recipe = asked["recipe"]
    test = next(iter(result["runs"][0]["test"]))
    tasks = result["runs"][0]["test"][test]["tasks"]
    DOCS.mkdir(parents=True, exist_ok=True)
    lines = [
        f"# {name}",
        "",
        f"Recipe `{result['recipe']}`, {recipe['training']['steps']} steps, seeds "
        f"{', '.join(map(str, result['seeds']))}; accuracy on {tasks} fixed test tasks of {test} "
        f"with a 95% interval; differences to {result['baseline']} are paired, task by task.",
        "",
        f"| weighter | accuracy % | minus {result['baseline']} | worst tenth | "
        "wrong : clean weight | mini-batch evaluations |",
        "|---|---|---|---|---|---|",
        *(row(result, label, test) for label in result["weighters"]),
        "",
        f"Label noise {recipe['episodes']['label_noise']:g} of the training tasks, "
        f"{recipe['trusted']['count']} trusted tasks ({recipe['trusted']['per_batch']} with each "
        "mini-batch: targets of tow-targets, additional training tasks of every other weighter), "
        f"{recipe['learner']['name']}, {recipe['backbone']['name']}, "
        f"{recipe['optimizer']['name']} at {recipe['optimizer']['meta_lr']:g}.",
        "",
    ]
    for picture in ("curves.png", "weights.png"):
        if (folder / picture).exists():
            shutil.copy(folder / picture, DOCS / f"{name}-{picture}")
            lines += [f"![{picture.removesuffix('.png')}]({name}-{picture})", ""]
    (DOCS / f"{name}.md").write_text("\n".join(lines))
    thin = {
        **{key: result[key] for key in ("recipe", "weighters", "seeds", "baseline", "differences")},
        "settings": recipe,
        "runs": [{key: run[key] for key in KEPT} for run in result["runs"]],
    }
    (DOCS / f"{name}.json").write_text(json.dumps(thin, indent=1))
    print((DOCS / f"{name}.md").read_text())


if __name__ == "__main__":
    main()
