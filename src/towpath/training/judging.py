"""Judging a learner on tasks that it does not train on: validation on the way, tests at the end."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from torch import Tensor, nn

from towpath.runs.records import ValidationRecord
from towpath.runs.scores import Score
from towpath.training.checkpoint import Best, Checkpoint
from towpath.training.evaluation import evaluate
from towpath.training.reporter import Reporter
from towpath.training.setup import Setup


def validated(
    setup: Setup, now: Checkpoint, reporter: Reporter
) -> tuple[Checkpoint, ValidationRecord]:
    """The checkpoint with what the validation tasks say of its parameters, and the record of it."""
    with evaluation_mode(setup.learner.module):
        score = evaluate(setup.objective, now.state.params, setup.validation_tasks())
    figure = score.mean if score.accuracies is not None else -score.mean
    best = now.best is None or figure > now.best.score
    if best:
        now = replace(now, best=Best(now.state.params, now.state.step, figure), since_best=0)
    else:
        now = replace(now, since_best=now.since_best + 1)
    reporter.validated(now.state.step, score, best)
    return now, ValidationRecord(now.state.step, score.summary(), best)


def final_scores(
    setup: Setup, current: Checkpoint, reporter: Reporter
) -> tuple[dict[str, Score], float]:
    """Scores of the chosen parameters on each test set, and the seconds that they took."""
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
                progress=partial(_tell, reporter, before, total),
            )
    return scores, time.perf_counter() - began


def _tell(reporter: Reporter, before: int, total: int, done: int) -> None:
    reporter.tested(before + done, total)


def chosen_params(current: Checkpoint) -> dict[str, Tensor]:
    """The best by validation, or the last where nothing was validated."""
    return current.state.params if current.best is None else current.best.params


@contextmanager
def evaluation_mode(module: nn.Module) -> Iterator[None]:
    """No dropout while a learner is judged."""
    training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(training)
