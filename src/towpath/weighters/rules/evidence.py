"""`evidence`: tasks whose labels say no more than shuffled ones would are left out (ours).

A high loss does not tell a wrong task from a hard one, and a rule that drops high losses is a
disaster where hard tasks are what the test asks for. The evidence of a task's labels
(`towpath.label_evidence`) does: labels without meaning have `z ~ N(0, 1)` whatever the network and
the task are, and labels of a hard task have a small z, but one above that. So the distribution of
wrong tasks is known beforehand, and only that of right ones is fitted to the latest tasks
(`towpath.weighters.rules.right_labels`).

A learner that compares samples, as a prototypical network does, is taught by wrong labels to pull
a class apart, and even a tenth of their weight harms it. One that adapts by gradient steps is made
less confident by them and little else, and a quarter of their weight does it good: they act as
label smoothing does (docs/decisions.md, 24).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from towpath.data.trusted import still_trusted
from towpath.validation import at_least, between, check_whole
from towpath.weighters.card import Card
from towpath.weighters.rules.exploration import Exploitation
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.right_labels import LabelFit
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.seen import Seen

Array = npt.NDArray[np.float64]
LEAST_WEIGHT = 1e-9
ADAPTING_FLOOR = 0.25
"""the floor for learners with an inner loop, chosen on the tuning seeds 7 and 8"""
WRONG = 0.1
"""tasks that are right with a smaller probability are taken for wrong"""
FIT = LabelFit(least_spread=1.0, widest_wrong=0.4, iterations=50)
HARD = 0.5
"""tasks that would be dropped and have a higher mean evidence are hard: none is dropped then"""


@dataclass(frozen=True)
class Evidence(MiniBatchWeighter):
    """Equal weights for tasks whose labels mean something, by their evidence (ours).

    A task weighs the probability that its labels are right, or that times the weight that
    `Exploitation` would give it. Trusted tasks are neither fitted nor dropped, unless a check has
    left them out (`info["left_out"]`; runs check them for this rule). Nor are tasks
    without evidence: those of a loss that is a function of your own, or that your task function
    computes itself. Where none has any, the status of a plan says so.

    Args:
        window: how many of the latest tasks the fit is made of.
        least: tasks that must have been seen before any is dropped.
        apart: the least mean evidence of right labels at which tasks are dropped; below it the
            network cannot tell right labels from wrong ones yet.
        concentration: None for equal weights of the tasks that are kept; a number, such as 1.2, for
            those of `Exploitation(concentration)`, under which easy tasks weigh more.
        floor: the weight of a task that is surely wrong, relative to that of a right one. None
            means 0, or 0.25 with a learner that adapts by steps of an inner loop.
    """

    card = Card(
        formula="`u_i` proportional to the probability that the labels of task i mean something, "
        "by their evidence z: about `N(0, 1)` if they do not, `N(m, s^2)` fitted to the last 200 "
        "tasks if they do; with an inner loop a wrong task keeps a quarter of its weight",
        assumes="wrong tasks have labels without meaning; query sets of ten samples or more",
        costs="nothing: the evidence comes with the loss",
        fails="where labels are wrong in a consistent way: it keeps those; where the network tells "
        "little (a mean evidence of 1 to 2), right tasks lose weight, too",
        reference="ours",
    )

    believes_trusted = True
    window: int = 200
    least: int = 20
    apart: float = 1.0
    concentration: float | None = None
    floor: float | None = None

    def __post_init__(self) -> None:
        check_whole("Evidence", "window", self.window, 2)
        check_whole("Evidence", "least", self.least, 2)
        if self.window < self.least:
            raise ValueError(
                f"Evidence found window={self.window} and least={self.least}; expected a window of "
                "at least as many tasks, else none is ever dropped. Raise window, or lower least."
            )
        at_least("Evidence", "apart", self.apart, 0.0)
        if self.concentration is not None:
            at_least("Evidence", "concentration", self.concentration, 0.0)
            if self.concentration <= 1:
                raise ValueError(
                    f"Evidence found concentration={self.concentration}; expected above 1, such as "
                    "1.2, else the task of the lowest loss takes all the weight. Use None for "
                    "equal weights."
                )
        if self.floor is not None:
            between("Evidence", "floor", self.floor, 0.0, 1.0)

    def initial_state(self) -> Memory:
        """Return a state without any task yet."""
        return {"evidence": []}

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Return the probabilities that the tasks' labels are right, normalised over the tasks."""
        remembered = self.watch(batch, state)
        keep = self._kept(batch, np.array(remembered["evidence"], dtype=np.float64))
        w = keep * self._among(batch, keep)
        # where less than one task is kept, what is left is not blown up to a whole step
        return torch.from_numpy(w / w.sum() * min(float(keep.sum()), 1.0)), remembered

    def _kept(self, batch: MiniBatch, seen: Array) -> Array:
        """Return the probability of each task to have labels that mean something."""
        keep = np.ones(len(batch))
        if len(seen) < self.least:
            return keep
        labels = FIT(seen)
        if labels.right.mean >= self.apart and not labels.takes_hard_for_wrong(seen, HARD):
            z = batch.evidence.double().cpu().numpy()
            known = np.isfinite(z) & ~_trusted(batch)
            right = 1.0 - labels.falling_posterior(z[known])
            floor = self._floor(batch)
            keep[known] = np.maximum(floor + (1.0 - floor) * right, LEAST_WEIGHT)
        return keep

    def _floor(self, batch: MiniBatch) -> float:
        """Return the weight of a task that is surely wrong, relative to that of a right one."""
        if self.floor is not None:
            return self.floor
        return ADAPTING_FLOOR if batch.adapts else 0.0

    def _among(self, batch: MiniBatch, keep: Array) -> Array:
        """Return the weights of the tasks as if all of them were right; they sum to 1 at most.

        Args:
            batch: the tasks.
            keep: how much of its weight each task keeps.
        """
        if self.concentration is None:
            return np.full(len(batch), 1.0 / len(batch))
        found, _ = Exploitation(self.concentration).weights(batch, {})
        easy = found.double().cpu().numpy()
        floor = self._floor(batch)
        wrong = keep < floor + (1.0 - floor) * WRONG
        right = float((keep * easy)[~wrong].sum())
        if right > 0:
            # A loss far below all others takes nearly all the weight. A task taken for wrong then
            # weighs at most what it keeps, relative to all right ones together.
            easy[wrong] = np.minimum(easy[wrong], right)
        return easy

    def can_judge(self, seen: Seen) -> bool:
        """Return whether some task has evidence."""
        return bool(seen.said.evidence.isfinite().any())

    def watch(self, batch: MiniBatch, state: Memory) -> Memory:
        """Remember the evidence of the tasks that are not trusted, without the fit."""
        z = batch.evidence.double().cpu().numpy()
        new = z[np.isfinite(z) & ~_trusted(batch)].tolist()
        return {"evidence": [*state["evidence"], *new][-self.window :]}


def _trusted(batch: MiniBatch) -> npt.NDArray[np.bool_]:
    return np.array([still_trusted(info) for info in batch.infos], dtype=bool)


EASY = Card(
    formula="those of `evidence` times those of `exploitation`, normalised",
    assumes="as `evidence`; and of right tasks the easy ones are the ones to learn from",
    costs="nothing",
    fails="where the test asks for what is hard",
    reference="ours",
)
"""the card of the rule with a concentration"""
