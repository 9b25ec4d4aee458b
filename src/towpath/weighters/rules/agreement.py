"""Weights from the tasks' gradients alone: by agreement with their sum, or so that all gain."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from towpath.control.quadratic import solve
from towpath.weighters.card import Card
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter


@dataclass(frozen=True)
class GradientAgreement(MiniBatchWeighter):
    """Tasks whose gradient agrees with the mini-batch's (Eshratifar et al. 2018).

    `u_i` is proportional to `sum_j g_i . g_j`, the inner product of a task's gradient with the sum
    of all. The paper lets it be negative; weights here are at least 0, so a task that disagrees
    with the sum gets none, and the rest is normalised to sum 1.
    """

    card = Card(
        formula="`u_i` proportional to `max(0, g_i . sum_j g_j)`",
        assumes="the majority of the mini-batch is right",
        costs="the tasks' gradients; ranks send them",
        fails="by favouring large gradients; where most tasks are wrong",
        reference="Eshratifar et al. 2018, who let it be negative",
    )

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Clamp the inner products with the summed gradient at 0 and normalise them."""
        inner = (batch.gradients @ batch.gradients.sum(0)).double().clamp_min(0.0)
        total = inner.sum()
        if float(total) == 0.0:  # all gradients vanish
            return torch.full_like(batch.losses, 1.0 / len(batch)), state
        return inner / total, state


@dataclass(frozen=True)
class MGDA(MiniBatchWeighter):
    """Multiple-gradient descent (Sener and Koltun 2018): a step that raises no task's loss.

    The weights are the least-norm point of the convex hull of the tasks' gradients,
    `argmin |J'u|^2` over the simplex. A trace of `|u|^2` (1e-10 of the largest squared norm) makes
    them unique where gradients are linearly dependent.
    """

    card = Card(
        formula="`argmin over the simplex of \\|J'u\\|^2`",
        assumes="tasks whose losses must all fall; no task is wrong",
        costs="M^2 inner products of gradients; ranks send their gradients",
        fails="by favouring small gradients, those of tasks that are learnt already; near a point "
        "where no step helps all, the step vanishes",
        reference="Sener and Koltun 2018",
    )

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Solve the quadratic programme for the least-norm point of the gradients' hull."""
        J = batch.gradients.double()
        gram = (J @ J.T).cpu().numpy()
        largest = float(np.diag(gram).max())
        base = np.full(len(batch), 1.0 / len(batch))
        if largest == 0.0:
            return torch.from_numpy(base), state
        H = gram / largest + 1e-10 * np.eye(len(batch))
        return torch.from_numpy(solve(H, H @ base, base, block=len(batch)).w), state
