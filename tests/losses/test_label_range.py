"""The ranges of labels: read at once, known to every check, and never believed of other labels."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.device_reads import reads_of
from towpath.learners.prototypes import checked_ways, memberships
from towpath.losses import loss_of
from towpath.losses.label_range import LabelRange, LabelRanges, known_range, label_range

OUTPUTS = torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, 3.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
LABELS = torch.tensor([0, 2, 1, 1])


@given(st.lists(st.lists(st.integers(-3, 9), min_size=1, max_size=6), min_size=1, max_size=6))
def test_the_ranges_of_many_are_those_of_each(rows):
    labels = [torch.tensor(row) for row in rows]
    ranges = LabelRanges.read(labels)
    for row, each in zip(rows, labels, strict=True):
        expected = LabelRange(min(row), max(row), len(set(row)))
        assert ranges.of(each) == label_range(each) == expected


def test_all_ranges_take_one_read_and_known_ones_none():
    labels = [LABELS.clone() for _ in range(4)] + [LABELS[:2].clone()]
    assert len(reads_of(lambda: LabelRanges.read(labels))) == 1
    ranges, loss = LabelRanges.read(labels), loss_of("cross_entropy")

    def checks() -> None:
        for y in labels[:4]:
            memberships(y)
            loss.value(OUTPUTS, y)
            loss.counted(OUTPUTS, y)

    with ranges.known():
        assert not reads_of(checks)
    assert len(reads_of(checks)) >= 4 * 3


def test_nothing_to_read_is_no_read():
    assert not reads_of(lambda: LabelRanges.read([]))
    with torch.inference_mode():
        inference = torch.tensor([0, 1])
    ranges = LabelRanges.read([inference])
    assert ranges.of(inference) is None


def test_ranges_are_known_inside_their_context_and_of_their_own_tensors_alone():
    with LabelRanges.read([LABELS]).known():
        assert known_range(LABELS) == LabelRange(0, 2, 3)
        assert known_range(LABELS.clone()) is None
    assert known_range(LABELS) is None


def test_labels_that_were_written_to_since_are_read_again():
    labels = LABELS.clone()
    with LabelRanges.read([labels]).known():
        labels[0] = -1
        assert known_range(labels) is None
        assert label_range(labels).least == -1
        with pytest.raises(ValueError, match=r"Found the label -1; expected labels 0\.\.2"):
            loss_of("cross_entropy").value(OUTPUTS, labels)


def told(labels: Tensor, **options: object) -> str:
    """What the loss says of labels; empty if it takes them."""
    try:
        loss_of({"name": "cross_entropy", **options}).value(OUTPUTS, labels)
    except ValueError as error:
        return str(error)
    return ""


def told_of_support(labels: Tensor) -> str:
    try:
        checked_ways(labels)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("row", [[0, 2, 1, 1], [0, -1, 2, 1], [0, 3, 1, 1], [-100, 0, 1, 9]])
@pytest.mark.parametrize("ignored", [None, -100, -1, 2, 3])
def test_a_loss_says_the_same_of_labels_whose_range_is_known(row, ignored):
    labels, options = torch.tensor(row), {} if ignored is None else {"ignore_index": ignored}
    unknown = told(labels, **options)
    with LabelRanges.read([labels]).known():
        assert told(labels, **options) == unknown
    assert bool(unknown) == bool({*row} - {0, 1, 2} - {ignored})


@pytest.mark.parametrize("row", [[0, 2, 1, 1], [0, 2, 2], [0, -1, 1], [1, 2], [0], [7]])
def test_a_support_set_is_told_the_same_if_its_range_is_known(row):
    labels = torch.tensor(row)
    unknown = told_of_support(labels)
    with LabelRanges.read([labels]).known():
        assert told_of_support(labels) == unknown
    assert bool(unknown) == ({*row} != {*range(max(row) + 1)})


@pytest.mark.parametrize("ignored", [None, 1, 7])
def test_the_samples_that_count_are_the_same_if_the_range_is_known(ignored):
    loss = loss_of(
        {"name": "cross_entropy"} | ({} if ignored is None else {"ignore_index": ignored})
    )
    unknown = loss.counted(OUTPUTS, LABELS)
    with LabelRanges.read([LABELS]).known():
        for found, expected in zip(loss.counted(OUTPUTS, LABELS), unknown, strict=True):
            assert torch.equal(found, expected)


def test_a_loss_with_an_ignored_label_has_a_closed_form_where_no_label_is_ignored():
    loss = loss_of({"name": "cross_entropy", "ignore_index": -1})
    some = torch.tensor([0, -1, 1, 1])
    with LabelRanges.read([LABELS, some]).known():
        assert loss.factor(OUTPUTS, LABELS) is not None
        assert loss.factor(OUTPUTS, some) is None


def test_a_support_set_without_a_sample_is_refused():
    with pytest.raises(ValueError, match="Found no support sample"):
        checked_ways(torch.tensor([], dtype=torch.long))
