import numpy as np

from towpath.data.glyph_shapes import FACES, face_path, faces_of, pen_distances, printed, thinned


def test_only_faces_of_the_family_are_drawn_from():
    assert all(face.startswith("DejaVu") and face_path(face).is_file() for face in FACES)
    assert not any("LastResort" in face for face in FACES)
    # A code point that LastResort would answer with a placeholder has no face here.
    assert faces_of("\U0001e900") == []


def test_thinning_keeps_a_cross_a_cross_one_pixel_wide():
    cross = np.zeros((1, 32, 32), dtype=bool)
    cross[0, 13:18, 4:28] = True
    cross[0, 4:28, 13:18] = True
    line = thinned(cross)[0]
    assert line[15, 8]
    assert line[8, 15]
    assert line[:, 8].sum() == line[8].sum() == 1
    assert not (line & ~cross[0]).any()


def test_the_pen_follows_the_printed_character():
    field = pen_distances("L")[0]
    shape = printed("L", "DejaVuSans.ttf")
    assert (field[~shape] > 0).all()
    assert (field == 0).sum() > 40
