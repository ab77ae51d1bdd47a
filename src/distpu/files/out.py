"""Results written where the user says: a file, a link to one, a pipe, a device; never over data or a model."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from . import atomic
from .run_folder import RunFolder


def check_out(path: Path, *inputs: str | Path) -> None:
    """Refuse a path that must not be written: a folder, one of the inputs, a file of a run folder, a disk."""
    goal = _goal(path)
    if isinstance(goal, int):
        return
    for data in inputs:
        if goal.exists() and Path(data).exists() and goal.samefile(data):
            raise ValueError(f"{path} would overwrite the data; name another file")
    if goal.is_dir():
        raise ValueError(f"{path} is a folder; name a file")
    above = next((folder for folder in goal.parents if folder.exists()), None)
    if above is not None and not above.is_dir():
        raise ValueError(f"{path} cannot lie in {above}, which is a file; name another file")
    if goal.is_block_device():
        raise ValueError(f"{path} is a disk; name a file")
    real = goal.resolve()
    if RunFolder.owns(real.name) and RunFolder(real.parent).exists:
        raise ValueError(f"{path} is a file of the run in {real.parent}, which needs it; name another file")
    if goal != path and not goal.parent.is_dir():
        raise ValueError(f"{path} is a link to {goal}, whose folder does not exist; name another file")


def write_out(path: Path, content: bytes, *inputs: str | Path) -> bool:
    """Write a result; return whether it went into a plain file rather than a pipe or a device."""
    with opened_out(path, *inputs) as file:
        file.write(content)
    return plain_goal(path) is not None


@contextmanager
def opened_out(path: Path, *inputs: str | Path) -> Iterator[BinaryIO]:
    """Open a result for writing.

    A plain file is replaced whole or not at all. The file that a link leads to is replaced, and the link stays.
    A pipe or a device is opened and written to.
    """
    check_out(path, *inputs)
    goal = _goal(path)
    if isinstance(goal, int) or (goal.exists() and not goal.is_file()):
        try:
            with open(os.dup(goal) if isinstance(goal, int) else os.open(goal, os.O_WRONLY), "wb") as file:
                yield file
        except OSError as error:  # a write names no file
            error.filename = error.filename or str(path)
            raise
        return
    goal.parent.mkdir(parents=True, exist_ok=True)
    with atomic.temporary(goal, stat.S_IMODE(goal.stat().st_mode) if goal.exists() else None) as file:
        yield file


def plain_goal(path: Path) -> Path | None:
    """Return the plain file, there or not yet, that a path leads to; None for a pipe or a device."""
    goal = _goal(path)
    return None if isinstance(goal, int) or (goal.exists() and not goal.is_file()) else goal


def _goal(path: Path) -> Path | int:
    """Where writing to a path leads: links are followed. An open file of this process, as /dev/stdout, is its number.

    Such a file is not opened a second time: that would start at its beginning and overwrite what it holds.
    """
    place = path
    for _ in range(40):  # as many links as the system follows
        own = f"/dev/fd/|/proc/(?:self|thread-self|{os.getpid()})/fd/"
        text = os.path.abspath(place)
        if found := re.fullmatch(rf"(?:{own})(\d+)", text):
            return int(found[1])
        if text in (streams := {"/dev/stdout": 1, "/dev/stderr": 2}):
            return streams[text]
        if not place.is_symlink():
            return place
        place = place.parent / os.readlink(place)
    raise ValueError(f"{path} is a link that leads back to itself; name a file")
