"""R2-D2 (Bertinetto et al. 2019): a linear classifier in closed form on a learned embedding.

With the features `X [S, D]` of the support set, each with a 1 appended for the bias, and its
labels as one-hot rows `Y [S, ways]`, ridge regression is

    W = (X'X + lambda I)^-1 X'Y = X'(XX' + lambda I)^-1 Y,      logits = alpha X_query W + beta

The second form solves a system of the size of the support set, the first one of the size of the
features; they are equal, and the smaller system is solved. `lambda`, `alpha` and `beta` are learned
with the embedding: lambda as its logarithm, so that it stays positive. As there, Y is divided by
the root of S, so that the scale of the logits does not grow with the number of shots. (A beta that
is common to all classes leaves the softmax as it is; it is there because the paper has it.)
"""

import math

import torch
from torch import Tensor, nn

from towpath.learners.beside import MODEL, ModelBeside
from towpath.learners.learner import Learner, Params, Predictor
from towpath.learners.prototypes import memberships
from towpath.losses import LossLike, class_loss

LOG_LAMBDA, SCALE, BIAS = "log_lambda", "scale", "bias"


class ModelWithRidge(ModelBeside):
    """An embedding beside the three learned numbers of the regression."""

    def __init__(self, model: nn.Module, regulariser: float, scale: float) -> None:
        super().__init__(model)
        like = next(model.parameters(), torch.zeros(())).detach()
        self.log_lambda = nn.Parameter(like.new_tensor(math.log(regulariser)))
        self.scale = nn.Parameter(like.new_tensor(float(scale)))
        self.bias = nn.Parameter(like.new_tensor(0.0))


class Ridge(Learner):
    """Logits are those of a ridge regression from features to one-hot labels, solved exactly.

    `learner.module` holds the meta-parameters: `model.NAME`, `log_lambda`, `scale` and `bias`. Hand
    it, not the model, to an optimiser.

    Args:
        model: an embedding, from inputs to features `[N, D]` (more dimensions are flattened);
            for our backbones `ways=None`.
        regulariser: initial lambda.
        scale: initial alpha, the factor of the regression's outputs.
        loss: a loss of class scores, as for every `Learner`.
    """

    wants_embedding = True
    predicts_numbers = False

    def __init__(
        self,
        model: nn.Module,
        regulariser: float = 1.0,
        scale: float = 10.0,
        loss: LossLike = "cross_entropy",
    ) -> None:
        super().__init__(model, class_loss(loss))
        for name, value in (("regulariser", regulariser), ("scale", scale)):
            if not (math.isfinite(value) and value > 0):
                raise ValueError(
                    f"Found {name}={value}; expected a positive number. Pass for example {name}=1."
                )
        self._own(ModelWithRidge(model, regulariser, scale))

    def adapt(self, params: Params, support_x: Tensor, support_y: Tensor) -> Predictor:
        """Solve the regression of the support set and return its predictor."""
        params = self._complete(params)
        of_class = memberships(support_y)  # [S, ways]
        body = self._body(params)
        X = _with_ones(self._forward(body, support_x).flatten(1))  # [S, D + 1]
        Y = of_class.to(X.dtype) / math.sqrt(len(X))  # [S, ways]
        W = solved(X, Y, params[LOG_LAMBDA].exp())  # [D + 1, ways]

        def logits(query_x: Tensor) -> Tensor:
            """Return the scaled outputs `[Q, ways]` of the regression."""
            features = _with_ones(self._forward(body, query_x).flatten(1))
            return params[SCALE] * (features @ W) + params[BIAS]

        return Predictor(logits, self.loss)

    def features(self, params: Params, x: Tensor) -> Tensor:
        """Return inputs embedded as vectors `[N, D]`."""
        return self._forward(self._body(params), x).flatten(1)

    def _body(self, params: Params) -> dict[str, Tensor]:
        """Return the embedding's parameters by their names in the model."""
        return {n.removeprefix(MODEL): p for n, p in params.items() if n.startswith(MODEL)}


def solved(X: Tensor, Y: Tensor, regulariser: Tensor) -> Tensor:
    """Return the ridge regression `W [D, C]` of targets `Y [S, C]` on features `X [S, D]`.

    Args:
        X: the features.
        Y: the targets.
        regulariser: lambda, the weight of the squared norm of W; positive.
    """
    samples, length = X.shape
    identity = torch.eye(min(samples, length), dtype=X.dtype, device=X.device)
    W: Tensor
    if samples <= length:
        W = X.T @ torch.linalg.solve(X @ X.T + regulariser * identity, Y)
    else:
        W = torch.linalg.solve(X.T @ X + regulariser * identity, X.T @ Y)
    return W


def _with_ones(features: Tensor) -> Tensor:
    """Return features `[N, D]` with a column of ones, whose weights are the bias."""
    return torch.cat([features, features.new_ones(len(features), 1)], dim=1)
