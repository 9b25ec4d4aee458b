"""ProtoNet and Proto-MAML against formulas written out by hand."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.learners.tasks import classification, regression
from towpath.backbones import MLP, Conv4
from towpath.learners import ProtoMAML, ProtoNet
from towpath.learners.prototypes import prototypes


def class_means(features: Tensor, labels: Tensor) -> Tensor:
    return torch.stack([features[labels == k].mean(0) for k in range(int(labels.max()) + 1)])


def assert_same(ours: Tensor, theirs: Tensor, model: nn.Module) -> None:
    """Outputs and gradients of a random scalar of them."""
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    cotangent = torch.randn(ours.shape, generator=torch.Generator().manual_seed(1)).to(ours)
    parameters = list(model.parameters())
    for mine, reference in zip(
        torch.autograd.grad(ours, parameters, cotangent, retain_graph=True),
        torch.autograd.grad(theirs, parameters, cotangent),
        strict=True,
    ):
        torch.testing.assert_close(mine, reference, rtol=1e-9, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(shots=st.lists(st.integers(1, 6), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_protonet_equals_the_direct_formula_for_any_shots(shots, seed):
    torch.manual_seed(seed)
    task = classification(shots, seed=seed)
    model = MLP(inputs=4, outputs=None, hidden=(6, 5), activation="tanh").double()
    learner = ProtoNet(model)
    centres = class_means(model(task.support_x), task.support_y)
    expected = torch.stack(
        [-(model(task.query_x) - centre).pow(2).sum(1) for centre in centres], dim=1
    )
    assert_same(learner(learner.parameters(), task), expected, model)


def test_protonet_normalises_support_and_query_by_their_own_statistics():
    torch.manual_seed(0)
    task = classification((2, 1, 3), shape=(1, 16, 16))
    model = Conv4(ways=None, image_size=16, filters=4).double()
    learner = ProtoNet(model)
    expected = -torch.cdist(
        model(task.query_x), class_means(model(task.support_x), task.support_y)
    ).square()
    torch.testing.assert_close(learner(learner.parameters(), task), expected, rtol=1e-9, atol=1e-10)


def linear_embedding() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(4, 3, bias=False).double()


def proto_maml_by_hand(A: Tensor, task, inner_lr: float, steps: int, first_order: bool) -> Tensor:
    """z = A x, logits = W z + b, with the gradient of softmax cross-entropy written out.

    E = (softmax - onehot) / S: dW = E'Z, db = E'1, dA = (E W)'X.
    """
    X, onehot = task.support_x, torch.eye(task.ways, dtype=A.dtype)[task.support_y]
    C = class_means(X @ A.T, task.support_y)
    W, b = 2 * C, -(C * C).sum(1)
    for _ in range(steps):
        Z = X @ A.T
        E = ((Z @ W.T + b).softmax(1) - onehot) / len(X)
        dW, db, dA = E.T @ Z, E.sum(0), (E @ W).T @ X
        if first_order:
            dW, db, dA = dW.detach(), db.detach(), dA.detach()
        W, b, A = W - inner_lr * dW, b - inner_lr * db, A - inner_lr * dA
    return (task.query_x @ A.T) @ W.T + b


@pytest.mark.parametrize("first_order", [True, False])
@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize("shots", [(1, 1), (1, 3, 2), (5, 5, 5, 5)])
def test_proto_maml_equals_the_direct_formula(shots, steps, first_order):
    model, task = linear_embedding(), classification(shots)
    learner = ProtoMAML(model, 0.1, steps, first_order)
    expected = proto_maml_by_hand(model.weight, task, 0.1, steps, first_order)
    assert_same(learner(learner.parameters(), task), expected, model)


def test_proto_maml_without_steps_classifies_as_protonet_does():
    torch.manual_seed(0)
    task = classification((2, 1, 3))
    model = MLP(inputs=4, outputs=None).double()
    proto_maml, protonet = ProtoMAML(model, adaptation_steps=0), ProtoNet(model)
    params = protonet.parameters()
    torch.testing.assert_close(
        proto_maml(params, task).log_softmax(1), protonet(params, task).log_softmax(1)
    )


@pytest.mark.parametrize("learner", [ProtoNet, ProtoMAML])
def test_impossible_support_sets_are_refused_with_the_remedy(learner):
    learner = learner(MLP(inputs=4, outputs=None).double())
    params = learner.parameters()
    task = classification((1, 2, 1))
    present = task.support_y != 1
    with pytest.raises(ValueError, match=r"no support sample of the classes \[1\].*Relabel"):
        learner.adapt(params, task.support_x[present], task.support_y[present])
    with pytest.raises(ValueError, match=r"float64 support targets; expected integer labels"):
        learner(params, regression())
    with pytest.raises(ValueError, match=r"support labels of shape \[4, 1\].*shape \[4\].*reshape"):
        learner.adapt(params, task.support_x, task.support_y[:, None])
    with pytest.raises(ValueError, match=r"support labels of shape \[4, 3\].*shape \[4\].*argmax"):
        learner.adapt(params, task.support_x, nn.functional.one_hot(task.support_y))
    with pytest.raises(ValueError, match=r"Found the support label -1; expected labels 0..ways-1"):
        learner.adapt(params, task.support_x, task.support_y - 1)


def test_labels_that_were_never_numbered_from_0_are_told_in_a_short_sentence():
    labels = torch.tensor([0, 2, 10**12])
    with pytest.raises(ValueError, match="no support sample of the classes") as told:
        prototypes(torch.zeros(3, 2), labels)
    assert "[1, 3, 4, 5, 6, 7, 8, 9, 10, 11] and 999,999,999,988 more" in str(told.value)
    assert "each of the 1,000,000,000,001 classes" in str(told.value)
    with pytest.raises(ValueError, match=r"classes \[0, 2\]; .* of the 4 classes"):
        prototypes(torch.zeros(2, 2), torch.tensor([1, 3]))
