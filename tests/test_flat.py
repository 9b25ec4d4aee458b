"""Parameters as one vector: numbers that differ between parameters, spread over coordinates."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from towpath.flat import Layout

SIZES = st.lists(st.integers(0, 5), min_size=1, max_size=6)


@given(sizes=SIZES, bounds=st.tuples(st.integers(0, 30), st.integers(0, 30)))
def test_numbers_spread_over_a_part_are_that_part_of_the_whole_vector(sizes, bounds):
    names = tuple(f"p{i}" for i in range(len(sizes)))
    whole = Layout(names, tuple(torch.Size([size]) for size in sizes))
    first, last = sorted(min(bound, whole.total) for bound in bounds)
    part = Layout(whole.names, whole.shapes, (first, last))
    values = [0.5 + i for i in range(len(sizes))]
    like = torch.zeros(0, dtype=torch.float64)
    written_out = torch.tensor([v for v, n in zip(values, sizes, strict=True) for _ in range(n)])
    found = part.expand(values, like)
    if len(values) == 1:
        assert found == 0.5
    else:
        assert torch.equal(found, written_out.double()[first:last])
