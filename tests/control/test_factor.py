"""Cholesky factors, regularised only where they must be."""

import pytest
import torch

from tests.oracles.compare import assert_close
from towpath.control.factor import MANY, factorise, largest_eigenvalue


def matrix(*eigenvalues):
    """A rotated matrix with these eigenvalues."""
    n = len(eigenvalues)
    generator = torch.Generator().manual_seed(n)
    Q, _ = torch.linalg.qr(torch.randn(n, n, generator=generator, dtype=torch.float64))
    M = Q @ torch.diag(torch.tensor(eigenvalues, dtype=torch.float64)) @ Q.T
    return 0.5 * (M + M.T)


def test_a_positive_definite_matrix_is_factored_as_it_is():
    Q = matrix(1e-6, 1.0, 2.0, 1e4)
    factor = factorise(Q)
    assert factor is not None
    assert factor.rho == 0.0
    assert_close(factor.S @ factor.S.T, Q, 1e-14)
    right = torch.arange(4.0, dtype=torch.float64)
    assert_close(factor.solve(right), torch.linalg.solve(Q, right), 1e-5)
    half = factor.half_solve(torch.eye(4, dtype=torch.float64))
    assert_close(half.T @ half @ Q, torch.eye(4, dtype=torch.float64), 1e-5)


@pytest.mark.parametrize("lowest", [-1e-9, -1e-4, -0.05, -0.3])
def test_an_indefinite_matrix_gets_the_first_shift_of_the_ladder_that_is_enough(lowest):
    Q = matrix(lowest, 0.5, 1.0, 2.0)
    factor = factorise(Q)
    assert factor is not None
    shifted = Q + factor.rho * torch.eye(4, dtype=torch.float64)
    assert_close(factor.S @ factor.S.T, shifted, 1e-13)
    first = 1e-6 * float(Q.diagonal().abs().max())
    assert -lowest < factor.rho <= max(first, -10.0 * lowest)


@pytest.mark.parametrize(
    "Q",
    [
        torch.full((2, 2), float("nan"), dtype=torch.float64),
        torch.tensor([[1.0, float("nan")], [float("nan"), 1.0]], dtype=torch.float64),
        torch.tensor([[float("inf"), 0.0], [0.0, 1.0]], dtype=torch.float64),
        torch.tensor([[1.0, float("inf")], [float("inf"), 1.0]], dtype=torch.float64),
        -torch.eye(3, dtype=torch.float64),
        torch.tensor([[1.0, 1e6], [1e6, 1.0]], dtype=torch.float64),
    ],
    ids=["nan", "nan beside", "inf", "inf beside", "negative", "far from definite"],
)
def test_a_matrix_beyond_repair_gives_none(Q):
    assert factorise(Q) is None


@pytest.mark.parametrize("n", [3, MANY, MANY + 1, 3 * MANY])
def test_the_largest_eigenvalue_is_that_of_the_whole_spectrum(n):
    generator = torch.Generator().manual_seed(n)
    F = torch.randn(n, n // 3, generator=generator, dtype=torch.float64)
    H = F @ F.T
    assert largest_eigenvalue(H) == pytest.approx(float(torch.linalg.eigvalsh(H)[-1]), rel=1e-12)
    assert largest_eigenvalue(torch.zeros_like(H)) == 0.0
