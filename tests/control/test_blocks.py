"""Products with a block per coordinate against einsum."""

import pytest
import torch

from towpath.control.blocks import applied, applied_transposed, congruent


def drawn(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_products_are_those_of_the_blocks(k):
    A, W = drawn(k, k, 5), drawn(k, k, 5)
    for Y, letters in ((drawn(k, 5), "jp"), (drawn(k, 4, 5), "jmp")):
        out = letters.replace("j", "i")
        torch.testing.assert_close(applied(A, Y), torch.einsum(f"ijp,{letters}->{out}", A, Y))
        transposed = torch.einsum(f"jip,{letters}->{out}", A, Y)
        torch.testing.assert_close(applied_transposed(A, Y), transposed)
    expected = torch.einsum("iap,ijp,jbp->abp", A, W, A)
    torch.testing.assert_close(congruent(A, W), expected)
