"""The fields in which a run differs from a recipe.

The comparison knows no field by name: whatever a recipe holds counts, except for what `MAY_DIFFER`
lists, and the weighter, which decides the row of the paper's tables (`towpath.reports.methods`).
"""

from dataclasses import dataclass

from towpath.recipes.recipe import Recipe
from towpath.reports.resolved import Plain, resolved
from towpath.runs.run_data import RunData

MAY_DIFFER = frozenset(
    {
        # words about the recipe
        "name",
        "about",
        "reproduces",
        # what other runs of the recipe would be
        "compare",
        "small",
        # where and how often it ran: no result is meant to depend on them
        "seed",
        "threads",
        "device",
        "training.checkpoint_every",
    }
)
"""fields, by dotted name, in which a run of a recipe may differ from it and still be that recipe's;
the folder and the number of jobs are no part of a recipe"""


@dataclass(frozen=True)
class Difference:
    """A field of a recipe with two values: the paper's recipe's, and the run's."""

    field: str
    paper: Plain
    found: Plain

    def __str__(self) -> str:
        return f"{self.field} {_text(self.found)} instead of {_text(self.paper)}"


def differences(found: Recipe, wanted: Recipe) -> tuple[Difference, ...]:
    """Return the fields in which a recipe differs from another.

    The weighter and the fields of `MAY_DIFFER` are left out.

    Args:
        found: the recipe of the run.
        wanted: the paper's recipe.
    """
    ours, theirs = resolved(found), resolved(wanted)
    told = []
    for key in {**theirs, **ours}:
        section = key.partition(".")[0]
        if section == "weighter" or {key, section} & MAY_DIFFER:
            continue
        if key in ours and key in theirs:
            if ours[key] != theirs[key]:
                told.append(Difference(key, theirs[key], ours[key]))
        elif ours.get(f"{section}.name") == theirs.get(f"{section}.name"):
            told.append(Difference(key, theirs.get(key), ours.get(key)))
        # else: an option that only one of two different components has goes without saying
    return tuple(told)


def run_differences(run: RunData, wanted: Recipe) -> tuple[Difference, ...]:
    """Return the fields in which a run differs from a recipe.

    Of a finished run, the steps that were trained and the tasks that were tested count as well.
    """
    assert run.recipe is not None
    told = list(differences(run.recipe, wanted))
    if run.summary is not None and not any(d.field == "training.steps" for d in told):
        steps = run.summary.steps
        if steps != wanted.training.steps:
            told.append(Difference("trained steps", wanted.training.steps, steps))
    if not any(d.field == "test.tasks" for d in told):
        counts = {len(score.values) for score in run.scores.values()} - {wanted.test.tasks}
        told += [Difference("tested tasks", wanted.test.tasks, n) for n in sorted(counts)]
    return tuple(told)


def _text(value: Plain) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "nothing"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple) and not value:
        return "none"
    return str(value)
