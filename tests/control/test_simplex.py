"""What the simplex lets weights do, with and without held tasks."""

import torch

from towpath.control.bounds import Project, Simplex

F64 = torch.float64


def test_the_simplex_follows_the_mix_and_leaves_out_held_tasks():
    gradient = torch.tensor([[1.0, 2.0, 6.0]], dtype=F64)
    held = torch.tensor([[False, False, True]])
    assert Simplex().followed(gradient).tolist() == [[-2.0, -1.0, 3.0]]
    assert Simplex().followed(gradient, held).tolist() == [[-0.5, 0.5, 0.0]]
    assert Project().followed(gradient, held) is gradient
    uniform = torch.full((1, 3), 1 / 3, dtype=F64)
    assert Simplex().feasible_start(uniform, held).tolist() == [[0.5, 0.5, 0.0]]
    assert torch.equal(Simplex().feasible_start(uniform), uniform)
