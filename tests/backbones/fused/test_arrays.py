"""Tensors and arrays share their memory, whatever has to be said about their order."""

import numpy as np
import torch

from towpath.backbones.fused.arrays import LAST, channels_last, like, numbers, room_for


def test_an_array_is_a_view_of_the_tensor_with_channels_last():
    x = torch.randn(2, 3, 4, 5, requires_grad=True).contiguous(memory_format=LAST)
    array = channels_last(x)
    assert array.shape == (2, 4, 5, 3)
    assert array.flags.c_contiguous
    array[1, 2, 3, 0] = 7.0
    assert float(x.detach()[1, 0, 2, 3]) == 7.0


def test_numbers_of_a_strided_vector_are_contiguous():
    vector = torch.arange(6.0)[::2]
    assert numbers(vector).tolist() == [0.0, 2.0, 4.0]
    assert numbers(vector).flags.c_contiguous


def test_there_is_room_for_a_quarter_of_the_pixels():
    x = torch.zeros(2, 3, 7, 6, dtype=torch.float64)
    room = room_for(x, 5)
    assert (room.shape, room.dtype) == ((2, 5, 3, 3), torch.float64)
    assert room.is_contiguous(memory_format=LAST)


def test_numbers_come_back_in_the_dtype_of_the_parameter():
    array = np.array([0.1, 0.2])
    assert like(array, torch.zeros(2)).dtype == torch.float32
    same = like(array, torch.zeros(2, dtype=torch.float64))
    assert same.tolist() == [0.1, 0.2]
