"""A run as reports need it: its recipe, its results, and what its records say along the steps."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from towpath.metrics import Metric
from towpath.recipes.recipe import Recipe
from towpath.runs.confusion import Confusion
from towpath.runs.made_with import MadeWith
from towpath.runs.plan_statistics import PlanStatistics
from towpath.runs.records import ProbeRecord, StepRecord, TrustRecord
from towpath.runs.scores import Score
from towpath.runs.summary import Summary

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class Check:
    """The outcome of a validation during training, and the training that came before it."""

    step: int
    score: float
    seconds: float | None
    """seconds of training so far, without the validations"""
    tasks: int
    """tasks trained on so far"""
    metric: Metric


@dataclass(frozen=True)
class PlanLine:
    """The statistics of a window's plan, and the step at which the window began."""

    step: int
    figures: PlanStatistics


@dataclass
class RunData:
    """All that the report shows of a run."""

    name: str
    """name of the folder"""
    recipe: Recipe | None = None
    made_with: MadeWith = field(default_factory=MadeWith)
    summary: Summary | None = None
    scores: dict[str, Score] = field(default_factory=dict)
    """per-task results, by test set"""
    confusions: Mapping[str, Confusion] = field(default_factory=dict)
    """which classes were taken for which, by test set"""
    missing: list[str] = field(default_factory=list)
    """sentences on what could not be read or is not there yet"""
    has_digests: bool = True
    """whether changes to the folder can be noticed; false for one of towpath 0.1"""
    # along the steps
    steps: int = 0
    tasks: int = 0
    seconds: float | None = None
    losses: Points = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    plans: list[PlanLine] = field(default_factory=list)
    probes: dict[str, list[ProbeRecord]] = field(default_factory=dict)
    trust: list[TrustRecord] = field(default_factory=list)
    """the checks of the trusted tasks"""
    events: list[tuple[int, str]] = field(default_factory=list)
    # weights, always relative to the mean of their mini-batch
    clean: Points = field(default_factory=list)
    wrong: Points = field(default_factory=list)
    groups: dict[str, tuple["array[float]", "array[float]"]] = field(default_factory=dict)
    """for each group, the steps and the relative weights of its tasks"""
    deviations: Points = field(default_factory=list)
    """(step, |u_t - 1/M|_2)"""
    batch: int = 0
    """M, the number of tasks of a mini-batch as trained, trusted ones included"""
    largest_loss: float = 0.0
    last: list[StepRecord] = field(default_factory=list)
    """records of the last window that was trained on"""
    path: Path = Path()
    """the run's folder"""

    @property
    def finished(self) -> bool:
        """Whether the run has its final results."""
        return self.summary is not None

    @property
    def weighter(self) -> str:
        """The name of the weighter, or of the folder where the configuration cannot be read."""
        return self.recipe.weighter.name if self.recipe else self.name

    @property
    def seed(self) -> int:
        """The seed of the run; 0 where the configuration cannot be read."""
        return self.recipe.seed if self.recipe else 0

    @property
    def delta(self) -> float | None:
        """The largest distance of the weights from uniform ones, max_t |u_t - 1/M|_2."""
        return max((d for _, d in self.deviations), default=None)

    @property
    def weighs(self) -> bool:
        """Whether any task ever had another weight than the rest of its mini-batch."""
        return any(d > 1e-6 for _, d in self.deviations)

    @property
    def asked_steps(self) -> int | None:
        """The number of steps that the configuration requests; None if it cannot be read."""
        return self.recipe.training.steps if self.recipe else None
