"""Evaluation on held-out tasks: validation during training, tests at the end."""

import math
import time
from dataclasses import replace
from functools import partial

from torch import Tensor

from towpath.runs.records import ValidationRecord
from towpath.runs.scores import Score
from towpath.training.checkpoint import Best, Checkpoint
from towpath.training.evaluation import evaluate, evaluation_mode
from towpath.training.reporter import Reporter
from towpath.training.setup import Setup


def validated(
    setup: Setup, now: Checkpoint, reporter: Reporter
) -> tuple[Checkpoint, ValidationRecord]:
    """Evaluate the current parameters on the validation tasks.

    Args:
        setup: the run, with its validation tasks.
        now: the state whose parameters are evaluated.
        reporter: receives the score.

    Returns:
        the checkpoint, with these parameters as the best where they are, and the record of it.
    """
    with evaluation_mode(setup.learner.module):
        score = evaluate(
            setup.objective, now.state.params, setup.validation_tasks(), main=setup.metric
        )
    figure = score.metric.goodness(score.mean)
    best = now.best is None or math.isnan(now.best.score) or figure > now.best.score
    if best:
        now = replace(now, best=Best(now.state.params, now.state.step, figure), since_best=0)
    else:
        now = replace(now, since_best=now.since_best + 1)
    reporter.validated(now.state.step, score, best)
    return now, ValidationRecord(now.state.step, score.summary(), best)


def final_scores(
    setup: Setup, current: Checkpoint, reporter: Reporter
) -> tuple[dict[str, Score], float]:
    """Evaluate the chosen parameters on each test set; return the scores and the seconds taken."""
    params = chosen_params(current)
    tasks = setup.recipe.test.tasks
    total = tasks * len(setup.tests)
    scores: dict[str, Score] = {}
    began = time.perf_counter()
    with evaluation_mode(setup.learner.module):
        for name in setup.tests:
            before = tasks * len(scores)
            scores[name] = evaluate(
                setup.objective,
                params,
                setup.test_tasks(name, tasks),
                main=setup.metric,
                progress=partial(_tell, reporter, before, total),
            )
    return scores, time.perf_counter() - began


def _tell(reporter: Reporter, before: int, total: int, done: int) -> None:
    reporter.tested(before + done, total)


def chosen_params(current: Checkpoint) -> dict[str, Tensor]:
    """Return the best parameters by validation, or the last ones where there was no validation."""
    return current.state.params if current.best is None else current.best.params
