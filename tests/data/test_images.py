import contextlib
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.data.makers import encoded, picture
from towpath.data.errors import DataError
from towpath.data.images import decode, is_grey, is_image_name


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("1", "PNG"),
        ("L", "PNG"),
        ("LA", "PNG"),
        ("P", "PNG"),
        ("P", "GIF"),
        ("RGB", "JPEG"),
        ("RGB", "WEBP"),
        ("RGB", "BMP"),
        ("RGBA", "PNG"),
        ("CMYK", "JPEG"),
        ("YCbCr", "JPEG"),
        ("I", "TIFF"),
        ("F", "TIFF"),
    ],
)
@pytest.mark.parametrize("channels", [1, 3])
def test_every_mode_becomes_bytes_of_the_asked_shape(mode, kind, channels):
    content = encoded(picture(0, mode, (17, 11)), kind)
    pixels = decode(content, "a.png", (8, 9), channels)
    assert pixels.shape == (channels, 8, 9)
    assert pixels.dtype == np.uint8


def test_pixels_of_the_right_size_are_kept_as_they_are():
    image = picture(1, "RGB", (6, 5))
    pixels = decode(encoded(image), "a.png", (5, 6), 3)
    assert np.array_equal(pixels.transpose(1, 2, 0), np.asarray(image))


def test_sixteen_bits_are_scaled_not_clipped():
    values = np.array([[0, 257 * 100], [257 * 200, 65535]], dtype=np.uint16)
    stream = io.BytesIO()
    Image.fromarray(values).save(stream, "PNG")
    pixels = decode(stream.getvalue(), "deep.png", (2, 2), 1)
    assert pixels[0].tolist() == [[0, 100], [200, 255]]


def test_transparency_becomes_white():
    clear = Image.new("RGBA", (4, 4), (10, 20, 30, 0))
    assert (decode(encoded(clear), "clear.png", (4, 4), 3) == 255).all()


def test_a_turned_photograph_is_turned_back():
    image = Image.new("RGB", (8, 4), "black")
    image.paste("white", (0, 0, 8, 2))
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    stream = io.BytesIO()
    image.save(stream, "PNG", exif=exif)
    pixels = decode(stream.getvalue(), "turned.png", (4, 8), 1)
    assert pixels[0, 0].max() == 0
    assert pixels[0, 3].min() == 255


def test_grey_is_told_by_pixels_not_by_mode():
    assert is_grey(encoded(picture(0, "L")), "a")
    assert is_grey(encoded(picture(0, "L").convert("RGB")), "a")
    assert not is_grey(encoded(picture(0, "RGB")), "a")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "zero bytes"),
        (b"this is no image", "cannot be read as an image"),
        (encoded(picture(0, "RGB", (40, 40)))[:300], "cannot be read as an image"),
        (encoded(picture(0, "RGB", (40, 40)), "JPEG")[:200], "cannot be read as an image"),
    ],
)
def test_unreadable_files_are_named(content, message):
    with pytest.raises(DataError, match=f"'bad.png'.*{message}") as refusal:
        decode(content, "bad.png", (8, 8), 1)
    assert "BytesIO" not in str(refusal.value), "the stream is ours, the user knows the file"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "TGA"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damage_anywhere_is_a_clear_error_or_an_image(kind, data):
    raw = bytearray(encoded(picture(0, "RGB", (9, 7)), kind))
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([len(raw), len(raw), len(raw) // 2]))
    with contextlib.suppress(DataError):
        assert decode(bytes(raw[:cut]), "x", (8, 8), 3).shape == (3, 8, 8)


def test_a_picture_of_too_many_pixels_is_refused():
    bomb = encoded(Image.new("1", (20_000, 10_000)))
    with pytest.raises(DataError, match="more pixels than"):
        decode(bomb, "bomb.png", (8, 8), 1)


def test_endings_decide_what_is_tried_as_an_image():
    assert is_image_name("a/b.JPG")
    assert is_image_name("猫.webp")
    assert not is_image_name("notes.txt")
    assert not is_image_name("a.pdf")
    assert not is_image_name("png")
    assert not is_image_name("cache.pkl")


@pytest.mark.parametrize("kind", ["EPS", "PCX", "ICO", "TGA", "SGI", "PDF"])
def test_what_is_not_on_the_list_of_formats_is_refused_whatever_its_name(kind, monkeypatch):
    def started(*args, **options):
        raise AssertionError("another program was started to read an image")

    monkeypatch.setattr("subprocess.check_call", started)
    monkeypatch.setattr("subprocess.Popen", started)
    content = encoded(picture(0, "RGB", (16, 16)), kind)
    with pytest.raises(DataError, match="expected one of PNG, JPEG"):
        decode(content, "innocent.png", (8, 8), 3)
    assert not is_image_name(f"picture.{kind.lower()}")
