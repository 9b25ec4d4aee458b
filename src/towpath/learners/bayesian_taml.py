"""Bayesian TAML (Lee et al. 2020): MAML that balances classes, steps and start for each task.

An encoder reads the support set of N samples of C classes and gives Gaussians of the balances

    omega [C]       weights of the classes in the inner loss
    gamma [layers]  how far each layer may move from its start
    z               change of the start itself: z_w and z_b for each output of a layer

whose prior is N(0, 1). With a draw of them the task starts from

    W (1 + z_w),   b + z_b,   and a head of zeros, which is not learned,

and takes inner steps with a learned rate alpha for every weight, as Meta-SGD does:

    L     = sum_c softmax(omega)_c (C/N) sum_{j in c} CE_j
    theta <- theta - exp(gamma_layer) alpha * dL/dtheta

The outer loss is the query loss plus `KL(balances || prior) / (N + Q)`, Q the query samples.
"""

from collections.abc import Collection, Sequence
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from towpath.learners.beside import MODEL, ModelBeside, dotless
from towpath.learners.inner_loop import AdaptationSteps, gradient_steps, recordable
from towpath.learners.layers import feature_count, layer_groups, sample_shape
from towpath.learners.learner import Params, Predictor
from towpath.learners.linear_head import BIAS, WEIGHT, linear_head
from towpath.learners.maml import MAML
from towpath.learners.support_encoder import Balance, Balances, SupportEncoder
from towpath.validation import Range, check_whole

RATES, HEAD_RATES, ENCODER = "rates.", "head_rates.", "encoder."


class BalancedModel(ModelBeside):
    """An embedding beside the rates of its weights and of the head, and the encoder."""

    def __init__(
        self,
        model: nn.Module,
        inner_lr: float,
        features: int,
        encoder: nn.Module,
        still: Collection[str] = (),
    ) -> None:
        held = dict(model.named_parameters())
        rates = {
            name: torch.full_like(p, inner_lr) for name, p in held.items() if name not in still
        }
        like = next(iter(held.values())).detach()
        # one rate for all classes, which have no order
        head = {
            "weight": like.new_full((1, features), inner_lr),
            "bias": like.new_full((1,), inner_lr),
        }
        super().__init__(model, rates=rates, head_rates=head)
        self.encoder = encoder.to(like)


class BayesianTAML(MAML):
    """MAML on an embedding, with balances for each task drawn from what an encoder infers.

    `learner.module` holds the meta-parameters: `model.NAME`, `rates.NAME` with `/` for the dots,
    `head_rates.weight`, `head_rates.bias` and `encoder.NAME`. Hand it, not the model, to an
    optimiser. Outputs are `[Q, ways, samples]`; a prediction averages the probabilities.

    The balances move the start of frozen weights as well, which do not adapt.

    A layer is a linear or convolutional one with what follows it before the next, its norm for
    example. z_b moves the layer's bias or, without one, that of its norm.

    Args:
        model: an embedding, from inputs to features `[N, D]` (more dimensions are flattened);
            for our backbones `ways=None`.
        inner_lr: initial value of every rate alpha.
        adaptation_steps: number of inner steps in training.
        first_order: take the inner gradients as constants in the outer gradient; omega then
            follows its prior alone, since it acts through these gradients.
        test_steps: number of inner steps while the module is in evaluation mode.
        samples: draws of the balances in training; 0 takes their means instead.
        test_samples: the same in evaluation mode.
        inputs: shape of one sample, for an image network of yours without the attributes
            `channels`, `height` and `width`.
    """

    wants_embedding = True
    predicts_numbers = False

    def __init__(
        self,
        model: nn.Module,
        inner_lr: float = 0.01,
        adaptation_steps: AdaptationSteps = 5,
        first_order: bool = False,
        test_steps: AdaptationSteps = 10,
        samples: Annotated[int, Range(0, 1000)] = 1,
        test_samples: Annotated[int, Range(0, 1000)] = 10,
        inputs: Annotated[Sequence[int], Range(1, 10**9)] | None = None,
    ) -> None:
        super().__init__(
            model, inner_lr, adaptation_steps, first_order, "cross_entropy", test_steps=test_steps
        )
        check_whole("BayesianTAML", "samples", samples, 0)
        check_whole("BayesianTAML", "test_samples", test_samples, 0)
        self.samples, self.test_samples = samples, test_samples
        self.groups = layer_groups(model)
        shape = sample_shape(model) if inputs is None else tuple(inputs)
        # z_w for every output of a layer, and z_b where there is a bias to move
        numbers = sum(g.outputs * (1 if g.shift is None else 2) for g in self.groups)
        encoder = SupportEncoder(shape, layers=len(self.groups) + 1, numbers=numbers)
        features = feature_count(model, shape)
        self._own(BalancedModel(model, inner_lr, features, encoder, self._given_frozen))
        self._encoder = encoder

    def adapt(self, params: Params, support_x: Tensor, support_y: Tensor) -> Predictor:
        """Infer the balances, adapt to the support set with each draw, and predict with all."""
        params = self._complete(params)
        support_x, support_y = recordable(support_x), recordable(support_y)
        own = {
            name.removeprefix(ENCODER): tensor
            for name, tensor in params.items()
            if name.startswith(ENCODER)
        }
        balances: Balances = functional_call(self._encoder, own, (support_x, support_y))
        count = self.samples if self.module.training else self.test_samples
        draws = [balances.drawn() for _ in range(count)] or [balances.means()]
        adapted = [self._adapted(params, drawn, support_x, support_y) for drawn in draws]

        def outputs(query_x: Tensor) -> Tensor:
            """Return the logits of every draw, `[Q, ways, samples]`."""
            return torch.stack([linear_head(self._forward, fast, query_x) for fast in adapted], -1)

        def penalty(queries: int) -> Tensor:
            """Return the divergence of the balances from their prior, for each sample."""
            return balances.divergence() / (len(support_y) + queries)

        return Predictor(outputs, self.loss, penalty, sampled=True)

    def _adapted(
        self, params: Params, balance: Balance, support_x: Tensor, support_y: Tensor
    ) -> dict[str, Tensor]:
        """Return the weights of embedding and head after the inner steps.

        Args:
            params: the meta-parameters.
            balance: one draw of the task's balances.
            support_x: the support samples.
            support_y: their labels.
        """
        share = recordable(balance.omega.softmax(0))  # [C]
        ways, samples = len(share), len(support_y)

        def support_loss(fast: Params) -> Tensor:
            """Return the support loss in which each class has its own weight."""
            logits = linear_head(self._forward, fast, support_x)
            each = functional.cross_entropy(logits, support_y, reduction="none")  # [N]
            return ways / samples * (share[support_y] * each).sum()

        start, rates = self._start(params, balance, ways)
        return gradient_steps(
            support_loss,
            start,
            rates,
            steps=self.steps_now,
            first_order=self.first_order,
        )

    def _start(
        self, params: Params, balance: Balance, ways: int
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return the weights before the first step, and the rate of each."""
        start, rates, still = {}, {}, self._still()
        *factors, head_factor = balance.gamma.exp()
        sizes = [n for g in self.groups for n in (g.outputs, g.outputs if g.shift else 0)]
        z = iter(balance.z.split(sizes))
        for group, factor in zip(self.groups, factors, strict=True):
            for name in group.names:
                start[name] = params[MODEL + name]
                rate = params.get(RATES + dotless(name))
                if rate is not None and name not in still:
                    rates[name] = factor * rate
            z_w, z_b = next(z), next(z)
            W = start[group.weight]
            start[group.weight] = W * (1 + z_w.reshape(-1, *[1] * (W.ndim - 1)))
            if group.shift is not None:
                start[group.shift] = start[group.shift] + z_b
        of_weight, of_bias = params[HEAD_RATES + "weight"], params[HEAD_RATES + "bias"]
        start[WEIGHT] = of_weight.new_zeros(ways, of_weight.shape[1])
        start[BIAS] = of_bias.new_zeros(ways)
        rates |= {WEIGHT: head_factor * of_weight, BIAS: head_factor * of_bias}
        return start, rates
