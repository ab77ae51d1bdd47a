"""One image file -> bytes of a fixed shape. Pillow is imported where it is used."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..params import need

# Files in a folder that are taken for images. Pillow looks at the content, whatever the name says.
SUFFIXES = frozenset(
    ".png .jpg .jpeg .jpe .jfif .gif .bmp .dib .tif .tiff .webp .ppm .pgm .pbm .pnm .jp2 .avif".split()
)
GREY = ("1", "L", "LA", "La", "I", "F")  # Pillow's modes without colour; I;16 and its like begin with I
STRIP = 256  # rows of an image that are laid on white at once


class Room:
    """Bounds the pixels that all threads decode at once. An image of more pixels than that is decoded alone."""

    def __init__(self, most: int):
        self.most, self.taken, self.changed = most, 0, threading.Condition()

    @contextmanager
    def for_pixels(self, pixels: int) -> Iterator[None]:
        pixels = min(pixels, self.most)
        with self.changed:
            self.changed.wait_for(lambda: self.taken + pixels <= self.most)
            self.taken += pixels
        try:
            yield
        finally:
            with self.changed:
                self.taken -= pixels
                self.changed.notify_all()


ROOM = Room(2**26)  # pixels; Pillow takes 4 bytes for each and needs up to three copies


class Passing(str):
    """Why an image cannot be used, where the reason lies outside its content, such as a lost network: try it again."""


def is_image_name(name: str) -> bool:
    return Path(name).suffix.lower() in SUFFIXES and not Path(name).name.startswith(".")  # macOS writes ._name.jpg


def pillow() -> Any:
    return need("PIL.Image", "images", "reading images")


def header(path: Path) -> tuple[int, int, bool]:
    """Return the width, the height and whether the image is grey. Only the head of the file is read."""
    if not path.is_file():  # a pipe would wait for ever
        raise ValueError(f"{path} is no file")
    with pillow().open(path) as image:
        return *image.size, _is_grey(image)


def _is_grey(image: Any) -> bool:
    if image.mode == "P":
        palette = np.array(image.getpalette() or [0, 0, 0], dtype=np.uint8).reshape(-1, 3)
        return bool((palette == palette[:, :1]).all())
    return image.mode in GREY or image.mode.startswith("I;")


def is_wide(path: Path) -> bool:
    """Whether an image has more than 8 bits, of which decoding keeps those above the lowest 8."""
    with pillow().open(path) as image:
        return bool(image.mode.startswith("I"))


def decoded(path: Path, shape: tuple[int, ...]) -> np.ndarray | str:
    """Return the first frame of an image as bytes of shape (channels, height, width), or why it cannot be used."""
    try:
        if not path.stat().st_size:
            return "the file is empty"
        with pillow().open(path) as image:
            return _bytes(image, shape)
    except Exception as error:  # a damaged image fails in more ways than can be listed
        passing = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None)
        return Passing(_reason(error)) if passing else _reason(error)


def _bytes(image: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Decode an image when there is room for its pixels."""
    if image.format == "JPEG":  # a large JPEG is decoded at 1/2, 1/4 or 1/8 of its size
        side = 2 * max(shape[1:])
        image.draft(None, (side, side))
    with ROOM.for_pixels(image.width * image.height):
        return _scaled(image, shape)


def _scaled(image: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The image upright, the middle of it scaled to the shape: the aspect is kept, what overhangs is cut off."""
    from PIL import ImageOps

    channels, height, width = shape
    image = _eight_bits(image)
    ImageOps.exif_transpose(image, in_place=True)
    image = _on_white(image)
    mode = "L" if channels == 1 else "RGB"
    image = image if image.mode == mode else image.convert(mode)  # convert would copy it
    scale = min(image.width / width, image.height / height)
    w, h = scale * width, scale * height
    left, top = (image.width - w) / 2, (image.height - h) / 2
    box = (max(left, 0.0), max(top, 0.0), min(left + w, image.width), min(top + h, image.height))
    if image.size != (width, height):
        image = image.resize((width, height), pillow().Resampling.BILINEAR, box=box, reducing_gap=3.0)
    array = np.asarray(image)
    if channels == 1:
        return array[None]
    return array.transpose(2, 0, 1)


def _eight_bits(image: Any) -> Any:
    """Return an image of 16 or 32 bits as one of 8 bits: Pillow itself would cut all high values to white."""
    if image.mode == "F":
        array = np.nan_to_num(np.asarray(image))
        array = array * 255 if array.size and array.max() <= 1 else array
    elif image.mode.startswith("I"):
        array = np.asarray(image) >> 8  # one shift for all images: else a dark one could become the brighter one
    else:
        return image
    small = pillow().fromarray(array.clip(0, 255).astype(np.uint8))
    if orientation := image.getexif().get(0x0112):
        small.getexif()[0x0112] = orientation
    return small


def _on_white(image: Any) -> Any:
    """Lay an image with transparent parts on white. What a file stores under a transparent pixel is left to chance."""
    clear = "transparency" in image.info or image.mode in ("LA", "La", "PA", "RGBA", "RGBa")
    if not clear:
        return image
    laid = pillow().new("RGB", image.size)
    for top in range(0, image.height, STRIP):  # whole, it would take four copies of a large image
        strip = image.crop((0, top, image.width, min(top + STRIP, image.height))).convert("RGBA")
        white = pillow().new("RGBA", strip.size, "white")
        white.alpha_composite(strip)
        laid.paste(white.convert("RGB"), (0, top))
    return laid


def _reason(error: Exception) -> str:
    """Say in a few words why an image cannot be used."""
    Image = pillow()
    if isinstance(error, Image.DecompressionBombError):
        return f"it has more than {2 * Image.MAX_IMAGE_PIXELS:,} pixels"
    if isinstance(error, Image.UnidentifiedImageError):
        return "it is no image that Pillow knows"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__
