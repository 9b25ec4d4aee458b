"""Finished comparisons as small pages of the docs; nothing in those pages is typed by hand.

`page` writes docs/results/NAME.md (table, command, agreement, detector), NAME.json (the figures and
thinned records) and the pictures.
"""

import json
import shlex
import shutil
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from towpath.metrics import Metric
from towpath.recipes.recipe import Recipe
from towpath.reports.audit import WEIGHTS, audit
from towpath.reports.charts.figures import write_figures
from towpath.reports.differences import differences
from towpath.reports.reruns import paper_recipe
from towpath.reports.sections.paper import TABLE_1
from towpath.runs.comparing import compared
from towpath.runs.comparison import ComparedRun, Comparison, read_comparison, write_comparison
from towpath.runs.comparison_spec import ComparisonSpec, label_of
from towpath.runs.differences import PairedDifference
from towpath.runs.folder import RunFolder
from towpath.runs.plain import Json, plain_json
from towpath.runs.records import ProbeRecord, Record, StepRecord, ValidationRecord

DOCS = Path("docs/results")
KEPT = (
    "label",
    "seed",
    "test",
    "validation",
    "steps",
    "tasks_trained",
    "evaluations",
    "weight_by_label",
)
DETECTOR_STEPS = 100


class Finished:
    """A comparison's folder, read once."""

    def __init__(
        self, folder: Path, name: str, about: str, words: Sequence[str], column: str = ""
    ) -> None:
        self.folder, self.name, self.about, self.column = folder, name, about, column
        self.command = shlex.join(["towpath", *words])
        asked = words[list(words).index("--weighters") + 1].split(",")
        self.asked = [label_of(weighter) for weighter in asked]
        self.result: Comparison = read_comparison(folder)
        self.recipe: Recipe = ComparisonSpec.read(folder).recipe
        self.tests = self.result.tests
        self.records = {run.folder: self._read(run.folder) for run in self.result.runs}

    def _read(self, run: str) -> list[Record]:
        return list(RunFolder(self.folder / run).records())

    def runs(self, label: str) -> list[ComparedRun]:
        """A weighter's runs, one a seed."""
        return self.result.of(label)

    def accuracy(self, label: str, test: str) -> str:
        """Mean over the seeds, with the mean half-width of a seed's interval, in per cent where
        the main metric is shown so."""
        scores = [run.summary.test[test] for run in self.runs(label)]
        metric = self.result.metric(test)
        mean = metric.shown(statistics.fmean(score.mean for score in scores))
        return f"{mean} ±{metric.shown(statistics.fmean(score.interval for score in scores))}"

    def change(self, label: str, test: str) -> str:
        """Paired difference to the baseline, pooled over seeds, and seed by seed."""
        found = self.result.differences.get(label, {}).get(test)
        if not found:
            return "-"
        metric = self.result.metric(test)
        text = signed(found.pooled, metric)
        if len(found.seeds) > 1:
            text += " (" + ", ".join(signed(one, metric) for one in found.seeds.values()) + ")"
        return text

    def ratio(self, label: str) -> str:
        """Weight of wrong tasks over clean ones."""
        each = [run.summary.weight_by_label for run in self.runs(label)]
        found = [one.ratio for one in each if one]
        return f"{statistics.fmean(found):.2f} : 1" if found else "-"

    def work(self, label: str) -> str:
        """Mini-batch evaluations over steps."""
        each = [run.summary for run in self.runs(label)]
        return f"{statistics.fmean(one.evaluations / one.steps for one in each):.2f}"

    def detector(self, label: str) -> float | None:
        """Area under the curve for wrong tasks, last 100 steps, mean of the seeds."""
        areas = [
            found.area_under_curve
            for run in self.runs(label)
            if (found := audit(self.records[run.folder], DETECTOR_STEPS, by=WEIGHTS)) is not None
        ]
        known = [area for area in areas if area is not None]
        return statistics.fmean(known) if known else None

    def agreements(self, label: str) -> list[float]:
        """Agreement of the targets, window by window, all seeds."""
        return [
            record.plan.agreement
            for run in self.runs(label)
            for record in self.records[run.folder]
            if isinstance(record, StepRecord)
            and record.plan is not None
            and record.plan.agreement is not None
        ]


def signed(one: PairedDifference, metric: Metric) -> str:
    mark = "" if one.excludes_zero else " n.s."
    return f"{metric.shown(one.mean, sign=True)} ±{metric.shown(one.interval)}{mark}"


def remerge(folder: Path, weighters: Sequence[str]) -> None:
    """Write `comparison.json` again, of the runs of these weighters that are finished."""
    spec = ComparisonSpec.read(folder)
    done = {path.parent.name.rsplit("-seed", 1)[0] for path in folder.glob("*/summary.json")}
    labels = [w for w in weighters if label_of(w) in done]
    spec = ComparisonSpec.new(folder, spec.recipe, labels, spec.seeds)
    spec.replace()
    write_comparison(folder, compared(spec))


def page(done: Finished) -> None:
    """The experiment's own page and figures."""
    result, recipe = done.result, done.recipe
    noisy = any(run.summary.weight_by_label for run in result.runs)
    lines = [
        f"# {done.name}",
        "",
        f"{done.about[0].upper()}{done.about[1:]}. Recipe `{result.recipe}`, "
        f"{recipe.training.steps} steps, T = {recipe.training.horizon}, M = "
        f"{recipe.training.meta_batch_size}, {recipe.learner.name}, "
        f"{recipe.backbone.name}, {recipe.optimizer.name} at "
        f"{recipe.optimizer.options['meta_lr']:g}, seeds {', '.join(map(str, result.seeds))}.",
        "",
        "```bash",
        done.command,
        "```",
        "",
    ]
    for test in done.tests:
        tasks = result.runs[0].summary.test[test].tasks
        lines += _table(done, test, noisy)
        lines += [
            "",
            f"Accuracy in per cent on {tasks} fixed test tasks of {test}, 95% intervals; "
            f"differences to {result.baseline} are paired, task by task, pooled over the seeds "
            "(and for each seed). Evaluations are of whole mini-batches.",
            "",
        ]
    missing = [w for w in done.asked if w not in done.result.weighters]
    if missing:
        lines += [f"Asked for and not run yet: {', '.join(missing)}.", ""]
    lines += _agreement(done) + _paper(done)
    lines += _probes(done)
    plain = done.name.startswith(("knob-", "any-shot-"))  # short runs, whose curves say little
    pictures = [] if plain else write_figures(done.folder, result)
    for picture in pictures:
        shutil.copy(picture, DOCS / f"{done.name}-{picture.name}")
        lines += [f"![{picture.stem}]({done.name}-{picture.name})", ""]
    (DOCS / f"{done.name}.md").write_text("\n".join(lines))
    whole = result.as_json()
    thin: dict[str, Json] = {
        **{key: whole[key] for key in ("recipe", "weighters", "seeds", "baseline", "differences")},
        "command": done.command,
        "settings": _without_paths(recipe.as_mapping()),
        "runs": [
            {**_kept(run.as_json()), "records": _thinned(done.records[run.folder])}
            for run in result.runs
        ],
    }
    text = json.dumps(plain_json(thin), separators=(",", ":"))
    (DOCS / f"{done.name}.json").write_text(text)


def _kept(run: dict[str, Json]) -> dict[str, Json]:
    return {key: run[key] for key in KEPT}


def _without_paths(value: Json) -> Json:
    """Folders by their last part: where they lay is nobody's business."""
    if isinstance(value, dict):
        return {key: _without_paths(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_paths(item) for item in value]
    return Path(value).name if isinstance(value, str) and value.startswith("/") else value


def _table(done: Finished, test: str, noisy: bool) -> list[str]:
    base = done.result.baseline
    head = ["weighter", "accuracy", f"minus {base}", "evaluations a step", "seeds"]
    if noisy:
        head[3:3] = ["wrong : clean weight", "detector"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for label in done.result.weighters:
        if not done.runs(label):
            lines.append(f"| {label} | not finished |" + " |" * (len(head) - 2))
            continue
        cells = [label, done.accuracy(label, test), done.change(label, test)]
        if noisy:
            area = done.detector(label)
            cells += [done.ratio(label), "-" if area is None else f"{area:.3f}"]
        cells += [done.work(label), str(len(done.runs(label)))]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _agreement(done: Finished) -> list[str]:
    rows = []
    for label in done.result.weighters:
        found = done.agreements(label)
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


def _probes(done: Finished) -> list[str]:
    """How far the weights of fixed tasks are from uniform while training goes on."""
    found: dict[str, dict[int, list[float]]] = {}
    for records in done.records.values():
        for record in records:
            if isinstance(record, ProbeRecord):
                spread = [w * len(row) - 1 for row in record.weights for w in row]
                found.setdefault(record.name, {})[record.step] = spread
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
    figure = Figure(figsize=(3.0 * len(found) + 0.6, 3.2), layout="constrained")
    grid = figure.subplots(1, len(found), sharey=True, squeeze=False)
    for axes, (name, each) in zip(grid[0], found.items(), strict=True):
        for step, spread in sorted(each.items()):
            axes.plot(sorted(100 * d for d in spread), label=f"step {step}")
        axes.axhline(0.0, color="grey", linewidth=0.8, linestyle=":")
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("tasks, by their weight")
        axes.grid(alpha=0.25)
    grid[0][0].set_ylabel("weight over 1/M, minus one (%)")
    grid[0][0].legend(frameon=False, fontsize=8)
    figure.savefig(DOCS / f"{done.name}-probes.png", dpi=120, metadata={"Software": None})
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


def _paper(done: Finished) -> list[str]:
    return beside_the_paper(done.column, done.recipe) if done.column else []


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


def _thinned(records: Iterable[Record], every: int = 20) -> list[Json]:
    """Loss, agreement and trust in wrong tasks every few steps, and all validations."""
    kept: list[Json] = []
    for record in records:
        if isinstance(record, ValidationRecord):
            kept.append({"step": record.step, "validation": round(record.score.mean, 4)})
        elif isinstance(record, StepRecord) and (record.step - 1) % every == 0:
            kept.append(_thin(record))
    return kept


def _thin(record: StepRecord) -> dict[str, Json]:
    """A mini-batch's own tasks: trusted ones are not judged."""
    line: dict[str, Json] = {"step": record.step, "loss": round(record.loss or 0.0, 4)}
    found = None if record.plan is None else record.plan.agreement
    if found is not None:
        line["agreement"] = round(found, 3)
    both = zip(record.weights, record.tasks, strict=True)
    own = [(weight, task) for weight, task in both if not task.get("trusted")]
    line["weights"] = [round(weight, 4) for weight, _ in own]
    line["wrong"] = [i for i, (_, task) in enumerate(own) if task.get("mislabelled")]
    return line
