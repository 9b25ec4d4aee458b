"""`summary.json`: the final figures of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from towpath.runs.judged import WeightByLabel
from towpath.runs.plain import (
    Json,
    JsonObject,
    count_at,
    figure_at,
    known_at,
    number_at,
    object_of,
    text_at,
)
from towpath.runs.scores import ScoreSummary


@dataclass(frozen=True)
class RunTiming:
    """Wall-clock seconds of a run, the only figures that are not reproducible."""

    seconds: float
    """the whole run"""
    training_seconds: float
    seconds_per_step: float
    test_seconds: float | None = None

    def as_json(self) -> dict[str, Json]:
        """Return the plain values from which `from_json` makes the times."""
        return {
            "seconds": self.seconds,
            "training_seconds": self.training_seconds,
            "seconds_per_step": self.seconds_per_step,
            "test_seconds": self.test_seconds,
        }

    @classmethod
    def from_json(cls, content: JsonObject) -> "RunTiming":
        """Return the times that a file holds; raise TypeError or KeyError if one is missing."""
        return cls(
            seconds=number_at(content, "seconds"),
            training_seconds=number_at(content, "training_seconds"),
            seconds_per_step=number_at(content, "seconds_per_step"),
            test_seconds=known_at(content, "test_seconds"),
        )


@dataclass(frozen=True)
class BestValidation:
    """The validation by which the tested parameters were chosen."""

    score: float
    """the main metric, negated where smaller is better (a loss), so that larger is better"""
    step: int


@dataclass(frozen=True)
class SummaryIdentity:
    """The run that a summary belongs to, and the results that it was made from."""

    run: str
    """digest of the run's identity"""
    evaluations: str
    """digest of `evaluations.json`"""
    asked_steps: int | None
    """number of steps that the configuration requested when the run ended"""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The final results of a run, with what it trained on and what it cost."""

    # what was run
    recipe: str
    weighter: str
    seed: int
    reproduces: str = ""
    data: str = ""
    synthetic: bool = False
    # how it came out
    test: Mapping[str, ScoreSummary]
    """the score on each test set; the recipe's own set comes first"""
    validation: BestValidation | None = None
    """None where nothing was validated"""
    # what it took
    steps: int
    windows: int = 0
    tasks_trained: int
    evaluations: float
    """mini-batch evaluations of losses and gradients"""
    weight_by_label: WeightByLabel | None = None
    """None where no task was mislabelled on purpose"""
    parameters: int = 0
    normalisation: str = "not stated"
    versions: Mapping[str, str] = field(default_factory=dict)
    timing: RunTiming
    identity: SummaryIdentity | None = None
    """None in a run folder of towpath 0.1"""

    @property
    def score(self) -> ScoreSummary:
        """The score on the recipe's own test set."""
        return next(iter(self.test.values()))

    def as_json(self) -> dict[str, Json]:
        """Return the content of `summary.json`, from which `from_json` makes the summary again."""
        best, labels = self.validation, self.weight_by_label
        content: dict[str, Json] = {
            "recipe": self.recipe,
            "reproduces": self.reproduces,
            "weighter": self.weighter,
            "seed": self.seed,
            "data": self.data,
            "synthetic": self.synthetic,
            **self.score.as_json(),
            "test": {name: score.as_json() for name, score in self.test.items()},
            "validation": None if best is None else {"score": best.score, "step": best.step},
            "steps": self.steps,
            "windows": self.windows,
            "tasks_trained": self.tasks_trained,
            "evaluations": self.evaluations,
            "weight_by_label": None if labels is None else labels.as_json(),
            "parameters": self.parameters,
            "normalisation": self.normalisation,
            "versions": self.versions,
            "timing": self.timing.as_json(),
        }
        if self.identity is not None:
            content["identity"] = {
                "run": self.identity.run,
                "evaluations": self.identity.evaluations,
                "asked_steps": self.identity.asked_steps,
            }
        return content

    @classmethod
    def from_json(cls, content: JsonObject) -> "Summary":
        """Return the summary that a file holds; raise TypeError or KeyError if it is incomplete."""
        for name in ("mean", "interval", "worst_tenth"):  # repeated from the first test set
            figure_at(content, name)
        test = object_of(content["test"], "a result for each test set")
        if not test:
            raise TypeError("test is not a result for each test set")
        labels = content["weight_by_label"]
        versions = object_of(content.get("versions") or {}, "the versions")
        return cls(
            recipe=text_at(content, "recipe"),
            weighter=text_at(content, "weighter"),
            seed=count_at(content, "seed"),
            reproduces=str(content.get("reproduces", "")),
            data=str(content.get("data", "")),
            synthetic=bool(content.get("synthetic", False)),
            test={
                name: _test_score(object_of(score, "a score"), name) for name, score in test.items()
            },
            validation=_validation(content),
            steps=count_at(content, "steps"),
            windows=count_at({"windows": 0, **content}, "windows"),
            tasks_trained=count_at(content, "tasks_trained"),
            evaluations=number_at(content, "evaluations"),
            weight_by_label=None
            if labels is None
            else WeightByLabel.from_json(object_of(labels, "weights by label")),
            parameters=count_at({"parameters": 0, **content}, "parameters"),
            normalisation=str(content.get("normalisation", "not stated")),
            versions={name: str(version) for name, version in versions.items()},
            timing=RunTiming.from_json(object_of(content["timing"], "the times of a run")),
            identity=_identity(content),
        )


def _test_score(content: JsonObject, name: str) -> ScoreSummary:
    if "interval" not in content:
        raise KeyError(f"{name}: interval")
    return ScoreSummary.from_json(content)


def _validation(content: JsonObject) -> BestValidation | None:
    found = content.get("validation")
    if found is None:
        return None
    best = object_of(found, "the best validation")
    return BestValidation(figure_at(best, "score"), count_at(best, "step"))


def _identity(content: JsonObject) -> SummaryIdentity | None:
    if content.get("identity") is None:
        return None
    found = object_of(content["identity"], "the identity of a run")
    asked = found.get("asked_steps")
    return SummaryIdentity(
        run=str(found.get("run", "")),
        evaluations=str(found.get("evaluations", "")),
        asked_steps=asked if isinstance(asked, int) else None,
    )
