"""Pictures of a page on images: a contact sheet of the likeliest ones, and maps of what the model looks at."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files.run_folder import Json
from ..inputs import as_channels_first, layout_of

if TYPE_CHECKING:
    from .fitting import Answer

SHEET, MAPS = 24, 6  # pictures of each kind
LEAST, MOST = 96, 128  # pixels of a picture's side: small images are magnified, large ones reduced
PATCH, STEPS = 4, 8  # the patch that covers a part has 1/PATCH of the side, and stops at STEPS places along it
RED = np.array([255.0, 30.0, 0.0])
WORDS = (
    "Maps: a grey patch was moved over the image. Red marks the places where covering lowers the score most; what is "
    "red made the model call the image positive."
)


def sheet(answer: Answer, X: np.ndarray) -> Json:
    """Return the pictures as data: addresses with the id of each. X holds the rows that the model was fitted on."""
    rows = answer.ranked.index[:SHEET].to_numpy()
    names = [str(one) for one in answer.ranked["id"].head(SHEET)]
    probability = answer.ranked["probability"].head(SHEET).to_numpy()
    low, high = _range(X)

    def shown(row: int) -> np.ndarray:
        return _colours(X[row : row + 1], low, high)

    cells = [
        {"id": name, "src": _address(_scaled(shown(row))), "note": f"{p:.2f}"}
        for row, name, p in zip(rows, names, probability, strict=True)
    ]
    maps = []
    for row, name in list(zip(rows, names, strict=True))[:MAPS]:
        drop = occlusion(answer.model, X, int(row))
        picture = overlaid(shown(row), drop)
        maps.append(
            {"id": name, "src": _address(_scaled(picture)), "note": f"falls by up to {max(0.0, drop.max()):.1f}"}
        )
    return {"sheet": cells, "maps": maps, "words": WORDS}


def occlusion(model: Any, X: np.ndarray, row: int) -> np.ndarray:
    """Return how much the score of an image falls when a patch covers each of its pixels, (height, width).

    A pixel under several places of the patch gets their mean. The patch has the mean colour of some images.
    """
    layout = layout_of(X.shape)
    height, width = X.shape[2:] if layout == "NCHW" else X.shape[1:3]
    fill = X[:: max(1, len(X) // 200)].mean(axis=(0, 2, 3) if layout == "NCHW" else (0, 1, 2))
    if layout == "NCHW":
        fill = fill[:, None, None]
    places = [(top, left) for top in _stops(height) for left in _stops(width)]
    tall, wide = _patch(height), _patch(width)
    copies = np.repeat(X[row : row + 1], 1 + len(places), axis=0)
    for copy, (top, left) in zip(copies[1:], places, strict=True):
        part = slice(top, top + tall), slice(left, left + wide)
        copy[(..., *part) if layout != "NHWC" else part] = fill
    z = model.decision_function(copies)
    total, count = np.zeros((height, width)), np.zeros((height, width))
    for drop, (top, left) in zip(z[0] - z[1:], places, strict=True):
        total[top : top + tall, left : left + wide] += drop
        count[top : top + tall, left : left + wide] += 1
    return total / count


def _patch(side: int) -> int:
    return max(1, -(-side // PATCH))


def _stops(side: int) -> list[int]:
    """Where the patch stops, from one edge to the other."""
    return sorted({round(x) for x in np.linspace(0, side - _patch(side), STEPS)})


def overlaid(picture: np.ndarray, drop: np.ndarray) -> np.ndarray:
    """Return a picture in grey with red where the score falls; the largest fall is the reddest."""
    grey = picture.mean(axis=2, keepdims=True).repeat(3, axis=2)
    high = drop.max()
    share = (drop.clip(0, None) / high if high > 0 else np.zeros_like(drop))[..., None]
    return (grey * (1 - 0.7 * share) + RED * 0.7 * share).round().astype(np.uint8)


# --------------------------------------------------------------------- pictures


def _range(X: np.ndarray) -> tuple[float, float]:
    if X.dtype == np.uint8:
        return 0.0, 255.0
    some = X[:: max(1, len(X) // 200)]
    return float(some.min()), float(some.max())


def _colours(image: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return one image, shape (1, ...), as (height, width, 3) bytes."""
    x = as_channels_first(np.asarray(image, dtype=np.float64), layout_of(image.shape))[0]
    x = ((x - low) / ((high - low) or 1.0) * 255).clip(0, 255).round().astype(np.uint8)
    x = x[:3] if len(x) >= 3 else x[:1].repeat(3, axis=0)
    return x.transpose(1, 2, 0)


def _scaled(picture: np.ndarray) -> np.ndarray:
    """Magnify a small picture by a whole number, reduce a large one by the mean of blocks."""
    side = max(picture.shape[:2])
    if side < LEAST:
        times = -(-LEAST // side)
        return picture.repeat(times, axis=0).repeat(times, axis=1)
    block = -(-side // MOST)
    if block == 1:
        return picture
    height, width = (n // block * block for n in picture.shape[:2])
    blocks = picture[:height, :width].reshape(height // block, block, width // block, block, 3)
    return blocks.mean(axis=(1, 3)).round().astype(np.uint8)


def png(picture: np.ndarray) -> bytes:
    """Return the bytes of a PNG file for a picture of shape (height, width, 3), uint8."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width = picture.shape[:2]
    lines = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, -1)], axis=1)  # 0: no filter
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(lines.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def _address(picture: np.ndarray) -> str:
    return "data:image/png;base64," + base64.b64encode(png(picture)).decode()
