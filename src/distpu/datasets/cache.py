"""Decoded images on disk: made once, in parallel, then read as a memory map.

A cache is a folder under the user's cache folder (~/.cache/distpu/images, or under $XDG_CACHE_HOME):

pixels.npy       the images that could be read, in order, uint8
index.json       signed; which files could not be read, why, and which of them to try again; written last:
                 without it the cache is not finished
pixels.part, progress.jsonl
                 what a killed process had decoded; the next one goes on from there
.lock            held by the process that decodes or reads; a second one waits

Its name is a checksum of the files' names, sizes and times and of the shape, so another image gives another cache. All
caches together take at most $DISTPU_CACHE_GB (20): those not used for longest go first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..files import atomic
from ..files.lock import lock
from ..files.log import read_log
from ..progress import Bar, busy
from .decode import Passing, decoded
from .places import home

PIXELS, PART, PROGRESS, INDEX = "pixels.npy", "pixels.part", "progress.jsonl", "index.json"
CHUNK = 256  # images that are decoded between two notes of the progress
LIMIT_GB = 20.0

Broken = dict[int, str]  # number of a file -> why it cannot be used


def read_cached(files: Sequence[Path], shape: tuple[int, ...]) -> tuple[np.ndarray, Broken, str]:
    """Return the images that can be read, as a memory map of bytes, why the others cannot, and the cache's name."""
    key = _key(files, shape)
    folder = home(None) / "images" / key
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None
    with contextlib.ExitStack() as stack:
        with busy("waiting for the process that decodes these images"):
            stack.enter_context(lock(folder, wait=True))
        found = _finished(folder, shape)
        if found is not None and _can_be_read_now(files, found[1], shape):
            (folder / INDEX).unlink()
            found = None
        if found is None:
            try:
                _make(folder, files, shape)
            except OSError as error:
                raise _unwritable(folder, error) from None
            found = _finished(folder, shape)
            assert found is not None
            _forget_old(folder)
        os.utime(folder / INDEX)  # it was used now
    return *found, key


def _unwritable(folder: Path, error: OSError) -> ValueError:
    return ValueError(
        f"{folder} cannot be written ({error.strerror}), and decoded images are kept there; "
        "set XDG_CACHE_HOME to a folder with room"
    )


def _key(files: Sequence[Path], shape: tuple[int, ...]) -> str:
    """A checksum of what decides the pixels. The format's version is part of it."""
    digest = hashlib.sha256(json.dumps(["2", *shape]).encode())
    for file in files:
        try:
            stat = file.stat()
            told = [stat.st_size, stat.st_mtime_ns]
        except OSError:
            told = []
        digest.update(json.dumps([os.path.abspath(file), *told]).encode())
    return digest.hexdigest()[:32]


def _finished(folder: Path, shape: tuple[int, ...]) -> tuple[np.ndarray, Broken] | None:
    """The content of a finished cache; None where there is none, or where it is damaged and must be made again."""
    try:
        index, _ = atomic.read_signed(folder / INDEX, "rows", "broken")
        rows, broken = index["rows"], _listed(index)
        if not rows:
            return np.empty((0, *shape), np.uint8), broken
        x = np.load(folder / PIXELS, mmap_mode="r", allow_pickle=False)
        return (x, broken) if x.shape == (rows, *shape) and x.dtype == np.uint8 else None
    except (OSError, ValueError, TypeError, EOFError):
        return None


def _can_be_read_now(files: Sequence[Path], broken: Broken, shape: tuple[int, ...]) -> bool:
    """Whether a file can be read that could not for a reason that passes: its size and time tell nothing of it."""
    again = (files[number] for number, why in broken.items() if isinstance(why, Passing))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return any(not isinstance(decoded(file, shape), str) for file in again)


def _noted(broken: Broken) -> dict[str, Any]:
    return {
        "broken": list(broken.items()),
        "passing": [number for number, why in broken.items() if isinstance(why, Passing)],
    }


def _listed(noted: dict[str, Any]) -> Broken:
    passing = set(noted.get("passing", ()))
    return {int(number): Passing(why) if number in passing else str(why) for number, why in noted["broken"]}


# ---------------------------------------------------------------------- making


def _make(folder: Path, files: Sequence[Path], shape: tuple[int, ...]) -> None:
    """Decode all files. What a killed process had done is kept."""
    size, head = int(np.prod(shape)), len(_header(len(files), shape))
    done, good, broken = _progress(folder, len(files), head, size)
    _refuse_full_disk(folder, (len(files) - done) * size)
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with open(folder / PART, "r+b" if done else "wb") as file, ThreadPoolExecutor(threads) as pool, Bar(after=1) as bar:
        if not done:
            file.write(_header(len(files), shape))
            (folder / PROGRESS).unlink(missing_ok=True)
        file.truncate(head + good * size)
        file.seek(0, os.SEEK_END)
        for start in range(done, len(files), CHUNK):
            part = files[start : start + CHUNK]
            with warnings.catch_warnings():  # of damaged EXIF, of many pixels: the image is used or listed
                warnings.simplefilter("ignore")
                images = list(pool.map(lambda path: decoded(path, shape), part))
            bad = {start + i: one for i, one in enumerate(images) if isinstance(one, str)}
            for one in images:
                if not isinstance(one, str):
                    file.write(np.ascontiguousarray(one).data)
            file.flush()
            os.fsync(file.fileno())
            broken |= bad
            good += len(part) - len(bad)
            line = {"files": start + len(part), "good": good, **_noted(bad)}
            atomic.append(folder / PROGRESS, (json.dumps(line) + "\n").encode())
            bar.update("decoding images", start + len(part), len(files))
        file.seek(0)
        file.write(_header(good, shape))
    os.replace(folder / PART, folder / PIXELS)
    atomic.write_signed(folder / INDEX, {"rows": good, **_noted(broken)})
    (folder / PROGRESS).unlink(missing_ok=True)


def _header(rows: int, shape: tuple[int, ...]) -> bytes:
    """The head of a .npy file; it has the same length for any number of rows, so that it can be written over."""
    import io

    content = io.BytesIO()
    described = {"descr": "|u1", "fortran_order": False, "shape": (rows, *shape)}
    np.lib.format.write_array_header_1_0(content, described)
    return content.getvalue()


def _progress(folder: Path, files: int, head: int, size: int) -> tuple[int, int, Broken]:
    """What a killed process had done: files looked at, images written, broken files."""
    done, good, broken = 0, 0, {}
    try:
        there = (folder / PART).stat().st_size
    except OSError:
        return 0, 0, {}
    for line in read_log(folder / PROGRESS):
        if not _is_progress(line, done, files) or head + line["good"] * size > there:
            break
        done, good = line["files"], line["good"]
        broken.update(_listed(line))
    return done, good, broken


def _is_progress(line: dict[str, Any], done: int, files: int) -> bool:
    whole = type(line.get("files")) is int and type(line.get("good")) is int and isinstance(line.get("broken"), list)
    return whole and done < line["files"] <= files and 0 <= line["good"] <= line["files"]


def _refuse_full_disk(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise ValueError(
            f"the decoded images take {needed / 1e9:.1f} GB, but {folder} has {free / 1e9:.1f} GB free; "
            "give a smaller --size, or set XDG_CACHE_HOME to a folder with room"
        )


# -------------------------------------------------------------------- bounding


def _forget_old(own: Path) -> None:
    """Remove the caches that were not used for longest, until all take no more than the limit. `own` stays."""
    try:
        limit = 1e9 * float(os.environ.get("DISTPU_CACHE_GB") or LIMIT_GB)
    except ValueError:
        limit = 1e9 * LIMIT_GB
    sizes = {folder: size for folder in own.parent.iterdir() if (size := _size(folder))}
    total = sum(sizes.values())
    for folder in sorted(sizes.keys() - {own}, key=_last_used):
        if total <= limit:
            return
        with contextlib.suppress(OSError, ValueError), lock(folder):  # ValueError: another process holds it
            for name in (INDEX, PIXELS, PART, PROGRESS):  # the folder and its lock stay: somebody may wait for it
                (folder / name).unlink(missing_ok=True)
            total -= sizes[folder]


def _size(folder: Path) -> int:
    return sum((folder / name).stat().st_size for name in (PIXELS, PART) if (folder / name).is_file())


def _last_used(folder: Path) -> float:
    return max((path.stat().st_mtime for path in folder.iterdir()), default=0.0)
