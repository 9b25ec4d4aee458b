"""The window of tasks of a plan, its targets, and checks of what a caller passes with them."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from towpath.objective import Objective

Window = Sequence[Sequence[Any]]
"""T mini-batches of M tasks."""


def check_call(objective: object, seed: object) -> None:
    """Raise a ValueError for an objective or a seed of the wrong kind."""
    if not isinstance(objective, Objective):
        raise ValueError(
            f"objective is of type {type(objective).__name__}; expected a tp.Objective. Make one "
            "with tp.Objective(learner) or tp.Objective.from_function(fn)."
        )
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed is {seed!r}; expected a whole number of at least 0.")


def checked_window(window: Window) -> list[list[Any]]:
    """Return the window as T lists of M tasks; raise a ValueError if their lengths differ."""
    batches = _lists("window", window)
    sizes = [len(batch) for batch in batches]
    if min(sizes) == 0 or len(set(sizes)) > 1:
        raise ValueError(
            f"The window's mini-batches have {sizes} tasks; expected T mini-batches of the same "
            "number M >= 1 of tasks. Cut or fill the odd ones."
        )
    return batches


def checked_targets(targets: Window | None, horizon: int) -> list[list[Any]] | None:
    """Return T lists of targets, at least one in all; raise a ValueError for anything else."""
    if targets is None:
        return None
    batches = _lists("targets", targets)
    if len(batches) != horizon or not any(batches):
        raise ValueError(
            f"targets has {len(batches)} lists with {[len(b) for b in batches]} tasks; expected "
            f"one list for each of the window's {horizon} mini-batches and at least one task in "
            "all. An empty list is allowed where a mini-batch has no target."
        )
    return batches


def refuse_task(name: str, batch: object) -> None:
    """Raise a ValueError for one task in place of a list of tasks: a tuple that holds tensors.

    Its tensors would be taken for tasks, and where their shapes allow it nobody would notice.

    Args:
        name: what the list of tasks is called, for the message.
        batch: the list of tasks.
    """
    if isinstance(batch, tuple) and any(isinstance(part, Tensor) for part in batch):
        raise ValueError(
            f"{name} is a tuple of {len(batch)} that holds tensors, which looks like one task; "
            "expected a list of tasks, as in [(x, y), (x, y)]. Put the tasks of a mini-batch into "
            "a list, also a single one, [task], or tensors that are tasks themselves."
        )


def _lists(name: str, batches: object) -> list[list[Any]]:
    if not isinstance(batches, Sequence) or isinstance(batches, str) or len(batches) == 0:
        empty = isinstance(batches, Sequence) and len(batches) == 0
        found = "empty" if empty else f"of type {type(batches).__name__}"
        raise ValueError(
            f"{name} is {found}; expected a list of T >= 1 mini-batches, each a list of tasks."
        )
    for t, batch in enumerate(batches):
        if not isinstance(batch, Sequence) or isinstance(batch, str):
            raise ValueError(
                f"{name}[{t}] is of type {type(batch).__name__}; expected a list of tasks. "
                "Did you pass one mini-batch instead of a list of them? Wrap it: [batch]."
            )
        refuse_task(f"{name}[{t}]", batch)
    return [list(batch) for batch in batches]
