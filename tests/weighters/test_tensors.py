"""Tensors in a weighter's state."""

import torch

from towpath.weighters.tensors import TENSORS, parted


def test_a_state_is_parted_into_plain_values_and_tensors_without_being_changed():
    held = {"a/x": torch.ones(2)}
    state = {"step": 3, TENSORS: held}
    plain, tensors = parted(state)
    assert plain == {"step": 3, TENSORS: {}}
    assert tensors is held
    assert state[TENSORS] is held


def test_a_state_without_tensors_stays_as_it_is():
    assert parted(None) == (None, {})
    assert parted({"step": 3}) == ({"step": 3}, {})
