"""Statistics of a window's plan, as numbers in the window's first record."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from towpath.runs.plain import Json, JsonObject, count_at, figures_at, known_at
from towpath.runs.race import race_as_json, race_from_json
from towpath.weighters.race.record import RaceRecord

Series = Sequence[float | None]
"""numbers, with None for each that was not finite"""
FOLLOWS_A_RULE = ("rule", "nothing to judge")
"""statuses of a window whose weights follow a rule, without optimisation"""


@dataclass(frozen=True, kw_only=True)
class PlanStatistics:
    """The statistics of a plan; None for those that were not computed or not recorded."""

    status: str
    """how the plan ended"""
    weightless: int = 0
    """number of mini-batches in which all weights are 0"""
    # the cost, before and after
    nominal_cost: float | None = None
    cost: float | None = None
    predicted_decrease: float | None = None
    actual_decrease: float | None = None
    # the weights
    beta: float | None = None
    agreement: float | None = None
    spread: float | None = None
    effective_tasks: Series | None = None
    """effective number of tasks of each mini-batch"""
    curvature_ratio: float | None = None
    # the work: step sizes and trials of each iteration, then counts of the whole plan
    steps: Series | None = None
    trials: Series | None = None
    evaluations: float | None = None
    sketches: float | None = None
    part_evaluations: float | None = None
    # section 3.2 of the paper, for the same iterations and trials
    paper_evaluations: float | None = None
    paper_sketches: float | None = None
    paper_linearisation: float | None = None
    paper_backward: float | None = None
    race: RaceRecord | None = None
    """who leads and how the arms stand, where weighters race"""

    @property
    def planned(self) -> bool:
        """Whether the weights were optimised, rather than given by a rule."""
        return self.status not in FOLLOWS_A_RULE and self.steps is not None

    @property
    def iterations(self) -> int | None:
        """The number of iterations of the optimisation; None where it is not recorded."""
        return None if self.steps is None else len(self.steps)

    @property
    def mean_step(self) -> float | None:
        """The mean accepted step size of the line search, where 1 is the full step."""
        return _mean(self.steps)

    @property
    def mean_effective_tasks(self) -> float | None:
        """The effective number of tasks, averaged over the mini-batches."""
        return _mean(self.effective_tasks)

    def as_json(self) -> dict[str, Json]:
        """Return plain values for `from_json`; `weightless` and `race` only where there are any."""
        content: dict[str, Json] = {"weightless": self.weightless} if self.weightless else {}
        for field in fields(self):
            if field.name not in ("weightless", "race"):
                content[field.name] = getattr(self, field.name)
        if self.race is not None:
            content["race"] = race_as_json(self.race)
        return content

    @classmethod
    def from_json(cls, content: JsonObject) -> "PlanStatistics":
        """Return the statistics of a record; raise TypeError for a value that is not a number."""

        def series(name: str) -> Series | None:
            """Return the list of numbers of this name; None where it is not recorded."""
            return None if content.get(name) is None else figures_at(content, name)

        return cls(
            status=str(content.get("status", "")),
            weightless=count_at({"weightless": 0, **content}, "weightless"),
            nominal_cost=known_at(content, "nominal_cost"),
            cost=known_at(content, "cost"),
            predicted_decrease=known_at(content, "predicted_decrease"),
            actual_decrease=known_at(content, "actual_decrease"),
            beta=known_at(content, "beta"),
            agreement=known_at(content, "agreement"),
            spread=known_at(content, "spread"),
            effective_tasks=series("effective_tasks"),
            curvature_ratio=known_at(content, "curvature_ratio"),
            steps=series("steps"),
            trials=series("trials"),
            evaluations=known_at(content, "evaluations"),
            sketches=known_at(content, "sketches"),
            part_evaluations=known_at(content, "part_evaluations"),
            paper_evaluations=known_at(content, "paper_evaluations"),
            paper_sketches=known_at(content, "paper_sketches"),
            paper_linearisation=known_at(content, "paper_linearisation"),
            paper_backward=known_at(content, "paper_backward"),
            race=None if content.get("race") is None else race_from_json(content["race"]),
        )


def _mean(values: Series | None) -> float | None:
    known = [value for value in values or () if value is not None]
    return sum(known) / len(known) if known else None
