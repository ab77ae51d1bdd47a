"""Part: the pieces that are scored so far, in one file beside the result. A killed run goes on from it.

The file is a row of records. A record is the length of its content in 8 bytes, the content's sha256 in 32, and the
content. The first record says of what the scores are. Each other one is a piece: a line of JSON, then arrays as .npz.
A kill may tear the last record, whose checksum is wrong then: the record is cut off and its piece is scored again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True)
class Piece:
    """Scores of some rows in the order of the data. `ids` is None where the number of a row names it."""

    start: int  # the number of the first row
    score: np.ndarray
    probability: np.ndarray
    decision: np.ndarray
    ids: list[Any] | None

    def __len__(self) -> int:
        return len(self.score)

    @property
    def names(self) -> Any:
        return np.arange(self.start, self.start + len(self)) if self.ids is None else self.ids

    def to_bytes(self) -> bytes:
        content = io.BytesIO()
        facts = {"start": self.start, "rows": len(self), "ids": _kind(self.ids)}
        content.write(json.dumps(facts).encode() + b"\n")
        names = np.frombuffer(json.dumps(self.ids).encode(), dtype=np.uint8)
        np.savez(content, score=self.score, probability=self.probability, decision=self.decision, ids=names)
        return content.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Piece:
        facts, _, arrays = content.partition(b"\n")
        with np.load(io.BytesIO(arrays), allow_pickle=False) as file:
            score, probability, decision = (file[key] for key in ("score", "probability", "decision"))
            ids = json.loads(file["ids"].tobytes())
        return cls(json.loads(facts)["start"], score, probability, decision, ids)


def _kind(ids: list[Any] | None) -> str:
    if ids is None:
        return "row"
    return "int" if all(type(one) is int and abs(one) < 2**63 for one in ids) else "text"


class Part:
    """The file of pieces, held by one process."""

    def __init__(self, file: BinaryIO, path: Path, of: dict[str, Any]):
        self.file, self.path = file, path
        self.rows = 0
        self.kinds: set[str] = set()
        self._places: list[tuple[int, int]] = []  # where the content of each piece begins, and its length
        self._take(of)

    @classmethod
    @contextmanager
    def opened(cls, goal: Path, of: dict[str, Any]) -> Iterator[Part]:
        """Open the part of a result. `of` says of what the scores are: a part of something else begins anew."""
        path = goal.with_name(f".{goal.name[:100]}.part")
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINKS, 0o666)
        except OSError as error:
            if path.is_symlink():
                raise ValueError(f"{path} is a link, which distpu does not follow; remove it") from None
            error.filename = str(goal)
            raise
        try:
            with open(handle, "r+b") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise ValueError(f"{path} is not a plain file; remove it")
                _hold(handle, goal)
                yield cls(file, path, of)
        except OSError as error:  # such as a full disk, also where the file is closed; a write names no file
            error.filename = error.filename or str(goal)
            raise

    def _take(self, of: dict[str, Any]) -> None:
        """Read the records that are whole, and cut off what follows them."""
        end = 0
        for number, (place, content) in enumerate(self._records()):
            if number == 0:
                if content != _canonical(of):
                    break
            else:
                facts = json.loads(content.partition(b"\n")[0])
                self.rows += facts["rows"]
                self.kinds.add(facts["ids"])
                self._places.append((place, len(content)))
            end = place + len(content)
        self.file.seek(end)
        self.file.truncate()
        if not end:
            self._append(_canonical(of))

    def _records(self) -> Iterator[tuple[int, bytes]]:
        size = os.fstat(self.file.fileno()).st_size
        self.file.seek(0)
        while len(head := self.file.read(40)) == 40:
            place, length = self.file.tell(), int.from_bytes(head[:8], "little")
            if length > size - place:
                return
            content = self.file.read(length)
            if hashlib.sha256(content).digest() != head[8:]:
                return
            yield place, content

    def _append(self, content: bytes) -> int:
        self.file.write(len(content).to_bytes(8, "little") + hashlib.sha256(content).digest())
        place = self.file.tell()
        self.file.write(content)
        self.file.flush()
        return place

    def add(self, piece: Piece) -> None:
        content = piece.to_bytes()
        self._places.append((self._append(content), len(content)))
        self.rows += len(piece)
        self.kinds.add(_kind(piece.ids))

    def __len__(self) -> int:
        return len(self._places)

    def pieces(self) -> Iterator[Piece]:
        for place, length in self._places:
            self.file.seek(place)
            try:
                yield Piece.from_bytes(self.file.read(length))
            except (ValueError, KeyError, zipfile.BadZipFile) as error:
                raise ValueError(f"{self.path} is damaged ({error}); remove it and run the command again") from None

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _canonical(value: dict[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _hold(handle: int, goal: Path) -> None:
    """Hold the file. The system lets go of it with the process, also after kill -9."""
    try:
        import fcntl
    except ImportError:  # Windows: keeping processes apart is left to the user
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(f"{goal} is being written by another process; wait for it or name another file") from None
    except OSError:  # some network disks have no such locks
        return
