"""The folders in which the named sets are looked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .known import MD5

FOLDERS = {"fashion-mnist": ["fashion-mnist"], "cifar-10": ["cifar-10-batches-py", "cifar-10-batches-bin"]}


ZIPS = ("alzheimer.zip", "alzheimers-dataset-4-class-of-images.zip")


SYSTEM = Path("/usr/share/datasets")  # Debian's package dataset-fashion-mnist installs here


def home(root: str | Path | None) -> Path:
    """Return the folder that a download is put into."""
    if root is not None:
        return Path(root).expanduser().absolute()
    default = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or default).expanduser() / "distpu"


def places(name: str, root: str | Path | None) -> list[Path]:
    named = [home(place) for place in (root, os.environ.get("DISTPU_DATA")) if place]
    return [*dict.fromkeys([*named, home(None)]), *([SYSTEM] if name == "fashion-mnist" else [])]


def found(name: str, root: str | Path | None) -> Path | None:
    """Return the first folder (or zip) that has all files of the set. Their content is checked when they are read."""
    sources = _alzheimer_sources if name == "alzheimer" else lambda place: _complete_folders(name, place)
    return next((path for place in places(name, root) for path in sources(place)), None)


def _complete_folders(name: str, place: Path) -> Iterator[Path]:
    folders = [*(place / folder for folder in FOLDERS[name]), place]
    return (folder for folder in folders if all(file_of(folder, file) for file in MD5[name]))


def _alzheimer_sources(place: Path) -> Iterator[Path]:
    for folder in (place / "alzheimer", place):
        with suppress(OSError):  # it is no folder, or it may not be read
            candidates = [folder, *sorted(folder.iterdir())]
            yield from (f for f in candidates if os.path.isdir(f / "train" / "NonDemented"))
    zips = [place] if place.suffix == ".zip" else [place / name for name in ZIPS]
    yield from filter(os.path.isfile, zips)


def file_of(folder: Path, name: str) -> Path | None:
    return next(filter(os.path.isfile, (folder / f"{name}{end}" for end in ("", ".gz", ".bin"))), None)
