import unicodedata

from towpath.data.glyph_scripts import SCRIPTS
from towpath.data.glyph_shapes import faces_of


def test_every_character_is_a_letter_or_digit_that_the_first_face_holds():
    seen = set()
    for script in SCRIPTS.values():
        for character in script.characters:
            assert unicodedata.category(character)[0] in "LN"
            assert faces_of(character)[0] == "DejaVuSans.ttf"
            seen.add(character)
    assert len(seen) == sum(len(script.characters) for script in SCRIPTS.values())
