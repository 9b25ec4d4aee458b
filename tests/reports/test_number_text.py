import math

import pytest

from towpath.metrics import ACCURACY, LOSS
from towpath.reports.number_text import number, p_text, score_text


def test_what_is_not_known_is_a_dash():
    assert {number(None), number(math.nan)} == {"–"}


def test_minus_is_a_minus_and_thousands_are_parted():
    assert number(-1234.56, 1) == "−1,234.6"
    assert number(0.25, 2, sign=True) == "+0.25"


def test_only_an_accuracy_is_in_per_cent():
    assert score_text(0.724, ACCURACY) == "72.4 %"
    assert score_text(0.724, LOSS) == "0.724"


@pytest.mark.parametrize(("value", "text"), [(9e-4, "< 0.001"), (0.034, "0.034"), (0.345, "0.34")])
def test_small_p_values_have_more_digits(value, text):
    assert p_text(value) == text
