"""Files written whole or not at all, and JSON with a checksum. Standard library only."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

REMEDY = "the folder is damaged, train into a new one"
SUM = "sha256"  # the key under which a signed JSON file holds the checksum of all its other keys
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)  # Windows lacks the first, others the second


def write(path: Path, content: bytes, mode: int | None = None) -> None:
    """Write so that a reader sees the old content or the new, never half of it. A link is replaced, not followed."""
    with temporary(path, mode) as file:
        file.write(content)


def renew(path: Path, content: bytes) -> None:
    """Write, unless the file holds this content: a finished run may lie on a disk that nobody may write to."""
    if not holds(path, [content]):
        write(path, content)


def holds(path: Path, pieces: Iterable[bytes]) -> bool:
    """Return whether a file holds these pieces, one after the other, and nothing else."""
    if path.is_symlink():
        return False
    try:
        with open(_opened(path), "rb") as file:
            return all(file.read(len(piece)) == piece for piece in pieces) and not file.read(1)
    except (OSError, ValueError):
        return False


@contextmanager
def temporary(path: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """A new file beside `path`, which takes the place of `path` at the end of the block.

    Nobody can guess its name and put a link there beforehand. After an error, such as a full disk, it is removed.
    """
    place = path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}.tmp")
    try:
        handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, 0o666 if mode is None else mode)
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(place, mode)  # whatever the umask says
        os.replace(place, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(place)
        if isinstance(error, OSError):  # the user knows the file, not the temporary one
            error.filename = str(path)
            del error.filename2  # None would be shown as a second file
        raise


def left_over(name: str) -> str | None:
    """The name of the file that a temporary file stands for; None where the name is not that of a temporary file."""
    found = re.fullmatch(r"\.(.+)\.[0-9a-f]{16}\.tmp|([^.].*)\.tmp", name)  # the second form: up to version 0.1
    return (found[1] or found[2]) if found else None


def append(path: Path, content: bytes) -> None:
    """Add to the end of a file. A link is not followed."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NO_LINKS, 0o666)
    with open(handle, "ab") as file:
        file.write(content)


# ------------------------------------------------------------------------ JSON


def read(path: Path) -> bytes:
    """The content of a plain file: a pipe would wait for ever, a device may have no end."""
    with open(_opened(path), "rb") as file:
        return file.read()


def _opened(path: Path) -> int:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ValueError("it is not a plain file")
    return handle


def write_json(path: Path, value: Any) -> None:
    renew(path, (json.dumps(value, indent=1) + "\n").encode())


def write_signed(path: Path, value: dict[str, Any]) -> None:
    value = json.loads(json.dumps(value))  # as a reader will see it: all keys are strings
    write_json(path, {**value, SUM: _sum(value)})


def read_json(path: Path, *keys: str) -> Any:
    """The value in a JSON file; with keys, an object that has them."""
    try:
        value = json.loads(read(path))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist; {REMEDY}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:  # not JSON, not even text, or brackets without end
        raise ValueError(f"{path} is not valid JSON ({_line(error)}); {REMEDY}") from None
    lost = [key for key in keys if not isinstance(value, dict) or key not in value]
    if lost:
        raise ValueError(f"{path} has no {lost[0]!r}; {REMEDY}")
    return value


def read_signed(path: Path, *keys: str) -> tuple[dict[str, Any], bool]:
    """The object in a JSON file without its checksum, and whether it had one: files up to version 0.1 have none."""
    value = read_json(path, *keys)
    if not isinstance(value, dict):
        raise ValueError(f"{path} holds no object of names and values; {REMEDY}")
    signed = SUM in value
    renamed = not signed and any(re.fullmatch("[0-9a-f]{64}", str(v)) for v in value.values())  # a damaged key
    if renamed or (signed and value.pop(SUM) != _sum(value)):
        raise ValueError(f"{path} was changed after it was written (its checksum does not match); {REMEDY}")
    return value, signed


def _sum(value: dict[str, Any]) -> str:
    """Of the canonical form: the order of keys and the white space do not count."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
