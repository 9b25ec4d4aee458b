import torch

from towpath import MiniBatch, Oracle


def weights_of(infos):
    M = len(infos)
    return Oracle().weights(MiniBatch(torch.rand(M), torch.zeros(M, 2), infos), {})[0].tolist()


def test_the_oracle_drops_what_is_marked_and_nothing_else():
    infos = [{"mislabelled": True}, {"mislabelled": False}, {}]
    assert weights_of(infos) == [0.0, 0.5, 0.5]
    assert weights_of(infos[:1]) == [0.0]
