"""From run folders to the JSON file of a page.

The file gathers runs: those of the folder at hand take the place of their like, and runs of earlier
sessions or other machines stay, if they were made with the same settings. That is why it holds the
score of every test task: differences are paired over runs that were never on one machine. It also
holds what the page shows of the records (thinned), and the commit of each run: `commit`, or
`brought_by` where nobody noted with what it was made, only which commit added it.
"""

import json
import shlex
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from benchmarks.checkout import commit_of
from benchmarks.experiments import EXPERIMENTS
from benchmarks.written import DOCS
from towpath.metrics import metric_named
from towpath.recipes.recipe import Recipe
from towpath.reports.audit import WEIGHTS, audit
from towpath.runs.comparing import compared
from towpath.runs.comparison import BASELINE, ComparedRun, Comparison
from towpath.runs.comparison_spec import ComparisonSpec, label_of
from towpath.runs.differences import PairedDifference, SeedDifferences
from towpath.runs.folder import RunFolder
from towpath.runs.plain import Json, JsonObject, plain_json
from towpath.runs.records import ProbeRecord, Record, StepRecord, ValidationRecord
from towpath.runs.task_values import NORMAL_95, TaskValues

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
IN_WORDS = ("about", "reproduces", "small", "compare")
"""parts of a recipe that no run depends on"""
DETECTOR_STEPS = 100
Run = Mapping[str, Any]


class Finished:
    """The folder of an experiment's comparison, read once."""

    def __init__(self, runs: Path, name: str) -> None:
        self.folder, self.name = runs / name, name
        self.commit = commit_of(runs)
        weighters = EXPERIMENTS[name].weighters.split(",")
        self.result: Comparison = merged(self.folder, weighters)
        self.recipe: Recipe = ComparisonSpec.read(self.folder).recipe
        asked = EXPERIMENTS[name].read()
        if _compared(asked.as_mapping()) != _compared(self.recipe.as_mapping()):
            sys.exit(
                f"The runs in {self.folder} have other settings than the command of {name}; "
                "expected those. Run them anew in another folder."
            )
        self.records = {
            run.folder: list(RunFolder(self.folder / run.folder).records())
            for run in self.result.runs
        }

    def entry(self, run: ComparedRun) -> dict[str, Json]:
        """Return what the page's file keeps of a run."""
        records, whole = self.records[run.folder], run.as_json()
        scores = RunFolder(self.folder / run.folder).evaluations() or {}
        found = audit(records, DETECTOR_STEPS, by=WEIGHTS)
        return {
            **{key: whole[key] for key in KEPT},
            "commit": self.commit,
            "values": {
                test: [None if np.isnan(v) else round(float(v), 5) for v in score.main.values]
                for test, score in scores.items()
            },
            "detector": None if found is None else found.area_under_curve,
            "agreements": agreements(records),
            "probes": probes(records),
            "records": thinned(records),
        }


def merged(folder: Path, weighters: Sequence[str]) -> Comparison:
    """Return the comparison of the runs that are finished; the folder stays as it is."""
    spec = ComparisonSpec.read(folder)
    done = {path.parent.name.rsplit("-seed", 1)[0] for path in folder.glob("*/summary.json")}
    finished = [weighter for weighter in weighters if label_of(weighter) in done]
    return compared(ComparisonSpec.new(folder, spec.recipe, finished, spec.seeds))


def gather(done: Finished) -> None:
    """Write the page's JSON file, with the runs of earlier sessions that it has already."""
    new = {(run.label, run.summary.seed): done.entry(run) for run in done.result.runs}
    _store(done.name, done.result.recipe, without_paths(done.recipe.as_mapping()), new)


def adopt(name: str) -> None:
    """Add the runs of the other page that count for an experiment to the page that it has."""
    content = _content(name)
    if content and EXPERIMENTS[name].also:
        _store(name, content["recipe"], content["settings"], {})


def _store(name: str, recipe: str, settings: Json, new: Mapping[tuple[str, int], Run]) -> None:
    """Write a page's JSON file.

    Args:
        name: the experiment's.
        recipe: the name of its recipe.
        settings: what its runs were made with, folders by their last part.
        new: runs by label and seed, which take the place of those that the pages have.
    """
    experiment, pages = EXPERIMENTS[name], [_content(EXPERIMENTS[name].also), _content(name)]
    runs = {_key(run): run for old in pages for run in _usable(name, old, settings)} | dict(new)
    known = [label_of(weighter) for weighter in experiment.weighters.split(",")]
    labels = [label for label in known if any(own == label for own, _ in runs)]
    ordered = sorted(runs.values(), key=lambda r: (labels.index(r["label"]), r["seed"]))
    baseline = BASELINE if BASELINE in labels else labels[0]
    given = _given(pages) if any("values" not in run for run in ordered) else {}
    gone = {run["label"] for run in pages[-1].get("runs", [])} - set(labels)
    if gone:
        words = ", ".join(sorted(gone))
        print(f"{name}: its command has no {words}, so the page loses them", flush=True)
    content = {
        "recipe": recipe,
        "weighters": labels,
        "seeds": sorted({run["seed"] for run in ordered}),
        "baseline": baseline,
        "command": shlex.join(["towpath", *experiment.words(Path(name))]),
        "settings": settings,
        "differences": differences(ordered, baseline, given),
        "runs": ordered,
    }
    file = DOCS / f"{name}.json"
    file.write_text(json.dumps(plain_json(content), separators=(",", ":")))


def _content(name: str) -> dict[str, Any]:
    """Return the JSON file of a page; empty if there is none."""
    file = DOCS / f"{name}.json"
    content: dict[str, Any] = json.loads(file.read_text()) if name and file.is_file() else {}
    return content


def _given(pages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the differences that pages have, by weighter and test set; later pages come first."""
    found: dict[str, Any] = {}
    for page in pages:
        for label, sets in page.get("differences", {}).items():
            for test, one in sets.items():
                known = found.setdefault(label, {}).get(test, {"seeds": {}})
                found[label][test] = {**one, "seeds": {**known["seeds"], **one["seeds"]}}
    return found


def _key(run: Run) -> tuple[str, int]:
    return run["label"], run["seed"]


def _usable(name: str, old: Mapping[str, Any], settings: Json) -> list[Run]:
    """Return the runs of a page's file that new ones may stand beside."""
    runs = list(old.get("runs", []))
    if runs and _compared(old["settings"]) != _compared(settings):
        sys.exit(
            f"{name} has {len(runs)} runs of other settings than the new ones; expected the same. "
            f"Give the experiment another name, or delete {DOCS / name}.json to begin it anew."
        )
    known = {label_of(weighter) for weighter in EXPERIMENTS[name].weighters.split(",")}
    return [run for run in runs if run["label"] in known]


def _compared(settings: Json) -> Json:
    """Return what runs depend on, with the defaults of fields that older runs did not have."""
    assert isinstance(settings, dict)
    whole = Recipe.of(settings).as_mapping()
    return without_paths({key: value for key, value in whole.items() if key not in IN_WORDS})


def differences(runs: Iterable[Run], baseline: str, given: Mapping[str, Any]) -> dict[str, Json]:
    """Return each weighter's paired differences to the baseline, by test set.

    Args:
        runs: the runs, with the scores of their test tasks.
        baseline: the weighter that the others are compared with.
        given: differences that a page has already; they stand for runs whose scores were not kept.
    """
    values: dict[str, dict[str, dict[int, TaskValues]]] = {}
    for run in runs:
        for test in run["test"]:
            own = values.setdefault(run["label"], {}).setdefault(test, {})
            if "values" in run:
                own[run["seed"]] = _values(run, test)
    result: dict[str, Json] = {}
    for label in values:
        if label != baseline:
            by_set = {
                test: _between(own, values[baseline].get(test, {}), given.get(label, {}).get(test))
                for test, own in values[label].items()
            }
            result[label] = {test: found.as_json() for test, found in by_set.items() if found}
    return result


def _values(run: Run, test: str) -> TaskValues:
    array = np.array([np.nan if v is None else v for v in run["values"][test]])
    return TaskValues(metric_named(run["test"][test]["metric"]), array, ~np.isnan(array))


def _between(
    own: Mapping[int, TaskValues], base: Mapping[int, TaskValues], given: JsonObject | None
) -> SeedDifferences | None:
    """Return the differences of all seeds, with those given where no scores were kept."""
    found = SeedDifferences.between(own, base)
    kept = {} if given is None else SeedDifferences.from_json(given).seeds
    seeds = {**kept, **({} if found is None else found.seeds)}
    if not seeds or (found is not None and len(seeds) == len(found.seeds)):
        return found
    ordered = dict(sorted(seeds.items()))
    mean = statistics.fmean(one.mean for one in seeds.values())
    # all seeds have the same test tasks: as if their errors were one and the same, the most it is
    width = statistics.fmean(one.interval for one in seeds.values())
    p_value = 2.0 * float(norm.sf(NORMAL_95 * abs(mean) / width)) if width > 0 else 1.0
    return SeedDifferences(PairedDifference(mean, width, p_value), ordered)


def without_paths(value: Json) -> Json:
    """Return settings with folders by their last part: where they lay is nobody's business."""
    if isinstance(value, dict):
        return {key: without_paths(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_paths(item) for item in value]
    return Path(value).name if isinstance(value, str) and value.startswith("/") else value


def agreements(records: Iterable[Record]) -> list[Json]:
    """Return the agreement of the targets, window by window."""
    return [
        round(record.plan.agreement, 3)
        for record in records
        if isinstance(record, StepRecord)
        and record.plan is not None
        and record.plan.agreement is not None
    ]


def probes(records: Iterable[Record]) -> dict[str, Json]:
    """Return how far the weights of fixed tasks are from 1/M, by probe and step."""
    found: dict[str, dict[str, Json]] = {}
    for record in records:
        if isinstance(record, ProbeRecord):
            spread: list[Json] = [round(w * len(row) - 1, 6) for row in record.weights for w in row]
            found.setdefault(record.name, {})[str(record.step)] = spread
    return dict(found)


def thinned(records: Iterable[Record], every: int = 20) -> list[Json]:
    """Return loss, agreement and trust in wrong tasks every few steps, and all validations."""
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
