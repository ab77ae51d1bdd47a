"""One image file of any kind becomes bytes of one shape."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from distpu.datasets import decode
from distpu.datasets.decode import decoded, header, is_image_name

RAMP = np.tile(np.arange(0, 256, 16, dtype=np.uint8), (16, 1))  # dark on the left, bright on the right


def colour():
    return Image.fromarray(np.dstack([RAMP, RAMP.T, 255 - RAMP]))


@pytest.mark.parametrize("kind", ["png", "bmp", "tiff", "webp", "gif", "jpg"])
@pytest.mark.parametrize("channels", [1, 3])
def test_formats(kind, channels, tmp_path):
    path = tmp_path / f"a.{kind}"
    image = colour()
    image.save(path, **{"webp": {"lossless": True}, "jpg": {"quality": 100, "subsampling": 0}}.get(kind, {}))
    found = decoded(path, (channels, 16, 16))
    wanted = np.asarray(image.convert("L"))[None] if channels == 1 else np.asarray(image).transpose(2, 0, 1)
    far = {"gif": 30, "jpg": 12}.get(kind, 0)
    assert found.dtype == np.uint8 and found.shape == (channels, 16, 16)
    assert np.abs(found.astype(int) - wanted).max() <= far
    assert header(path) == (16, 16, False)


def test_the_first_frame_of_a_gif(tmp_path):
    frames = [Image.new("L", (8, 8), shade) for shade in (10, 200)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert (decoded(tmp_path / "a.gif", (1, 8, 8)) == 10).all()


@pytest.mark.parametrize("top", [65535, 4200, 4000, 300, 200])
def test_sixteen_bits_keep_the_order_of_brightness(top, tmp_path):
    """All images are shifted alike, whatever their own brightest pixel is."""
    wide = np.linspace(0, top, 64, dtype=np.uint16).reshape(8, 8)
    Image.fromarray(wide).save(tmp_path / "a.png")
    np.testing.assert_array_equal(decoded(tmp_path / "a.png", (1, 8, 8))[0], wide >> 8)
    assert header(tmp_path / "a.png")[2]


def test_floats_from_0_to_1(tmp_path):
    Image.fromarray(np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)).save(tmp_path / "a.tiff")
    found = decoded(tmp_path / "a.tiff", (1, 8, 8))
    assert (found.min(), found.max()) == (0, 255)


def test_transparent_parts_lie_on_white(tmp_path):
    clear = np.zeros((8, 8, 4), np.uint8)
    clear[:4] = [255, 0, 0, 255]
    Image.fromarray(clear).save(tmp_path / "a.png")
    Image.fromarray(clear).quantize().save(tmp_path / "b.png")  # a palette with a transparent colour
    for name in ("a.png", "b.png"):
        found = decoded(tmp_path / name, (3, 8, 8))
        assert (found[:, 4:] == 255).all() and found[0, 0, 0] > 250 and found[1, 0, 0] < 5, name


def test_cmyk(tmp_path):
    Image.new("CMYK", (8, 8), (0, 255, 255, 0)).save(tmp_path / "a.jpg", quality=100)  # red
    red, green, blue = decoded(tmp_path / "a.jpg", (3, 8, 8)).mean((1, 2))
    assert red > 240 and green < 20 and blue < 20


def test_the_camera_was_turned(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees to the right
    Image.fromarray(RAMP).save(tmp_path / "a.png", exif=exif)
    np.testing.assert_array_equal(decoded(tmp_path / "a.png", (1, 16, 16))[0], np.rot90(RAMP, -1))
    Image.fromarray(RAMP.astype(np.uint16) * 257).save(tmp_path / "b.tiff", exif=exif)
    np.testing.assert_array_equal(decoded(tmp_path / "b.tiff", (1, 16, 16))[0], np.rot90(RAMP, -1))


def test_the_middle_is_kept_with_its_aspect(tmp_path):
    wide = np.full((10, 30), 50, np.uint8)
    wide[:, 10:20] = 200
    Image.fromarray(wide).save(tmp_path / "a.png")
    assert (decoded(tmp_path / "a.png", (1, 10, 10)) == 200).all()
    Image.fromarray(wide.T).save(tmp_path / "b.png")
    assert decoded(tmp_path / "b.png", (1, 20, 20))[0, 2:-2].min() == 200  # scaled up, blurred at the edge


def test_a_grey_palette_is_grey(tmp_path):
    Image.fromarray(RAMP).convert("P").save(tmp_path / "a.png")
    assert header(tmp_path / "a.png") == (16, 16, True)


def test_what_cannot_be_used_has_a_reason(tmp_path):
    (tmp_path / "empty.png").touch()
    (tmp_path / "text.png").write_text("hello")
    colour().resize((300, 300)).save(tmp_path / "whole.png")
    whole = (tmp_path / "whole.png").read_bytes()
    (tmp_path / "torn.png").write_bytes(whole[: len(whole) // 2])
    reasons = {p.stem: decoded(p, (3, 8, 8)) for p in tmp_path.iterdir() if p.stem != "whole"}
    assert reasons["empty"] == "the file is empty"
    assert reasons["text"] == "it is no image that Pillow knows"
    assert "truncated" in reasons["torn"]
    assert decoded(tmp_path / "gone.png", (3, 8, 8)) == "No such file or directory"


def test_a_bomb_is_not_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    colour().save(tmp_path / "a.png")
    assert decoded(tmp_path / "a.png", (3, 8, 8)) == "it has more than 200 pixels"


def test_names_of_images():
    assert [is_image_name(name) for name in ("a.PNG", "b/c.jpeg", "._a.jpg", "a.txt", "png")] == [1, 1, 0, 0, 0]


def test_pixels_in_flight_are_bounded(tmp_path, monkeypatch):
    """Large images wait for each other, small ones are decoded side by side; one of any size has its turn."""
    together, most, real = 0, {}, decode._scaled

    def counted(image, shape):
        nonlocal together
        together += 1
        most[image.width] = max(most.get(image.width, 0), together)
        time.sleep(0.05)
        together -= 1
        return real(image, shape)

    monkeypatch.setattr(decode, "_scaled", counted)
    monkeypatch.setattr(decode, "ROOM", decode.Room(1000))
    for side in (10, 30, 90):
        Image.new("L", (side, side), side).save(tmp_path / f"{side}.png")
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda path: decoded(path, (1, 8, 8)), [tmp_path / f"{side}.png"] * 4))
        assert all((one == side).all() for one in found)
    assert most[10] > 1 and most[30] == most[90] == 1


def test_a_large_transparent_image_is_laid_on_white_in_strips(tmp_path):
    """The strips have no seams, and no copy of the whole is made beside the image and the result."""
    pixels = np.random.default_rng(0).integers(0, 256, (2 * decode.STRIP + 9, 40, 4), dtype=np.uint8)
    image = Image.fromarray(pixels)
    white = Image.new("RGBA", image.size, "white")
    white.alpha_composite(image)
    np.testing.assert_array_equal(np.asarray(decode._on_white(image)), np.asarray(white.convert("RGB")))
