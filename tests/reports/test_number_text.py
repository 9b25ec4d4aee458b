import math

import pytest

from towpath.metrics import ACCURACY, LOSS
from towpath.reports.number_text import number, p_text, score_text, seconds_text


def test_what_is_not_known_is_a_dash():
    assert {number(None), number(math.nan), seconds_text(None), seconds_text(math.nan)} == {"–"}


def test_minus_is_a_minus_and_thousands_are_parted():
    assert number(-1234.56, 1) == "−1,234.6"
    assert number(0.25, 2, sign=True) == "+0.25"


def test_only_an_accuracy_is_in_per_cent():
    assert score_text(0.724, ACCURACY) == "72.4 %"
    assert score_text(0.724, LOSS) == "0.724"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.123, "0.12 s"), (42.4, "42 s"), (120.0, "2.0 min"), (7199.0, "120.0 min"), (7200, "2.0 h")],
)
def test_durations_are_in_the_unit_that_a_person_would_use(seconds, text):
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(("value", "text"), [(9e-4, "< 0.001"), (0.034, "0.034"), (0.345, "0.34")])
def test_small_p_values_have_more_digits(value, text):
    assert p_text(value) == text
