"""A metric by its name, in its unit, with what was left out of it."""

import math

from towpath.cli.figure_text import figure, left_out
from towpath.metrics import ACCURACY, R2, ROC_AUC


def test_a_number_is_named_and_a_percentage_is_named_only_among_others():
    assert figure(0.5, 0.025, ACCURACY) == "50.0% +-2.5"
    assert figure(0.5, 0.025, ACCURACY, named=True) == "accuracy 50.0% +-2.5"
    assert figure(0.5, 0.025, ROC_AUC) == "ROC AUC 0.500 +-0.025"
    assert figure(-0.25, math.inf, R2) == "R2 -0.250 +-0.000"  # of a single task
    assert left_out(0, ROC_AUC) == ""
    assert left_out(3, ROC_AUC) == " (3 left out: all query samples are of one class)"
