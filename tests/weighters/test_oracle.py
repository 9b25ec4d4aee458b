import pytest
import torch

from towpath import MiniBatch, Oracle


def weights_of(infos):
    M = len(infos)
    return Oracle().weights(MiniBatch(torch.rand(M), torch.zeros(M, 2), infos), {})[0].tolist()


def test_the_oracle_drops_what_is_marked_and_nothing_else():
    infos = [{"mislabelled": True}, {"mislabelled": False}, {}]
    assert weights_of(infos) == [0.0, 0.5, 0.5]
    assert weights_of(infos[:1]) == [0.0]


def test_the_oracle_drops_tasks_that_are_off_target():
    infos = [{"off_target": True, "mislabelled": False}, {"off_target": False}, {}]
    assert weights_of(infos) == [0.0, 0.5, 0.5]


def test_the_oracle_weighs_by_right_labels_where_noise_is_in_nearly_every_task():
    wrong = [0.25, 0.75, 0.0, 1.0]
    infos = [{"noise": "images", "mislabelled": w > 0, "wrong": w} for w in wrong]
    assert weights_of(infos) == pytest.approx([0.375, 0.125, 0.5, 0.0])
    flipped = [{**info, "noise": "flip"} for info in infos]
    assert weights_of(flipped) == [0.0, 0.0, 1.0, 0.0]
    assert weights_of(infos[1:2]) == [1.0]  # a lone task trains, however little of it is right
