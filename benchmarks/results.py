"""The page of an experiment, docs/results/NAME.md, made of its JSON file; nothing is typed by hand.

Pictures need the run folders, so they are drawn only where the folder at hand has every weighter of
the page; otherwise those of an earlier session stay.
"""

import shlex
import shutil
import statistics
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure

from benchmarks.experiments import EXPERIMENTS
from benchmarks.gathering import Finished
from benchmarks.written import DOCS, Written, over_trainings
from towpath.recipes.recipe import Recipe
from towpath.reports.charts.figures import write_figures
from towpath.reports.differences import differences
from towpath.reports.reruns import paper_recipe
from towpath.reports.sections.paper import TABLE_1
from towpath.runs.comparison_spec import label_of

PICTURES = ("curves", "weights")
FOLDERS_OF_BIRDS = (
    "The folders `birds-trusted` and `birds-others` are made by `python -m benchmarks.evidence run "
    "RUNS domain-shift`, from the birds of CUB."
)
WITHOUT_CURVES = ("time-", "knob-", "any-shot-")
"""short runs, whose curves say little, and runs of a setting that has curves on another page: their
picture is that of the intervals"""


def draw(done: Finished) -> None:
    """Draw the pictures of a page from run folders, if none of its weighters is missing there."""
    page = Written(done.name)
    missing = set(page.content["weighters"]) - set(done.result.weighters)
    there = (DOCS / f"{done.name}-{PICTURES[0]}.png").is_file()
    if done.name.startswith(WITHOUT_CURVES) or (missing and there):
        return
    for picture in write_figures(done.folder, done.result):
        shutil.copy(picture, DOCS / f"{done.name}-{picture.name}")


def page(name: str) -> None:
    """Write the experiment's own page."""
    done = Written(name)
    recipe = done.recipe
    seeds = ", ".join(map(str, done.content["seeds"]))
    lines = [
        f"# {done.name}",
        "",
        f"{done.about[0].upper()}{done.about[1:]}. Recipe `{recipe.name}`, "
        f"{recipe.training.steps} steps, T = {recipe.training.horizon}, M = "
        f"{recipe.training.meta_batch_size}, {recipe.learner.name}, "
        f"{recipe.backbone.name}, {recipe.optimizer.name} at "
        f"{recipe.optimizer.options['meta_lr']:g}, seeds {seeds}.",
        "",
        "```bash",
        done.content["command"],
        "```",
        "",
        *_row_by_row(done),
    ]
    for test in done.tests:
        tasks = done.content["runs"][0]["test"][test]["tasks"]
        lines += [*_table(done, test), ""]
        metric = done.metric(test)
        figure = f"{metric.words[0].upper()}{metric.words[1:]}"
        figure += " in per cent" if metric.percent else ""
        figure += "" if metric.larger_is_better else " (smaller is better)"
        lines += [
            f"{figure} on {tasks} fixed test tasks of {test}, 95% intervals over "
            f"tasks; differences to {done.content['baseline']} are paired, task by task, pooled "
            '(and for each seed); "n.s." marks those that are not significant after Holm\'s '
            "correction for the weighters of this page but the oracle. The interval over "
            "trainings is that of the seeds' differences. Evaluations are of whole mini-batches.",
            "",
        ]
    lines += _asked(done) + _agreement(done)
    column = EXPERIMENTS[name].column
    lines += (beside_the_paper(column, recipe) if column else []) + _probes(done)
    for picture in PICTURES:
        if (DOCS / f"{name}-{picture}.png").is_file():
            lines += [f"![{picture}]({name}-{picture}.png)", ""]
    lines += _intervals(done)
    (DOCS / f"{name}.md").write_text("\n".join(lines))


def supplement(name: str) -> None:
    """Put the command of each row and the commits above the first table of an older page.

    It shows figures that its JSON file has not kept, so all the rest of it stays as it is.
    """
    done, file = Written(name), DOCS / f"{name}.md"
    text = file.read_text()
    begin = text.index("\n```\n", text.index(done.content["command"])) + len("\n```\n")
    added = ["", *_row_by_row(done), *_made_with(done), *_intervals(done), ""]
    file.write_text(text[:begin] + "\n".join(added) + text[text.index("| weighter |") :])


def _intervals(done: Written) -> list[str]:
    """Draw each training's score with its interval, for a page that has no curves."""
    if not done.name.startswith(WITHOUT_CURVES):
        return []
    labels, tests = list(done.runs), done.tests
    size = (4.2 * len(tests) + 1.2, 0.34 * len(labels) + 1.1)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(1, len(tests), sharey=True, squeeze=False)[0]
    for axes, test in zip(grid, tests, strict=True):
        unit = 100 if done.metric(test).percent else 1
        for place, label in enumerate(labels):
            for run in done.runs[label]:
                score = run["test"][test]
                mean, half = unit * score["mean"], unit * score["interval"]
                axes.errorbar(mean, place, xerr=half, fmt="o", color="tab:blue", alpha=0.6)
        axes.set_xlabel(f"{done.metric(test).words} on {test}")
        axes.grid(alpha=0.25)
    grid[0].set_yticks(range(len(labels)), labels)
    grid[0].set_ylim(len(labels) - 0.4, -0.6)
    figure.savefig(DOCS / f"{done.name}-intervals.png", dpi=90, metadata={"Software": None})
    return [f"![scores of the trainings, 95% intervals]({done.name}-intervals.png)", ""]


def _row_by_row(done: Written) -> list[str]:
    """Return a command for each row of the table, folded away: the baseline and that weighter."""
    command, baseline = shlex.split(done.content["command"]), done.content["baseline"]
    weighters = command[command.index("--weighters") + 1].split(",")
    if len(weighters) == 1:
        return []  # the page's own command is that of its row
    written = {label_of(weighter): weighter for weighter in weighters}
    lines = []
    for label, runs in done.runs.items():
        own = {
            "--weighters": ",".join(dict.fromkeys([written[baseline], written[label]])),
            "--seeds": ",".join(str(run["seed"]) for run in runs),
            "--out": f"{done.name}-{label}",
        }
        words = [own.get(option, word) for option, word in pairwise(["", *command])]
        lines.append(shlex.join(words))
    summary = "<details><summary>Each row by itself</summary>"
    return [summary, "", "```bash", *lines, "```", "", "</details>", ""]


def _asked(done: Written) -> list[str]:
    """Return what the command asks for and nobody has run yet, and with what the rest was run."""
    experiment = EXPERIMENTS[done.name]
    labels = [label_of(weighter) for weighter in experiment.weighters.split(",")]
    missing = []
    for label in labels:
        have = {str(run["seed"]) for run in done.runs.get(label, [])}
        lacking = [seed for seed in experiment.seeds.split(",") if seed not in have]
        if lacking:
            missing.append(label if not have else f"{label} (seeds {', '.join(lacking)})")
    lines = [f"Asked for and not run yet: {', '.join(missing)}.", ""] if missing else []
    if experiment.also:
        lines += [
            f"Runs of the same settings that [{experiment.also}]({experiment.also}.md) has are "
            "counted here, too.",
            "",
        ]
    return lines + _made_with(done)


def _made_with(done: Written) -> list[str]:
    """Return the commits of the runs; of older ones only that which brought them is known."""
    made, brought = done.noted("commit"), done.noted("brought_by")
    lines = [f"The runs were made with commit {', '.join(made)}.", ""] if made else []
    if brought:
        lines += [
            f"{'Other' if made else 'The'} runs were made before commits were noted with them; "
            f"they came with commit {', '.join(brought)}.",
            "",
            *_since(done),
        ]
    return lines


def _since(done: Written) -> list[str]:
    """Return in what the command means something else today than when older runs were made."""
    experiment = EXPERIMENTS[done.name]
    told = [str(one) for one in differences(experiment.read(), done.recipe)]
    if any(label.partition(":")[0] == "tow" for label in done.runs):
        told.append("`tow` with `acceptance=chance` (`tow:acceptance=strict` is what it was)")
    folders = "birds-trusted" in done.content["command"]
    return [
        *([f"The same command has today: {'; '.join(told)}.", ""] if told else []),
        *([FOLDERS_OF_BIRDS, ""] if folders else []),
    ]


def _table(done: Written, test: str) -> list[str]:
    base = done.content["baseline"]
    noisy = any(run["weight_by_label"] for own in done.runs.values() for run in own)
    metric = done.metric(test)
    head = ["weighter", metric.words, f"minus {base}", "over trainings"]
    head += [*(["wrong : clean weight", "detector"] if noisy else []), "evaluations a step"]
    head += ["seeds"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for label, runs in done.runs.items():
        gains = list(done.gains(label, test).values())
        if not metric.percent:
            gains = [gain / 100 for gain in gains]
        cells = [label, done.accuracy(label, test), done.change(label, test)]
        cells += [over_trainings(gains, 1 if metric.percent else 3) if len(gains) > 1 else "-"]
        if noisy:
            cells += [_mean([(run["weight_by_label"] or {}).get("ratio") for run in runs], " : 1")]
            cells += [_mean([run.get("detector") for run in runs], "", 3)]
        cells += [f"{statistics.fmean(run['evaluations'] / run['steps'] for run in runs):.2f}"]
        lines.append(f"| {' | '.join([*cells, str(len(runs))])} |")
    return lines


def _mean(values: list[Any], unit: str, digits: int = 2) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.fmean(known):.{digits}f}{unit}" if known else "-"


def _agreement(done: Written) -> list[str]:
    rows = []
    for label, runs in done.runs.items():
        found = [value for run in runs for value in run.get("agreements", ())]
        if len(found) > 3:
            low, middle, high = statistics.quantiles(found, n=4)
            below = statistics.fmean(a <= 0 for a in found)
            rows.append(
                f"| {label} | {middle:.2f} | {low:.2f} to {high:.2f} | {100 * below:.0f}% | "
                f"{len(found)} |"
            )
    if not rows:
        return []
    head = "| agreement of the targets | median | quartiles | at most 0 | windows |"
    return [head, "|---|---|---|---|---|", *rows, ""]


def _probes(done: Written) -> list[str]:
    """How far the weights of fixed tasks are from uniform while training goes on."""
    found: dict[str, dict[int, list[float]]] = {}
    for own in done.runs.values():
        for run in own:
            for name, each in run.get("probes", {}).items():
                found[name] = {int(step): spread for step, spread in each.items()}
    if not found:
        return []
    steps = sorted({step for each in found.values() for step in each})
    head = ["probe", *(f"step {step}" for step in steps)]
    rows = []
    for name, each in found.items():
        cells = [
            f"{100 * max(each[s]):+.2f} / {100 * min(each[s]):+.2f} / "
            f"{100 * statistics.pstdev(each[s]):.2f}"
            for s in steps
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    _draw_probes(done.name, found)
    return [
        "Weights of fixed tasks, in per cent of 1/M from uniform: largest / smallest / standard "
        "deviation.",
        "",
        f"| {' | '.join(head)} |",
        "|" + "---|" * len(head),
        *rows,
        "",
        f"![probes]({done.name}-probes.png)",
        "",
    ]


def _draw_probes(name: str, found: dict[str, dict[int, list[float]]]) -> None:
    figure = Figure(figsize=(3.0 * len(found) + 0.6, 3.2), layout="constrained")
    grid = figure.subplots(1, len(found), sharey=True, squeeze=False)
    for axes, (probe, each) in zip(grid[0], found.items(), strict=True):
        for step, spread in sorted(each.items()):
            axes.plot(sorted(100 * d for d in spread), label=f"step {step}")
        axes.axhline(0.0, color="grey", linewidth=0.8, linestyle=":")
        axes.set_title(probe, fontsize=10)
        axes.set_xlabel("tasks, by their weight")
        axes.grid(alpha=0.25)
    grid[0][0].set_ylabel("weight over 1/M, minus one (%)")
    grid[0][0].legend(frameon=False, fontsize=8)
    figure.savefig(DOCS / f"{name}-probes.png", dpi=120, metadata={"Software": None})


def beside_the_paper(column: str, found: Recipe) -> list[str]:
    """The paper's figures of a column of Table 1, and in what a recipe is not that column's."""
    wanted = paper_recipe(column)
    assert wanted is not None
    words = "; ".join(map(str, differences(found, wanted)))
    rows = [
        f"| {'TOW (`tow-faithful`)' if label == 'tow' else label} | {mean:.2f} ±{width:.2f} |"
        for label, (mean, width) in TABLE_1[column].items()
    ]
    return [
        f"The paper's figures of the column that `{column}` reruns. Above is not that setting: "
        f"{words}. `tow` is our own form of TOW.",
        "",
        "| weighter | accuracy in the paper |",
        "|---|---|",
        *rows,
        "",
    ]
