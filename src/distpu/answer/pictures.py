"""Images of a user's own: how large they are learnt, and how they are read for a fitted model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from .. import datasets
from ..datasets.header import header
from ..progress import tell

CPU_SIDE = 64  # pixels; larger images are scaled down to it where no GPU is found: training would take hours


def method_for(path: str | Path, label: str | None, images: str | None, looked: bool = False) -> str:
    """Return the method that --method auto stands for: for images its name, so that settings can be given; else auto.

    `images` is the column that names them, if the user says it.
    """
    if images is None and not datasets.is_image_folder(path) and not _only_names_images(path, label):
        return "auto"
    looked = looked or (Path(path).expanduser().is_dir() and datasets.has_looked_at(path))
    return "pubn" if looked else "dist-pu"  # Dist-PU cannot use rows that a person looked at


def in_folder(path: str | Path, size: int | None, strict: bool) -> datasets.Images:
    """Read the labelled images of a folder."""
    return _told(datasets.read_images(path, labelled=True, size=size, bound=_bounded, strict=strict))


def in_table(path: str | Path, column: str, label: str, size: int | None, strict: bool) -> datasets.Images:
    """Read the images that a column of a table names."""
    datasets.check_column(path, column)
    return _told(datasets.read_image_table(path, column, label, size=size, bound=_bounded, strict=strict))


def named_in(path: str | Path, label: str | None) -> str | None:
    """Return the column that names images, if a table has no other columns beside it and the label."""
    found, others = datasets.path_columns(path) if Path(path).expanduser().is_file() else ([], [])
    if len(found) == 1 and set(others) <= {label}:
        return found[0]
    for column in found:
        tell(f"column {column!r} holds paths of images; --images {column} learns the images instead of the table")
    return None


def _only_names_images(path: str | Path, label: str | None) -> bool:
    """Whether a table has one column of paths of images, and no other columns beside it and the label."""
    path = Path(path).expanduser()
    if not path.is_file() or max(map(len, header(path)), default=0) > 2:  # a large table is not looked through
        return False
    found, others = datasets.path_columns(path)
    return len(found) == 1 and set(others) <= {label}


def _told(images: datasets.Images) -> datasets.Images:
    tell(images.said)
    tell(images.what_is_broken)
    return images


def for_model(model: Any, path: str | Path, strict: bool = False) -> datasets.Images:
    """Read the images of a folder, or those that a table names, as a fitted model takes them."""
    shape = shape_of(model, path)
    if Path(path).expanduser().is_dir():
        images = datasets.read_images(path, labelled=False, shape=shape, strict=strict)
    else:
        found, _ = datasets.path_columns(path)
        if len(found) != 1:
            what = "several columns" if found else "no column"
            raise ValueError(
                f"{path} has {what} of paths of images that are there, but the model needs images; paths are relative "
                "to the table"
            )
        images = datasets.read_image_table(path, found[0], None, shape=shape, strict=strict)
    return _told(images)


def takes_images(model: Any, table: Path) -> bool:
    """Whether a fitted model takes images, and so a table of their paths."""
    if (shape := getattr(model, "shape_", None)) is not None:
        return len(shape) == 3
    return _shape_of_pixels(model) is not None and bool(datasets.path_columns(table)[0])


def shape_of(model: Any, path: str | Path) -> tuple[int, ...]:
    """Return (channels, height, width) of the images that a model was fitted on."""
    shape = getattr(model, "shape_", None)
    if shape is None:
        shape = _shape_of_pixels(model)
    if shape is None or len(shape) != 3:
        raise ValueError(f"{path} is a folder of images, but the model was fitted on a table; name a table")
    return tuple(shape)


def _shape_of_pixels(model: Any) -> tuple[int, ...] | None:
    """Return the shape of images of which a method for tables took each as one row of pixels; None if it cannot be."""
    width = getattr(model, "n_features_in_", 0)
    if hasattr(model, "feature_names_in_"):
        return None
    sides = {channels: math.isqrt(width // channels) for channels in (3, 1)}
    return next(((channels, side, side) for channels, side in sides.items() if channels * side**2 == width > 0), None)


def _bounded(side: int) -> int:
    """Return the side to which images of this side are scaled, if the user names none."""
    if side <= CPU_SIDE:
        return side
    import torch

    return side if torch.cuda.is_available() else CPU_SIDE
