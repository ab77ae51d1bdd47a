"""Turns the error of a damaged file into one line."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path

from ..kinds import short
from .download import reason

PLAUSIBLE, RATIO = 2**30, 200  # a packed file may become a GiB, or so many times its size, whichever is more


def compare(content: bytes, md5: str) -> None:
    if hashlib.md5(content, usedforsecurity=False).hexdigest() != md5:
        raise ValueError("its content differs from the official release")


def most_bytes(path: Path) -> int:
    """Return how many bytes a packed file may become."""
    return max(PLAUSIBLE, RATIO * path.stat().st_size)


@contextmanager
def one_line(what: str | Path | None, remedy: str, discard: Path | None = None):
    """Replace whatever a decoder raises by one line that names the file. `discard` is deleted, if given."""
    try:
        yield
    except Exception as error:  # pickles, images and archives fail in more ways than can be listed
        if discard and not getattr(error, "errno", None):  # a full disk does not make a download wrong
            shutil.rmtree(discard) if discard.is_dir() else discard.unlink(missing_ok=True)
        raise ValueError(f"{what} cannot be used ({reason(error)}); {remedy}") from error


def some(names: Iterable) -> str:
    names = [short(str(name)) for name in names]
    return (", ".join(names[:10]) or "none") + (f" and {len(names) - 10} more" if len(names) > 10 else "")
