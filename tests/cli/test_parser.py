"""Overrides by dotted name, as the command line takes them."""

import pytest

from towpath.cli.parser import UsageError, overrides


def test_overrides_are_pairs_of_a_name_and_a_word():
    words = ["--weighter.beta", "1.0", "--training.steps=20", "--label-noise", "0.1"]
    assert overrides(words) == [
        ("weighter.beta", "1.0"),
        ("training.steps", "20"),
        ("label_noise", "0.1"),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [(["beta", "1"], "Found 'beta'"), (["--weighter.beta"], "--weighter.beta has no value")],
)
def test_what_is_no_pair_is_refused(words, said):
    with pytest.raises(UsageError, match=said):
        overrides(words)
