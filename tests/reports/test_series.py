"""Series: averaged over seeds, and thinned without losing an extreme."""

from hypothesis import given
from hypothesis import strategies as st

from towpath.reports.charts.series import Band, every_nth, over_seeds, pooled

FINITE = st.floats(-1e6, 1e6)


def test_seeds_are_averaged_where_all_of_them_are():
    assert over_seeds([[(1, 0.0), (2, 4.0)], [(1, 2.0)], []]) == [Band(1, 1.0, 0.0, 2.0)]


@given(
    st.lists(st.tuples(st.integers(0, 500), FINITE), min_size=1, max_size=60), st.integers(2, 30)
)
def test_thinning_keeps_few_points_and_every_extreme(points, count):
    bands = pooled([points], count)
    assert len(bands) <= count
    assert min(b.low for b in bands) == min(y for _, y in points)
    assert max(b.high for b in bands) == max(y for _, y in points)
    assert all(b.low - 1e-6 <= b.mean <= b.high + 1e-6 for b in bands)


def test_every_nth_keeps_the_ends():
    points = [(float(i), 0.0) for i in range(1000)]
    thin = every_nth(points, 300)
    assert len(thin) == 300
    assert (thin[0], thin[-1]) == (points[0], points[-1])
