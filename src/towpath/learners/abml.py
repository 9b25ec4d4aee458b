"""Amortised Bayesian meta-learning (Ravi and Beatson 2019): a distribution over a task's weights.

The meta-parameters are the prior p = N(mu, sigma^2) of every weight, as mu and log sigma. A task's
posterior q starts at p and takes K gradient steps in its own mu and log sigma on

    (1/L) sum_l CE_support(mu + sigma e_l) + w KL(q || p),     e_l ~ N(0, 1), new in each step.

The outer loss of the task, with a prior on the prior that counts once for M tasks, is

    (1/L) sum_l CE_query(mu_K + sigma_K e_l) + w KL(q_K || p)
        + (w/M) sum_i [ -log N(mu_i; 0, 1) - log Gamma(sigma_i^-2; 1, 0.01) ]

without the constants of the two densities, which would hide the loss (5.5 a weight) and change
no gradient: `mu^2 / 2 + 0.01 / sigma^2`. A prediction is the mean of the L softmax outputs.
"""

import math
from typing import Annotated

import torch
from torch import Tensor, nn

from towpath.learners.beside import MODEL, ModelBeside, dotless
from towpath.learners.gaussians import divergence, reparameterised
from towpath.learners.inner_loop import AdaptationSteps, gradient_steps, recordable
from towpath.learners.learner import Params, Predictor
from towpath.learners.maml import MAML
from towpath.losses import LossLike
from towpath.validation import Range, at_least, check_whole

LOG_SIGMAS = "log_sigmas."
GAMMA_RATE = 0.01
"""rate of the Gamma prior of the precisions sigma^-2; its shape is 1"""
SMALLEST_SIGMA = 1e-6


class ABML(MAML):
    """MAML on a Gaussian over the weights instead of the weights themselves.

    `learner.module` holds the meta-parameters: `model.NAME` is mu, `log_sigmas.NAME` the logarithm
    of sigma, with `/` for the dots in the latter. Hand it, not the model, to an optimiser. Outputs
    are `[Q, ways, samples]`.

    Args:
        model: any `nn.Module` from inputs to logits `[N, ways]` or regressions `[N, C]`.
        inner_lr: rate of the inner steps, for mu and log sigma alike.
        adaptation_steps: K, the number of inner steps.
        first_order: take the inner gradients as constants in the outer gradient.
        loss: of the inner steps and of the outputs, as for every `Learner`.
        samples: L, the draws of each inner step and of a prediction; 5 to 10 in the paper.
        kl_weight: w, the weight of the divergence from the prior.
        tasks: M, the number of tasks in the whole training.
        initial_sigma: sigma of every weight before training.
    """

    # Nine parameters because the paper has these many settings beside those of MAML.
    def __init__(
        self,
        model: nn.Module,
        inner_lr: float = 0.01,
        adaptation_steps: AdaptationSteps = 5,
        first_order: bool = False,
        loss: LossLike = "cross_entropy",
        samples: Annotated[int, Range(1, 1000)] = 5,
        kl_weight: Annotated[float, Range(0, 1e6)] = 0.1,
        tasks: Annotated[int, Range(1, 10**12)] = 60_000,
        initial_sigma: Annotated[float, Range(SMALLEST_SIGMA, 1e3)] = 0.02,
    ) -> None:
        super().__init__(model, inner_lr, adaptation_steps, first_order, loss)
        check_whole("ABML", "samples", samples, 1)
        at_least("ABML", "kl_weight", kl_weight, 0)
        at_least("ABML", "tasks", tasks, 1)
        at_least("ABML", "initial_sigma", initial_sigma, SMALLEST_SIGMA)
        self.samples, self.kl_weight, self.tasks = samples, kl_weight, tasks
        start = math.log(initial_sigma)
        params, still = model.named_parameters(), self._still()
        initial = {name: torch.full_like(p, start) for name, p in params if name not in still}
        self._own(ModelBeside(model, log_sigmas=initial))
        self._keys = {name: (MODEL + name, LOG_SIGMAS + dotless(name)) for name in initial}
        self._fixed = {name: MODEL + name for name in still}

    def adapt(self, params: Params, support_x: Tensor, support_y: Tensor) -> Predictor:
        """Fit the posterior to the support set, draw weights from it and return their predictor."""
        params = self._complete(params)
        frozen = self.frozen().keys() | {MODEL + name for name in self._still()}
        support_x, support_y = recordable(support_x), recordable(support_y)
        prior = {name: recordable(tensor) for name, tensor in params.items()}

        def support_loss(q: Params) -> Tensor:
            """Return the mean loss over new draws, and the weighted divergence from the prior."""
            losses = [
                self.loss.value(self._forward(self._drawn(q), support_x), support_y)
                for _ in range(self.samples)
            ]
            return torch.stack(losses).mean() + self.kl_weight * self._divergence(q, prior)

        q = gradient_steps(
            support_loss,
            params,
            {name: self.inner_lr for name in params if name not in frozen},
            steps=self.adaptation_steps,
            first_order=self.first_order,
        )
        drawn = [self._drawn(q) for _ in range(self.samples)]

        def outputs(query_x: Tensor) -> Tensor:
            """Return the outputs of every draw, `[Q, ways, L]`."""
            return torch.stack([self._forward(weights, query_x) for weights in drawn], -1)

        def penalty(queries: int) -> Tensor:  # noqa: ARG001  it is the same for any query set
            """Return the weighted divergence from the prior and the prior's own penalty."""
            return self.kl_weight * (
                self._divergence(q, params) + self._prior_penalty(params) / self.tasks
            )

        return Predictor(outputs, self.loss, penalty, sampled=True)

    def _drawn(self, q: Params) -> dict[str, Tensor]:
        """Draw the model's weights from a posterior; frozen ones are what they are."""
        drawn = {
            name: reparameterised(q[mu], q[log_sigma].exp())
            for name, (mu, log_sigma) in self._keys.items()
        }
        return drawn | {name: q[key] for name, key in self._fixed.items()}

    def _divergence(self, q: Params, p: Params) -> Tensor:
        """Return KL(q || p), the sum over all weights."""
        return torch.stack(
            [
                divergence(q[mu], q[log_sigma], p[mu], p[log_sigma])
                for mu, log_sigma in self._keys.values()
            ]
        ).sum()

    def _prior_penalty(self, p: Params) -> Tensor:
        """Return minus the logarithm of the prior of mu and sigma, up to a constant."""
        return torch.stack(
            [
                0.5 * p[mu].square().sum() + GAMMA_RATE * (-2 * p[log_sigma]).exp().sum()
                for mu, log_sigma in self._keys.values()
            ]
        ).sum()
