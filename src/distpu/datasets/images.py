"""Reads a user's own images: a folder with positive/ and unlabeled/, any folder of images, or a table of paths."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .cache import read_cached
from .decode import header, is_image_name, is_wide, pillow

# Folder name -> label. Images that a person looked at because a model ranked them high have labels of their own.
LABELS = {"positive": 1, "unlabeled": 0, "unlabelled": 0, "negative": -1, "found": 2}
LOOKED_AT_LABELS = (-1, 2)
SIZES = (28, 32, 64, 96, 128, 224)  # sides; images between two of them are scaled to the nearer one
LEAST_SIZE, MOST_SIZE = 8, 1024
LOOKED_AT = 2000  # files whose heads decide the size and the channels
TABLES = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".arrow", ".feather", ".xlsx")
DARK = 2**4  # 12 bits without the lowest 8
TOO_DARK = (
    "the images of 16 bits hold no value above 4,095, and are nearly black; save them again with values up to 65,535"
)
SHOWN = 3  # broken files that are named in a line
LAYOUT = "put the known positives into positive/ and the others into unlabeled/"


@dataclass(frozen=True)
class Images:
    """Images as bytes, with the name of each, and the files that could not be read."""

    x: np.ndarray  # (n, channels, height, width), uint8; a memory map
    y: np.ndarray | None  # the labels of LABELS, or the values of a table's column
    names: list[str]  # paths as in the table, or relative to the folder
    broken: list[tuple[str, str]] = field(default_factory=list)  # name, why it cannot be used
    said: str = ""  # what was read and how it was scaled, in a sentence or two
    key: str = ""  # a checksum of the files' names, sizes and times

    @property
    def identity(self) -> str:
        """A checksum of which images these are. A file that is mended, or that can be read again, gives another one."""
        return hashlib.sha256(json.dumps([self.key, *self.names]).encode()).hexdigest()

    @property
    def what_is_broken(self) -> str:
        """The first broken files with their reasons, and how many there are, as a line; '' if there are none."""
        if not self.broken:
            return ""
        shown = "; ".join(f"{name}: {why}" for name, why in self.broken[:SHOWN])
        more = f"; and {len(self.broken) - SHOWN} more" if len(self.broken) > SHOWN else ""
        return f"{len(self.broken)} image{'s' * (len(self.broken) > 1)} cannot be read ({shown}{more})"


def is_image_folder(path: str | Path) -> bool:
    """Whether a path is a folder of images and not of tables: by its folders' names, else by its first known file.

    A folder without either counts as one of images; reading it says that it has none.
    """
    path = Path(path).expanduser()
    if not path.is_dir():
        return False
    if any(place.name.lower() in LABELS for place in _folders(path)):
        return True
    for _, inside, files in os.walk(path):
        inside[:] = sorted(name for name in inside if not name.startswith((".", "_")))
        for name in sorted(files):
            if is_image_name(name):
                return True
            if name.lower().endswith(TABLES) and not name.startswith((".", "_")):
                return False
    return True


def has_looked_at(folder: str | Path) -> bool:
    """Whether a folder holds images that a person looked at: in negative/ or found/."""
    return any(LABELS.get(place.name.lower()) in LOOKED_AT_LABELS for place in _folders(Path(folder).expanduser()))


def read_folder(
    folder: str | Path,
    *,
    labelled: bool,
    size: int | None = None,
    shape: tuple[int, ...] | None = None,
    bound: Callable[[int], int] = int,
    strict: bool = False,
) -> Images:
    """Return the images of a folder, sorted by their paths.

    labelled  the folder must hold positive/ and unlabeled/ (and may hold negative/ and found/), which give y
    size      the side in pixels; by default it follows from the images' own sizes; `bound` may lower it
    shape     (channels, height, width) of a fitted model, instead of a size
    strict    a file that cannot be read is an error
    """
    folder = Path(folder).expanduser()
    if labelled:
        names, y = _labelled_names(folder)
    else:
        names, y = sorted(_names_in(folder)), None
        if not names:
            raise ValueError(f"{folder} holds no images; name a folder with PNG, JPEG or other image files")
    return read_files(folder, names, y, size=size, shape=shape, bound=bound, strict=strict)


def read_files(
    root: Path,
    names: Sequence[str],
    y: np.ndarray | None = None,
    *,
    size: int | None = None,
    shape: tuple[int, ...] | None = None,
    bound: Callable[[int], int] = int,
    strict: bool = False,
) -> Images:
    """Return the images of these names, which are relative to `root` or absolute, in this order."""
    pillow()
    files = [root / name for name in names]
    said = ""
    if shape is None:
        shape, said = _shape_for(root, files, size, bound)
    x, why, key = read_cached(files, shape)
    broken = [(names[i], why[i]) for i in sorted(why)]
    good = [i for i in range(len(names)) if i not in why]
    if good and x[:LOOKED_AT].max() < DARK and is_wide(files[good[0]]):
        said = "\n".join(filter(None, [said, TOO_DARK]))
    found = Images(x, None if y is None else y[good], [names[i] for i in good], broken, said, key)
    if strict and broken:
        raise ValueError(f"{root}: {found.what_is_broken}; mend or remove them, or leave --strict out")
    if not good:
        raise ValueError(f"{root}: none of its {len(names)} images can be read ({names[0]}: {why[0]})")
    if y is not None:
        _refuse_lost_label(root, y, found.y)
    return found


# --------------------------------------------------------------------- folders


def _labelled_names(folder: Path) -> tuple[list[str], np.ndarray]:
    kinds = {place.name: LABELS[place.name.lower()] for place in _folders(folder) if place.name.lower() in LABELS}
    lacking = [kind for kind, label in (("positive/", 1), ("unlabeled/", 0)) if label not in kinds.values()]
    if lacking:
        there = "" if _names_in(folder, first=True) else " and no images"
        raise ValueError(f"{folder} has no folder {' and no folder '.join(lacking)}{there}; {LAYOUT}")
    found: list[tuple[str, int]] = []
    for kind, label in kinds.items():
        inside = [f"{kind}/{name}" for name in _names_in(folder / kind)]
        if not inside:
            raise ValueError(f"{folder / kind} holds no images; {LAYOUT}")
        found += [(name, label) for name in inside]
    found.sort()
    return [name for name, _ in found], np.array([label for _, label in found])


def _folders(folder: Path) -> list[Path]:
    return sorted(place for place in folder.iterdir() if place.is_dir())


def _names_in(folder: Path, first: bool = False) -> list[str]:
    """Paths of the images in a folder and below, relative to it. Links are followed, but not in rings."""
    names: list[str] = []
    seen: set[str] = set()
    for place, inside, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:
            inside.clear()
            continue
        seen.add(real)
        inside[:] = [name for name in inside if not name.startswith(".")]
        relative = Path(place).relative_to(folder)
        names += [(relative / name).as_posix() for name in files if is_image_name(name)]
        if first and names:
            break
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{folder} holds {name!a}, a name that is no UTF-8; rename the file") from None
    return names


def _refuse_lost_label(root: Path, before: np.ndarray, after: Any) -> None:
    if before.dtype.kind not in "iub":
        return
    for kind, label in (("positive", 1), ("unlabelled", 0)):
        if (before == label).any() and not (after == label).any():
            raise ValueError(f"{root}: none of its {int((before == label).sum())} {kind} images can be read")


# ------------------------------------------------------------------------ size


def check_size(size: int) -> None:
    if not LEAST_SIZE <= size <= MOST_SIZE:
        raise ValueError(f"--size {size} must lie between {LEAST_SIZE} and {MOST_SIZE} pixels")


def _shape_for(
    root: Path, files: Sequence[Path], size: int | None, bound: Callable[[int], int]
) -> tuple[tuple[int, ...], str]:
    """Return (channels, height, width) for images of these sizes, and a sentence that says so.

    The side is that of SIZES nearest to the median of the shorter sides; smaller images keep theirs.
    """
    if size is not None:
        check_size(size)
    heads = _heads(files)
    if not heads:
        raise ValueError(f"{root}: none of the {len(files)} images can be read; look at {files[0]}")
    widths, heights, grey = zip(*heads, strict=True)
    channels = 1 if all(grey) else 3
    width, height = int(np.median(widths)), int(np.median(heights))
    side = size or bound(_nearest(int(np.median(np.minimum(widths, heights)))))
    kind = "grey" if channels == 1 else "colour"
    what = "all" if len({*zip(widths, heights, strict=True)}) == 1 else "typically"
    scaled = "" if (width, height) == (side, side) and what == "all" else f", scaled to {side} x {side}"
    return (channels, side, side), f"{len(files):,} {kind} images, {what} {width} x {height} pixels{scaled}"


def _heads(files: Sequence[Path]) -> list[tuple[int, int, bool]]:
    import warnings

    heads = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for file in files[:: max(1, len(files) // LOOKED_AT)]:
            try:
                heads.append(header(file))
            except Exception:  # decoding will say what is wrong with it
                continue
    return heads


def _nearest(side: int) -> int:
    if side <= SIZES[0]:
        return max(side, LEAST_SIZE)
    return min(SIZES, key=lambda one: abs(np.log(one / side)))
