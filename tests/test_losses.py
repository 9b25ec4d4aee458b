"""The losses: their values are torch's, their factors those of the dense Hessian."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.oracles.curvature import hessian
from towpath.losses import LOSSES, check_loss, loss_named, task_loss

C = 4
TORCH: dict[str, Callable[..., Tensor]] = {"cross_entropy": F.cross_entropy, "mse": F.mse_loss}
TARGETS = {"cross_entropy": torch.tensor(2), "mse": torch.arange(C, dtype=torch.float64)}


@pytest.mark.parametrize("name", LOSSES)
def test_the_factor_times_its_transpose_is_the_hessian_of_one_sample(name):
    f = torch.randn(C, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    loss = loss_named(name)
    columns = [loss.factor(f[None], e[None])[0] for e in torch.eye(C, dtype=torch.float64)]
    R = torch.stack(columns, 1)
    H = hessian(TORCH[name])(f, TARGETS[name])
    torch.testing.assert_close(R @ R.T, H)


@pytest.mark.parametrize("name", LOSSES)
def test_a_name_stands_for_the_loss_of_torch(name):
    f = torch.randn(C, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert torch.equal(task_loss(name, f, TARGETS[name]), TORCH[name](f, TARGETS[name]))
    check_loss(name)


def test_class_scores_in_dimension_1_become_rows():
    scores = torch.arange(24.0).reshape(2, 3, 4)
    rows = LOSSES["cross_entropy"].rows(scores)
    assert rows.shape == (8, 3)
    assert rows[1].tolist() == scores[0, :, 1].tolist()
    assert LOSSES["mse"].rows(scores).shape == (2, 12)
    assert LOSSES["mse"].rows(torch.tensor(1.0)).shape == (1, 1)


@pytest.mark.parametrize("wrong", ["mae", None, 3, ["mse"]])
def test_another_name_is_refused(wrong):
    for refuse in (check_loss, loss_named):
        with pytest.raises(ValueError, match="expected"):
            refuse(wrong)
