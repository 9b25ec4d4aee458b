"""Meta-Weight-Net: a small network from a task's loss to its weight, trained through a step."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.dynamics import Adam
from towpath.validation import Seed, at_least
from towpath.weighters.card import Card, Point
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.trained import column, step_vector, untrained

HIDDEN = 100


@dataclass(frozen=True)
class MetaWeightNet(MiniBatchWeighter):
    """Meta-Weight-Net (Shu et al. 2019): the weight is a function of the loss, and is learnt.

    `u_i = sigmoid(MLP(l_i)) / M`, the MLP 1-100-1 with ReLU; its 301 numbers Theta are in the
    state. After a virtual step of plain SGD with these weights Theta follows
    `-lr sum_i (g_i . v) du_i/dTheta` by Adam; then the weights are computed again.

    Args:
        rate: learning rate of Adam, which trains Theta.
        weight_decay: weight decay of Theta.
        normalise: divide by the sum of the sigmoids in place of M, in both places.
        seed: seed of Theta's initial values, drawn as for `torch.nn.Linear`.
    """

    wants_targets = True
    card = Card(
        formula="`u_i = sigmoid(MLP(l_i)) / M`; MLP 1-100-1 by Adam on `-lr sum_i (g_i . v) "
        "du_i/dTheta` at virtual SGD",
        assumes="the loss alone says whether a task is good, and how is to be learnt",
        costs="one evaluation of the targets",
        fails="where hard and wrong tasks have the same loss; it takes hundreds of steps to learn",
        reference="Shu et al. 2019",
        point=Point("1 step", "plain SGD", "a function of the loss", "a network"),
    )

    rate: float = 1e-3
    weight_decay: float = 1e-4
    normalise: bool = False
    seed: Seed = 0

    def __post_init__(self) -> None:
        at_least("MetaWeightNet", "rate", self.rate, 0.0)
        at_least("MetaWeightNet", "weight_decay", self.weight_decay, 0.0)

    def initial_state(self) -> Memory:
        """Return the network before training, with Adam's moments."""
        generator = torch.Generator().manual_seed(self.seed)
        draws = torch.rand(3 * HIDDEN + 1, generator=generator, dtype=torch.float64, device="cpu")
        theta = 2 * draws - 1
        theta[2 * HIDDEN :] /= math.sqrt(HIDDEN)
        return {"theta": untrained(theta.tolist())}

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Train the network by one step, then return the weights that it gives."""
        losses = batch.losses.detach().double().cpu()
        theta = column(state["theta"]["values"]).requires_grad_()
        with torch.enable_grad():
            u = self._weigh(theta, losses)
        s = batch.targets.influence(u.detach(), sgd=True).double().cpu()
        (slope,) = torch.autograd.grad(u @ s, theta)
        adam = Adam(self.rate, weight_decay=self.weight_decay)
        trained = step_vector(adam, state["theta"], -slope)
        return self._weigh(column(trained["values"]), losses), {"theta": trained}

    def _weigh(self, theta: Tensor, losses: Tensor) -> Tensor:
        inward, bias, outward, last = theta.split([HIDDEN, HIDDEN, HIDDEN, 1])
        hidden = torch.relu(losses[:, None] * inward + bias)
        sigmoids = torch.sigmoid(hidden @ outward + last)
        return sigmoids / (sigmoids.sum() if self.normalise else len(losses))
