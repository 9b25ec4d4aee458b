"""What a learner is: a pure function from (meta-parameters, episode) to query outputs.

A learner is described by three things: `module`, whose named parameters are the meta-parameters;
`adapt(params, support_x, support_y)`, which turns them into a predictor for one task; and `loss`,
the loss of its outputs. Everything else is `predictor(query_x)`:

    outputs = learner(params, episode)      # [Q, ways] logits, or [Q, C] for regression
            = learner.adapt(params, episode.support_x, episode.support_y)(episode.query_x)

Two kinds of learners have more to say of a task, and their predictors say it. One that averages
over S random draws returns outputs `[Q, ways, S]` (`Predictor.sampled`); the loss is the mean over
the draws, a prediction the mean of their probabilities. One whose outer loss has a term that is not
a loss of the outputs, such as a divergence from a prior, adds it as `Predictor.penalty`.

`params` is a dict with the names of `learner.module.named_parameters()`; its tensors may be the
module's own parameters, leaves, results of other computations, float64, or require no gradient.
Parameters that are frozen in the module (`requires_grad_(False)`) may be left out; an inner loop
does not adapt them.

Pure means: parameters, buffers and attributes are left alone, and equal inputs give equal outputs
(for the same state of the generators, where the model draws). Running statistics of a batch norm
are therefore not learned by calling a learner; the updates that its passes would have made are
recorded, and `plan.apply_` writes them. Every forward pass in train mode counts: those of the inner
steps on the support set and those on the query set, and both for a prototypical network.
`functional_call` swaps tensors inside the module during a pass, so each thread that calls a learner
needs a `copy.deepcopy` of it; no state is kept on the learner between calls.

A learner that draws takes its numbers from torch's own generator, and all of them in `adapt`, so
that a predictor answers equal questions equally. The objective seeds the generator for each task
(`towpath.objective.draws`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from towpath.data.episode import Episode
from towpath.learners.compiled import check_not_compiled
from towpath.learners.forward import Forward
from towpath.losses import Loss, LossLike, loss_of

Params = Mapping[str, Tensor]


@dataclass(frozen=True)
class Predictor:
    """The model adapted to one support set: `predictor(query_x)` returns logits or regressions."""

    outputs: Callable[[Tensor], Tensor]
    loss: Loss
    penalty: Callable[[int], Tensor] | None = None
    """(number of query samples) -> scalar that is added to the task's loss, differentiable in the
    meta-parameters. Gradients and Hessian products include it; the Gauss-Newton matrix, which is
    that of the outputs' loss, leaves its curvature out."""
    sampled: bool = False
    """whether outputs have a last dimension of S random draws, `[Q, ways, S]`"""

    def __call__(self, query_x: Tensor) -> Tensor:
        """Return query outputs `[Q, ...]`, differentiable in the meta-parameters."""
        return self.outputs(query_x)

    @torch.no_grad()
    def predict(self, query_x: Tensor) -> Tensor:
        """Return class probabilities `[Q, ways]`, or the outputs themselves for regression.

        Where there are several draws, it is the mean over them.
        """
        outputs = self.outputs(query_x)
        if not self.sampled:
            return self.loss.predictions(outputs)
        return self.loss.predictions(outputs, dim=1).mean(-1)


class Learner(ABC):
    """Base of every learner; a new one implements `adapt`.

    Args:
        model: the network that is adapted to a task.
        loss: the loss of the outputs: a name (`'cross_entropy'` for integer labels, `'mse'` for
            float targets, `'huber'`, `'bce'`, `'nll'`), a name with options, an `nn.Module` or a
            function of (outputs, targets).
    """

    wants_embedding: ClassVar[bool] = False
    """Whether the model is an embedding, without a head of its own."""
    predicts_numbers: ClassVar[bool] = True
    """Whether tasks of regression suit it as well as tasks of classes."""

    def __init__(self, model: nn.Module, loss: LossLike) -> None:
        check_not_compiled(model)
        self.model = model
        self._forward = Forward(model)
        self.loss: Loss = loss_of(loss)
        self._given_frozen = frozenset(self._frozen_in_model())
        self._own(model)

    def _own(self, module: nn.Module) -> None:
        """Set the module that owns the meta-parameters, where they are more than the model's."""
        self.module = module
        places = {id(part): name for name, part in module.named_modules()}
        name = places.get(id(self.model), "")
        self._forward.prefix = f"{name}." if name else ""
        self._names = frozenset(name for name, _ in module.named_parameters())

    def frozen(self) -> dict[str, Tensor]:
        """Return the parameters that are not trained: those with `requires_grad_(False)`.

        They are neither meta-parameters nor adapted to a task. A module in which all parameters are
        frozen has been put aside after training: there nothing counts as frozen.
        """
        held = dict(self.module.named_parameters())
        found = {name: p.detach() for name, p in held.items() if not p.requires_grad}
        return {} if len(found) == len(held) else found

    def _still(self) -> set[str]:
        """Return the names within the model of the frozen parameters, which do not adapt.

        In a module that has been put aside these are the ones that the learner was made with, so
        that its predictions stay as they were, unless the whole model came frozen.
        """
        now = self._frozen_in_model()
        if self.frozen() or not now:
            return now
        return set(self._given_frozen) if self._given_frozen < now else set()

    def _frozen_in_model(self) -> set[str]:
        """Return the names within the model of the parameters that require no gradient."""
        return {name for name, p in self.model.named_parameters() if not p.requires_grad}

    def parameters(self) -> dict[str, Tensor]:
        """Return the current meta-parameters of `module` by name, without the frozen ones."""
        frozen = self.frozen()
        return {name: p for name, p in self.module.named_parameters() if name not in frozen}

    @abstractmethod
    def adapt(self, params: Params, support_x: Tensor, support_y: Tensor) -> Predictor:
        """Return the predictor for the task with this support set."""

    def features(self, params: Params, x: Tensor) -> Tensor:
        """Return inputs as vectors `[N, D]`, embedded if the model is an embedding."""
        return (self._forward(params, x) if self.wants_embedding else x).flatten(1)

    def __call__(self, params: Params, episode: Episode) -> Tensor:
        """Return query outputs `[Q, ...]` after adaptation to the support set."""
        return self.adapt(params, episode.support_x, episode.support_y)(episode.query_x)

    def _complete(self, params: Params) -> Params:
        """Return the params of all names, with the module's own tensors for those that are frozen.

        Other names than the module's are refused: `functional_call` would use the module's own
        tensors for what is missing.
        """
        if params.keys() == self._names:
            return params
        held = dict(self.module.named_parameters())
        frozen = {name: p.detach() for name, p in held.items() if not p.requires_grad}
        missing = sorted(self._names - params.keys() - frozen.keys())
        unknown = sorted(params.keys() - self._names)
        if missing or unknown:
            raise ValueError(
                f"Found params without {missing[:3]} and with the unknown {unknown[:3]}; expected "
                f"the {len(self._names)} names of learner.module.named_parameters(), of which only "
                "frozen ones may be left out. Pass a dict of the shape of learner.parameters()."
            )
        return {name: params[name] if name in params else frozen[name] for name in held}
