"""Stored gradients in 16 bits against the gradients themselves."""

import pytest
import torch

from towpath.control import EVERYTHING, ExactGradients, HalfGradients

M, P = 4, 100
UNIT = 2.0**-11
"""the relative rounding of a number in float16"""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("towpath.control.stored.BLOCK", 16)


def drawn(seed=0):
    return torch.randn(M, P, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("factor", [1e-38, 1e-30, 1e-6, 1.0, 1e6, 1e30])
def test_every_number_keeps_eleven_digits_whatever_the_scale_of_its_task(factor):
    J = drawn()
    J[1] *= factor
    J[2, :50] *= 1e-9  # of the largest of the task, in blocks of their own
    stored = HalfGradients.of(J)
    assert stored.values.dtype == torch.float16
    error = (stored.part(EVERYTHING).double() - J.double()).abs()
    # far below the largest of its block a number is rounded to a multiple of 2^-39 of that
    largest = torch.cat(
        [block.abs().amax(1, keepdim=True).expand_as(block) for block in J.double().split(16, 1)], 1
    )
    room = UNIT * J.double().abs() + 2.0**-39 * largest + 1e-45
    assert bool((error <= room).all())


def test_zeros_stay_zero_and_what_is_not_finite_stays_so():
    J = drawn()
    J[0], J[1, 3], J[2, 40] = 0.0, torch.inf, torch.nan
    back = HalfGradients.of(J).part(EVERYTHING)
    assert not back[0].any()
    assert back[1, 3] == torch.inf
    assert bool(back[2, 40].isnan())
    assert bool(torch.isfinite(back[3]).all())


@pytest.mark.parametrize("at", [slice(0, 3), slice(10, 20), slice(15, 64), slice(99, 100)])
def test_a_part_is_that_of_the_whole(at):
    stored = HalfGradients.of(drawn())
    assert torch.equal(stored.part(at), stored.part(EVERYTHING)[:, at])
    assert stored.shape == (M, P)


def test_weighted_sums_are_those_of_the_stored_numbers():
    J, w = drawn(), torch.tensor([0.1, 0.0, 2.0, 0.5])
    stored = HalfGradients.of(J)
    torch.testing.assert_close(stored.weighted(w), w @ stored.part(EVERYTHING))
    torch.testing.assert_close(stored.weighted(w), w @ J, rtol=0, atol=4 * UNIT * 3.0)


def test_float64_is_stored_as_it_is():
    J = drawn().double()
    stored = HalfGradients.of(J)
    assert isinstance(stored, ExactGradients)
    assert stored.part(EVERYTHING).data_ptr() == J.data_ptr()


def test_a_rank_without_coordinates_stores_nothing():
    stored = HalfGradients.of(torch.zeros(M, 0))
    assert stored.part(EVERYTHING).shape == (M, 0)
    assert stored.weighted(torch.ones(M)).shape == (0,)
