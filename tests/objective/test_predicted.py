"""The loss, the predictions and the curvature of learners that sample or add a penalty."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import towpath as tp
from tests.learners.tasks import classification, regression
from tests.oracles.compare import assert_close
from tests.oracles.curvature import hessian
from towpath.learners import Learner, Predictor
from towpath.losses import loss_of
from towpath.metrics import ACCURACY, LOSS, R2
from towpath.objective import Curvature
from towpath.objective.draws import derived_seed
from towpath.objective.predicted import Predicted

S = 3
CROSS_ENTROPY = loss_of("cross_entropy")


class Noisy(Learner):
    """A linear map plus S random shifts of its outputs, and a penalty that knows the query set."""

    def adapt(self, params, support_x, support_y):
        shifts = torch.randn(S, dtype=support_x.dtype)

        def outputs(x: Tensor) -> Tensor:
            rows = self._forward(params, x)  # [Q, C]
            return torch.stack([rows * (1 + s) for s in shifts], -1)

        def penalty(queries: int) -> Tensor:
            return sum(p.pow(4).sum() for p in params.values()) / (queries + len(support_y))

        return Predictor(outputs, self.loss, penalty, sampled=True)


def noisy(loss: str = "cross_entropy"):
    torch.manual_seed(0)
    learner = Noisy(nn.Linear(4, 3 if loss == "cross_entropy" else 2).double(), loss)
    task = classification((1, 3, 2)) if loss == "cross_entropy" else regression()
    return learner, task


def shifts_of(objective_seed: int, index: int) -> Tensor:
    torch.manual_seed(derived_seed(objective_seed, index))
    return torch.randn(S, dtype=torch.float64)


def by_hand(weight: Tensor, bias: Tensor, task, loss: str, index: int = 0) -> tuple[Tensor, Tensor]:
    """Mean over the draws of the loss, and the penalty."""
    each = functional.cross_entropy if loss == "cross_entropy" else functional.mse_loss
    rows = task.query_x @ weight.T + bias
    losses = [each(rows * (1 + s), task.query_y) for s in shifts_of(5, index)]
    penalty = (weight.pow(4).sum() + bias.pow(4).sum()) / (len(task.query_y) + len(task.support_y))
    return torch.stack(losses).mean(), penalty


@pytest.mark.parametrize("loss", ["cross_entropy", "mse"])
def test_loss_gradient_and_hessian_product_are_of_the_mean_over_draws_and_the_penalty(loss):
    learner, task = noisy(loss)
    params = learner.parameters()
    weight, bias = (p.detach().clone().requires_grad_() for p in params.values())
    total = torch.stack(by_hand(weight, bias, task, loss)).sum()
    said = tp.Objective(learner).evaluate(params, [task], seed=5)
    assert_close(said.losses[0], total.detach(), 1e-12)
    gradient = torch.autograd.grad(total, [weight, bias])
    assert_close(said.gradients[0], torch.cat([g.reshape(-1) for g in gradient]), 1e-12)

    sizes = [weight.numel(), bias.numel()]

    def flat(x: Tensor) -> Tensor:
        w, b = x.split(sizes)
        return torch.stack(by_hand(w.reshape(weight.shape), b, task, loss)).sum()

    x = torch.cat([weight.detach().reshape(-1), bias.detach()])
    vector = torch.linspace(-1, 1, len(x), dtype=torch.float64)
    product = tp.Objective(learner).product(params, [task], torch.ones(1), vector, seed=5)
    assert_close(product, hessian(flat)(x) @ vector, 1e-10)


@pytest.mark.parametrize("loss", ["cross_entropy", "mse"])
def test_gauss_newton_is_that_of_the_draws_and_leaves_the_penalty_out(loss):
    """Outputs are linear in the parameters: the Hessian without the penalty is the matrix."""
    learner, task = noisy(loss)
    params = learner.parameters()
    weight, bias = (p.detach() for p in params.values())
    sizes = [weight.numel(), bias.numel()]

    def without_penalty(x: Tensor) -> Tensor:
        w, b = x.split(sizes)
        return by_hand(w.reshape(weight.shape), b, task, loss)[0]

    x = torch.cat([weight.reshape(-1), bias])
    expected = hessian(without_penalty)(x).diagonal()
    objective, weights = tp.Objective(learner), torch.ones(1, 1, dtype=torch.float64)
    exact = objective.evaluate(
        params, [task], curvature=Curvature("gauss-newton-exact", weights), seed=5
    )
    assert exact.curvature is not None
    assert_close(exact.curvature[0], expected, 1e-12)
    sketch = Curvature("gauss-newton", weights, probes=4000)
    found = objective.evaluate(params, [task], curvature=sketch, seed=5).curvature
    assert found is not None
    assert_close(found[0], expected, 0.15)


def test_a_prediction_is_the_mean_of_the_probabilities_and_so_is_the_accuracy():
    learner, task = noisy()
    params = learner.parameters()
    weight, bias = (p.detach() for p in params.values())
    rows = task.query_x @ weight.T + bias
    mean = torch.stack([(rows * (1 + s)).softmax(1) for s in shifts_of(5, 0)]).mean(0)
    torch.manual_seed(derived_seed(5, 0))
    predictor = learner.adapt(params, task.support_x, task.support_y)
    assert_close(predictor.predict(task.query_x), mean, 1e-12)
    objective = tp.Objective(learner)
    said = objective.measure(params, [task], [ACCURACY, LOSS], seed=5)
    assert said[ACCURACY] == [float((mean.argmax(1) == task.query_y).double().mean())]
    assert said[LOSS] == objective.evaluate(params, [task], seed=5).losses.tolist()
    predicted = Predicted(predictor(task.query_x), task.query_y, CROSS_ENTROPY, sampled=True)
    assert_close(
        predicted.predictions().softmax(1),
        predictor.predict(task.query_x),
        1e-12,
    )


def test_draws_that_disagree_are_averaged_as_probabilities_not_as_logits():
    outputs = torch.tensor([[[9.0, -2.0, -2.0], [0.0, 0.0, 0.0]]])  # [1, 2, 3]
    predictor = Predictor(lambda x: outputs, CROSS_ENTROPY, sampled=True)
    assert int(outputs.mean(-1).argmax()) == 0
    assert int(predictor.predict(torch.zeros(1)).argmax()) == 1
    predicted = Predicted(outputs, torch.zeros(1, dtype=torch.long), CROSS_ENTROPY, sampled=True)
    assert int(predicted.predictions().argmax()) == 1


def test_a_regression_is_the_mean_of_the_draws():
    learner, task = noisy("mse")
    params = learner.parameters()
    torch.manual_seed(2)
    predictor = learner.adapt(params, task.support_x, task.support_y)
    assert torch.equal(predictor.predict(task.query_x), predictor(task.query_x).mean(-1).detach())
    predicted = Predicted(predictor(task.query_x), task.query_y, loss_of("mse"), sampled=True)
    assert torch.equal(predicted.predictions(), predictor.predict(task.query_x))
    assert tp.Objective(learner).measure(params, [task], [R2], seed=5)[R2][0] < 1


@pytest.mark.parametrize("loss", ["cross_entropy", "mse"])
def test_the_loss_of_a_part_has_the_penalty_of_the_part(loss):
    """Monitored or evaluated as a task of its own: the same draws, the same number."""
    learner, task = noisy(loss)
    params, part = learner.parameters(), task.part(0.5)
    assert len(part.query_y) < len(task.query_y)
    objective = tp.Objective(learner)
    for _ in range(2):
        watched = objective.evaluate(params, [task], watched=[part], seed=5).watched
        alone = objective.evaluate(params, [part], seed=5).losses
        assert torch.equal(watched, alone)
    weight, bias = (p.detach() for p in params.values())
    assert_close(alone[0], sum(by_hand(weight, bias, part, loss)), 1e-12)
