"""ATS: a recurrent scheduler that draws tasks and learns from what that did for the targets.

    inputs     three numbers per task: loss, norm of the gradient, a cosine of gradients
    LSTMs      one for each, bidirectional, 10 units, along the tasks of the mini-batch
    progress   percent of the training, an embedding of 5 numbers
    head       tanh of 20 units, then a score per task

All parameters are one vector Theta `[4961]`, in the rule's state with Adam's moments.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from towpath.dynamics import Adam
from towpath.flat import Layout
from towpath.validation import Seed, at_least
from towpath.weighters.card import Card
from towpath.weighters.rules.influence import drawn
from towpath.weighters.rules.memory import Memory
from towpath.weighters.rules.minibatch import MiniBatch
from towpath.weighters.rules.rule import MiniBatchWeighter
from towpath.weighters.rules.trained import column, step_vector, untrained
from towpath.weighters.seeds import stage_seed

INPUTS, UNITS, PERCENTS, PROGRESS, HEAD = 3, 10, 100, 5, 20
CELLS = 2 * INPUTS
"""one for each input and direction: those that run forwards first"""
SHAPES = {
    "inward": (CELLS, 4 * UNITS),
    "recurrent": (CELLS, 4 * UNITS, UNITS),
    "inward_bias": (CELLS, 4 * UNITS),
    "recurrent_bias": (CELLS, 4 * UNITS),
    "progress": (PERCENTS, PROGRESS),
    "head": (HEAD, CELLS * UNITS + PROGRESS),
    "head_bias": (HEAD,),
    "score": (HEAD,),
    "score_bias": (1,),
}
LAYOUT = Layout(tuple(SHAPES), tuple(torch.Size(shape) for shape in SHAPES.values()))
LEAST_TEMPERATURE, COOLING = 0.1, 0.99


@dataclass(frozen=True)
class ATS(MiniBatchWeighter):
    """Adaptive task scheduling (Yao et al. 2021): a network draws the tasks of each step.

    K of the M tasks are drawn without replacement, with the chances
    `softmax(score / max(0.1, 0.99^t))`, and share the weight equally. The reward is the targets'
    mean accuracy after the optimiser's step on them (minus their mean loss where tasks have no
    classes); REINFORCE raises the log-likelihood of the draw by the reward less the mean of all
    rewards before. The third input is the cosine of a task's support and query gradients; for a
    learner without an inner loop, that of its gradient with the mini-batch's mean.

    Args:
        sample: the number K of tasks to draw.
        rate: learning rate of Adam, which trains the scheduler.
        steps: mini-batches of the whole training, for the progress; a recipe fills it in. With
            None the progress stays at its beginning.
        seed: seed of the scheduler's initial parameters and of the draws.
    """

    wants_targets = True
    card = Card(
        formula="K = 3 tasks drawn by an LSTM on losses, gradient norms and cosines, trained by "
        "REINFORCE on the targets' accuracy",
        assumes="targets; thousands of steps to learn a scheduler from",
        costs="one evaluation of the targets, all gradients' norms, a small network; with an inner "
        "loop a second evaluation of the tasks",
        fails="in short trainings: one noisy reward a step; it trains on K of M tasks meanwhile",
        reference="Yao et al. 2021",
    )
    from_steps: ClassVar[Mapping[str, float]] = {"steps": 1.0}

    sample: int = 3
    rate: float = 1e-3
    steps: int | None = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        at_least("ATS", "sample", self.sample, 1)
        at_least("ATS", "rate", self.rate, 0.0)
        if self.steps is not None:
            at_least("ATS", "steps", self.steps, 1)

    def initial_state(self) -> Memory:
        """Return an untrained scheduler, initialised as torch does, without any reward."""
        generator = torch.Generator().manual_seed(self.seed)

        def draws(name: str, bound: float) -> Tensor:
            """Return uniform draws between -bound and bound for one parameter."""
            shape = SHAPES[name]
            uniform = torch.rand(shape, generator=generator, dtype=torch.float64, device="cpu")
            return (2 * uniform - 1) * bound

        bounds = {"head": 1 / math.sqrt(SHAPES["head"][1]), "score": 1 / math.sqrt(HEAD)}
        parts = [
            torch.randn(SHAPES[name], generator=generator, dtype=torch.float64, device="cpu")
            if name == "progress"
            else draws(name, bounds.get(name.removesuffix("_bias"), 1 / math.sqrt(UNITS)))
            for name in SHAPES
        ]
        theta = LAYOUT.flatten(parts).tolist()
        return {"theta": untrained(theta), "mean_reward": 0.0, "rewards": 0}

    def weights(self, batch: MiniBatch, state: Memory) -> tuple[Tensor, Memory]:
        """Draw tasks, compute the reward of a step on them, and train the scheduler on it."""
        k = min(self.sample, len(batch))
        theta = column(state["theta"]["values"]).requires_grad_()
        with torch.enable_grad():
            temperature = max(LEAST_TEMPERATURE, COOLING**batch.step)
            z = scores(theta, _inputs(batch), self._percent(batch.step)) / temperature
        chosen = drawn(z.detach(), k, stage_seed(self.seed, batch.step))
        u = torch.zeros(len(batch), dtype=torch.float64, device="cpu")
        u[chosen] = 1.0 / k
        reward = self._reward(batch, u)
        count, mean = state["rewards"], state["mean_reward"]
        advantage = reward - mean if count else 0.0
        with torch.enable_grad():
            likelihood = log_likelihood(z, chosen)
        (slope,) = torch.autograd.grad(likelihood, theta)
        trained = step_vector(Adam(self.rate), state["theta"], -advantage * slope)
        return u, {
            "theta": trained,
            "mean_reward": mean + (reward - mean) / (count + 1),
            "rewards": count + 1,
        }

    def _percent(self, step: int) -> int:
        return 0 if self.steps is None else min(PERCENTS - 1, PERCENTS * step // self.steps)

    @staticmethod
    def _reward(batch: MiniBatch, u: Tensor) -> float:
        said = batch.targets.ahead(u)
        if len(said.losses) == 0:
            return 0.0
        good = -said.losses if said.accuracies is None else said.accuracies
        return float(good.double().mean())


def _inputs(batch: MiniBatch) -> Tensor:
    """Return the scheduler's inputs `[3, M]`: losses, norms, cosines."""
    J = batch.gradients.double()
    norms = J.norm(dim=1)
    support = batch.support_gradients()
    other = J.mean(0).expand_as(J) if support is None else support.double()
    cosines = torch.nn.functional.cosine_similarity(J, other, dim=1, eps=1e-12)
    return torch.stack([batch.losses.double(), norms, cosines]).detach().cpu()


def scores(theta: Tensor, inputs: Tensor, percent: int) -> Tensor:
    """Return the scheduler's scores `[M]` of tasks with these inputs `[3, M]`."""
    part = LAYOUT.unflatten(theta)
    both = torch.cat([inputs, inputs.flip(1)])  # [6, M]
    bias = part["inward_bias"] + part["recurrent_bias"]
    h = c = theta.new_zeros(CELLS, UNITS)
    outputs = []
    for x in both.T:
        gates = x[:, None] * part["inward"] + bias + (part["recurrent"] @ h[:, :, None])[:, :, 0]
        into, forget, fresh, out = gates.chunk(4, dim=1)
        c = torch.sigmoid(forget) * c + torch.sigmoid(into) * torch.tanh(fresh)
        h = torch.sigmoid(out) * torch.tanh(c)
        outputs.append(h)
    forwards, backwards = torch.stack(outputs).split(INPUTS, dim=1)  # [M, 3, 10] each
    seen = torch.cat([forwards, backwards.flip(0)], dim=2).flatten(1)
    progress = part["progress"][percent].expand(len(seen), PROGRESS)
    hidden = torch.tanh(torch.cat([seen, progress], dim=1) @ part["head"].T + part["head_bias"])
    return hidden @ part["score"] + part["score_bias"]


def log_likelihood(z: Tensor, chosen: Tensor) -> Tensor:
    """Return the log of the chance to draw these tasks in this order, without replacement."""
    left = list(range(len(z)))
    total = z.new_zeros(())
    for i in chosen.tolist():
        total = total + z[i] - z[left].logsumexp(0)
        left.remove(i)
    return total
