import numpy as np

from towpath.data.glyph_drawing import SIZE, Hand, draw_character
from towpath.data.glyph_shapes import pen_distances


def test_drawings_depend_on_the_seed_and_on_nothing_else():
    first = draw_character("ж", 20, seed=0)
    draw_character("я", 20, seed=0)
    assert np.array_equal(first, draw_character("ж", 20, seed=0))
    assert not np.array_equal(first, draw_character("ж", 20, seed=1))


def test_a_hand_that_does_not_vary_leaves_only_the_face_and_the_pen():
    still = Hand(0, 0, 0, 0, 0, 0, pen=(0.06, 0.06), pressure=0)
    drawn = draw_character("I", 20, hand=still)
    faces = len(pen_distances("I"))
    assert drawn.shape == (20, SIZE, SIZE)
    assert len(np.unique(drawn.reshape(20, -1), axis=0)) <= faces
    assert len(np.unique(draw_character("I", 20).reshape(20, -1), axis=0)) == 20
