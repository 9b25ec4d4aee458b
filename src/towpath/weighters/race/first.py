"""The first mini-batch of a heat, which all arms meet at the same parameters: evaluated once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from towpath.objective import Evaluation, Objective
from towpath.objective.gradients import Rows
from towpath.objective.source import LearnerTasks
from towpath.objective.task import Params


@dataclass(frozen=True, eq=False)
class _Known:
    """What was asked of the mini-batch, and the result."""

    question: Mapping[str, Any]
    params: Params
    said: Evaluation
    gradients: Rows

    def answers(self, question: Mapping[str, Any], params: Params) -> bool:
        """Return whether the same question is asked at the same parameters, bit by bit."""
        return (
            self.question == question
            and self.params.keys() == params.keys()
            and all(torch.equal(self.params[name], value) for name, value in params.items())
        )


class FirstBatch(Objective):
    """An objective that remembers the evaluation of one mini-batch and returns it when asked again.

    Its work is still counted for every arm: counts are those of arms that train alone.
    """

    def __init__(self, objective: Objective, tasks: Sequence[Any]) -> None:
        """Take the place of an objective.

        Args:
            objective: evaluates everything that is not known yet.
            tasks: the mini-batch whose evaluation is remembered.
        """
        self.source, self.ranks = objective.source, objective.ranks
        self._tasks = list(tasks)
        self._known: _Known | None = None

    @classmethod
    def of(cls, objective: Objective, tasks: Sequence[Any]) -> Objective:
        """Return an objective that remembers a mini-batch; for a user's function the one given.

        A learner is a pure function, whereas one of the user's may do more than return its outputs.
        """
        return cls(objective, tasks) if isinstance(objective.source, LearnerTasks) else objective

    def evaluate(self, params: Params, tasks: Sequence[Any], **options: Any) -> Evaluation:
        """Compute losses and gradients as `Objective.evaluate` does, or return those known.

        Args:
            params: the parameters by name.
            tasks: the tasks to evaluate.
            options: as for `Objective.evaluate`.
        """
        question = self._question(tasks, options)
        if question is None:
            return super().evaluate(params, tasks, **options)
        if self._known is not None and self._known.answers(question, params):
            said, rows = self._known.said, self._known.gradients
            return replace(said, held=rows.columns()) if options.get("columns") else said
        said = super().evaluate(params, tasks, **options)
        if self._known is None and isinstance(said.held, Rows):
            self._known = _Known(question, dict(params), said, said.held)
        return said

    def _question(self, tasks: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what is asked of the mini-batch; None for other tasks, or more than gradients."""
        own = len(tasks) == len(self._tasks)
        own = own and all(a is b for a, b in zip(tasks, self._tasks, strict=True))
        asked = {name: value for name, value in options.items() if name != "columns"}
        more = any(asked.pop(name, None) is not None for name in ("curvature", "watched"))
        if not own or more:
            return None
        usual = {"gradients": True, "all_used": True, "seed": 0, "first": 0}
        sets = {name: frozenset(asked.get(name, ())) for name in ("skip", "without")}
        return {**usual, **asked, **sets}
