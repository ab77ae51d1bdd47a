"""Random views of images: crop, flip, one affine warp, colour, cutout. All of it is tensor arithmetic on the device.

Every row has its own random parameters, drawn from torch's generator: a seed gives the same views, and so does a run
that was killed and resumed. Nothing is read back, and no rows are picked by a mask, so that a recorded step can hold a
view. Each operation is a function of given parameters; a View draws the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

RED, GREEN, BLUE = 0.299, 0.587, 0.114
YIQ = np.array([[RED, GREEN, BLUE], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
TO_RGB = np.linalg.inv(YIQ).tolist()  # numbers, not tensors: a recorded step cannot copy a tensor from the host
SMALL = 48  # pixels: a grey image up to this size is taken for a drawing such as a digit, a larger one for a scan

# ------------------------------------------------------------------ geometry


def crop(x: Tensor, top: Tensor, left: Tensor, pad: int) -> Tensor:
    """Pad by reflection and cut the size of the image out again. An offset of `pad` changes nothing."""
    rows, columns = (
        reflected(start.view(-1, 1) + torch.arange(size, device=x.device) - pad, size)
        for start, size in ((top, x.shape[2]), (left, x.shape[3]))
    )
    x = x.gather(2, rows[:, None, :, None].expand_as(x))
    return x.gather(3, columns[:, None, None, :].expand_as(x))


def reflected(i: Tensor, size: int) -> Tensor:
    """Return the place of each index inside: -1 -> 1, size -> size - 2. The edge is not repeated."""
    return size - 1 - (size - 1 - i.abs()).abs()


def flip(x: Tensor, flipped: Tensor) -> Tensor:
    return torch.where(per_row(flipped), x.flip(-1), x)


def warp(x: Tensor, matrix: Tensor) -> Tensor:
    """Take each pixel from where its row's (2, 3) matrix points. Places run from -1 to 1; the border reflects."""
    grid = affine_grid(matrix, list(x.shape), align_corners=False)
    return grid_sample(x, grid, mode="bilinear", padding_mode="reflection", align_corners=False)


def affine(turn: Tensor, scale: Tensor, shear: Tensor, across: Tensor, down: Tensor) -> Tensor:
    """Return matrices (n, 2, 3): scale times rotation by `turn` radians, sheared, then shifted."""
    c, s = scale * turn.cos(), scale * turn.sin()
    return torch.stack([c, shear * c - s, across, s, shear * s + c, down], 1).view(-1, 2, 3)


def resized_crop(area: Tensor, log_ratio: Tensor, across: Tensor, down: Tensor) -> Tensor:
    """Return matrices that magnify a part of the image: its area, its log side ratio, its place from -1 to 1."""
    wide, high = ((area * (sign * log_ratio).exp()).sqrt().clamp(max=1) for sign in (1, -1))
    zero = torch.zeros_like(wide)
    return torch.stack([wide, zero, across * (1 - wide), zero, high, down * (1 - high)], 1).view(-1, 2, 3)


def cutout(x: Tensor, top: Tensor, left: Tensor, side: Tensor, fill: float) -> Tensor:
    """Cover a square of side x side pixels in every channel."""

    def inside(start: Tensor, size: int) -> Tensor:
        at = torch.arange(size, device=x.device)
        return (at >= start.view(-1, 1)) & (at < (start + side).view(-1, 1))

    covered = inside(top, x.shape[2])[:, None, :, None] & inside(left, x.shape[3])[:, None, None, :]
    return torch.where(covered, fill, x)


# -------------------------------------------------------------- colour, 0 to 1


def grey(x: Tensor) -> Tensor:
    """Return the brightness of each pixel, (n, 1, h, w)."""
    if x.shape[1] != 3:
        return x.mean(1, keepdim=True)
    return RED * x[:, :1] + GREEN * x[:, 1:2] + BLUE * x[:, 2:]


def brightness(x: Tensor, factor: Tensor) -> Tensor:
    return (x * per_row(factor)).clamp(0, 1)


def contrast(x: Tensor, factor: Tensor) -> Tensor:
    """Stretch about the image's mean brightness."""
    return torch.lerp(grey(x).mean((1, 2, 3), keepdim=True), x, per_row(factor)).clamp(0, 1)


def saturation(x: Tensor, factor: Tensor) -> Tensor:
    """Stretch about the brightness of each pixel; 0 makes the image grey."""
    return torch.lerp(grey(x), x, per_row(factor)).clamp(0, 1)


def hue(x: Tensor, turn: Tensor) -> Tensor:
    """Rotate the colour in YIQ by `turn` whole circles, which keeps the brightness. HSV's hue is another one."""
    y, i, q = (_combined(x, weights) for weights in YIQ.tolist())
    c, s = (2 * math.pi * turn).cos().view(-1, 1, 1), (2 * math.pi * turn).sin().view(-1, 1, 1)
    turned = torch.stack([y, c * i - s * q, s * i + c * q], 1)
    return torch.stack([_combined(turned, weights) for weights in TO_RGB], 1).clamp(0, 1)


def _combined(x: Tensor, weights: list[float]) -> Tensor:
    return weights[0] * x[:, 0] + weights[1] * x[:, 1] + weights[2] * x[:, 2]


def per_row(values: Tensor) -> Tensor:
    return values.view(-1, 1, 1, 1)


# --------------------------------------------------------------- random views


@dataclass(frozen=True)
class View:
    """A random view as numbers. A length is a share of the image's size. A part at its default is left out."""

    shift: float = 0.0  # crop after padding: at most this far, by whole pixels
    flip: bool = False  # half of the rows, left to right
    area: float = 1.0  # a part of the image of at least this share of its area, magnified; replaces the warp
    warped: float = 0.0  # share of the rows that are warped, by at most:
    turn: float = 0.0  # radians
    scale: float = 0.0
    shear: float = 0.0
    move: float = 0.0
    coloured: float = 0.0  # share of the rows whose colour changes, by a factor from 1 - a to 1 + a:
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    hue: float = 0.0  # circles
    grey: float = 0.0  # share of the rows that become grey
    solarised: float = 0.0  # share of the rows whose bright half is inverted
    hole: tuple[float, float] = (0.0, 0.0)  # least and largest side of a covered square
    low: float = 0.0  # the darkest value of a pixel,
    high: float = 255.0  # the brightest,
    fill: float = 127.5  # and what a hole is filled with: the mean

    def __call__(self, x: Tensor) -> Tensor:
        if self.shift:
            pad = max(1, round(self.shift * min(x.shape[2:])))
            top, left = (torch.randint(0, 2 * pad + 1, (len(x),), device=x.device) for _ in range(2))
            x = crop(x, top, left, pad)
        if self.flip:
            x = flip(x, chance(x, 0.5))
        if self.area < 1 or self.warped:
            x = warp(x, self._matrix(x))
        if self.coloured or self.grey or self.solarised:
            unit = (x - self.low) / (self.high - self.low)
            x = self.low + (self.high - self.low) * self._coloured(unit)
        if self.hole[1]:
            x = self._with_hole(x)
        return x

    def _matrix(self, x: Tensor) -> Tensor:
        across, down = symmetric(x), symmetric(x)
        if self.area < 1:
            area = self.area + (1 - self.area) * torch.rand(len(x), device=x.device)
            return resized_crop(area, math.log(4 / 3) * symmetric(x), across, down)
        on = chance(x, self.warped).float()
        turn, scale, shear = on * self.turn * symmetric(x), 1 + on * self.scale * symmetric(x), on * symmetric(x)
        return affine(turn, scale, self.shear * shear, 2 * self.move * on * across, 2 * self.move * on * down)

    def _coloured(self, x: Tensor) -> Tensor:
        on = chance(x, self.coloured).float()
        rgb = x.shape[1] == 3
        if self.brightness:
            x = brightness(x, 1 + on * self.brightness * symmetric(x))
        if self.contrast:
            x = contrast(x, 1 + on * self.contrast * symmetric(x))
        if self.saturation and rgb:
            x = saturation(x, 1 + on * self.saturation * symmetric(x))
        if self.hue and rgb:
            x = hue(x, on * self.hue * symmetric(x))
        if self.grey and rgb:
            x = saturation(x, 1 - chance(x, self.grey).float())
        if self.solarised:
            x = torch.where(per_row(chance(x, self.solarised)) & (x > 0.5), 1 - x, x)
        return x

    def _with_hole(self, x: Tensor) -> Tensor:
        size = min(x.shape[2:])
        least, most = (max(1, round(share * size)) for share in self.hole)
        side = torch.randint(least, most + 1, (len(x),), device=x.device)
        top, left = ((torch.rand(len(x), device=x.device) * (n - side + 1)).long() for n in x.shape[2:])
        return cutout(x, top, left, side, self.fill)


def chance(x: Tensor, share: float) -> Tensor:
    """Return True with this probability, for each row of x."""
    return torch.rand(len(x), device=x.device) < share


def symmetric(x: Tensor) -> Tensor:
    """Return a random number between -1 and 1 for each row of x."""
    return 2 * torch.rand(len(x), device=x.device) - 1


@dataclass(frozen=True)
class Views:
    """Kinds of views that methods ask for. A method that asks for none is shown `weak` ones."""

    weak: Callable[[Tensor], Tensor]  # keeps what is seen: shifts and flips
    strong: Callable[[Tensor], Tensor]  # warps, colours, covers: for consistency
    part: Callable[[Tensor], Tensor]  # a magnified part: what contrastive methods classify
    pair: Callable[[Tensor], Tensor]  # a magnified part in other colours: what contrastive methods compare


def unchanged(x: Tensor) -> Tensor:
    return x


PLAIN = Views(unchanged, unchanged, unchanged, unchanged)

_MOVED = View(shift=1 / 8, flip=True)
_PART = View(area=0.2, flip=True)
_SCAN = View(flip=True, warped=1.0, turn=0.17, scale=0.1, move=0.06, coloured=1.0, brightness=0.2, contrast=0.2)
KINDS = {
    "photo": Views(
        weak=_MOVED,
        strong=replace(
            _MOVED, warped=0.5, turn=0.5, scale=0.2, shear=0.3, coloured=0.8, brightness=0.4, contrast=0.4,
            saturation=0.4, hue=0.1, grey=0.1, solarised=0.1, hole=(1 / 4, 1 / 2),
        ),
        part=_PART,
        pair=replace(_PART, coloured=0.8, brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1, grey=0.2),
    ),
    "drawing": Views(  # a mirrored or much turned digit is another one
        weak=View(shift=1 / 14),
        strong=View(shift=1 / 9, warped=1.0, turn=0.17, coloured=1.0, brightness=0.2, contrast=0.4, hole=(0.28, 0.28)),
        part=View(area=0.6),
        pair=View(area=0.6, coloured=0.8, brightness=0.4, contrast=0.4),
    ),
    "scan": Views(
        weak=View(shift=1 / 32, flip=True),
        strong=replace(_SCAN, turn=0.35, brightness=0.4, contrast=0.4, hole=(0.2, 0.28)),
        part=View(area=0.6, flip=True),
        pair=replace(_SCAN, brightness=0.4, contrast=0.4),
    ),
}  # fmt: skip


def kind_of(x: np.ndarray) -> str:
    """Return the kind of images: 'photo' for colour, else 'drawing' up to SMALL pixels, else 'scan'."""
    coloured = x.shape[1] == 3 and bool((x[:256, 0] != x[:256, 1]).any())
    return "photo" if coloured else "drawing" if max(x.shape[2:]) <= SMALL else "scan"


def views_for(told: Any, x: np.ndarray) -> Views:
    """Return the views that `views=` asks for: 'auto' by the kind of images, 'none', Views, or one function for all.

    'weak' shows weak views where a method asks for strong ones. Tables have no views.
    """
    if isinstance(told, Views):
        return told
    if callable(told):
        return Views(told, told, told, told)
    if told == "none" or x.ndim != 4:
        return PLAIN
    some = x[:: max(1, len(x) // 1000)].astype(np.float64)
    low, high = (0.0, 255.0) if x.dtype == np.uint8 else (float(some.min()), float(some.max()))
    values = dict(low=low, high=high if high > low else low + 1, fill=float(some.mean()))
    found = Views(**{name: replace(view, **values) for name, view in vars(KINDS[kind_of(x)]).items()})
    return replace(found, strong=found.weak) if told == "weak" else found


def check_views(told: Any) -> None:
    if not (callable(told) or isinstance(told, Views) or told in ("auto", "weak", "none")):
        raise ValueError(
            f"views={told!r} must be 'auto', 'weak', 'none', or a function that takes a batch of images and returns one"
        )
