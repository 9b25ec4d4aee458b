"""The final results of a run, made from its records and its test scores."""

from collections.abc import Mapping

from towpath.data.registry import is_synthetic
from towpath.runs.folder import RunFolder
from towpath.runs.judged import weight_by_label
from towpath.runs.made_with import versions
from towpath.runs.plain import json_digest
from towpath.runs.scores import Score, scores_as_json
from towpath.runs.summary import BestValidation, RunTiming, Summary, SummaryIdentity
from towpath.training.checkpoint import Checkpoint
from towpath.training.setup import Setup


def conclude(
    folder: RunFolder,
    setup: Setup,
    current: Checkpoint,
    scores: Mapping[str, Score],
    test_seconds: float,
) -> Summary:
    """Write the test scores and the summary of a run; return the summary.

    Args:
        folder: the run's folder, with all of its records.
        setup: the run's recipe and objects.
        current: the state in which training ended.
        scores: the score on each test set, the recipe's own first.
        test_seconds: seconds that the test tasks took.
    """
    recipe, state, best = setup.recipe, current.state, current.best
    run = folder.digest
    identity = None
    if run:  # empty for a run folder of towpath 0.1, which gets no identity
        digest = json_digest(scores_as_json(scores))
        identity = SummaryIdentity(run, digest, recipe.training.steps)
    summary = Summary(
        recipe=recipe.name,
        reproduces=recipe.reproduces,
        weighter=recipe.weighter.name,
        seed=recipe.seed,
        data=recipe.data.name,
        synthetic=is_synthetic(recipe.data.name),
        test={name: score.summary() for name, score in scores.items()},
        validation=None if best is None else BestValidation(best.score, best.step),
        steps=state.step,
        windows=state.window,
        tasks_trained=state.tasks,
        evaluations=state.evaluations,
        weight_by_label=weight_by_label(folder.records()),
        parameters=sum(p.numel() for p in state.params.values()),
        normalisation=getattr(setup.learner.model, "norm_policy", "not stated"),
        versions=versions(),
        timing=RunTiming(
            seconds=current.seconds + test_seconds,
            training_seconds=current.training_seconds,
            seconds_per_step=current.training_seconds / max(1, state.step),
            test_seconds=test_seconds,
        ),
        identity=identity,
    )
    folder.conclude(summary, scores)
    return summary
