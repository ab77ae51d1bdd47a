"""Downloads files, resuming broken transfers, and unpacks archives into one folder. Standard library only."""

from __future__ import annotations

import http.client
import tarfile
import time
from pathlib import Path, PurePosixPath
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from ..progress import watched

PAUSES = (1, 2, 4)  # seconds before each further try of a broken transfer


def unpack(archive: Path, folder: Path, wanted: set[str], most: int) -> None:
    """Unpack the wanted files, of at most so many bytes each."""
    with tarfile.open(archive) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts or not (member.isreg() or member.isdir()):
                raise ValueError(f"it holds {member.name!r}, which is unsafe to unpack")
            if member.size > most:
                raise ValueError(f"it holds {member.name!r} of {member.size:,} bytes, where {most:,} are plausible")
            if member.isreg() and member.name in wanted:
                tar.extract(member, folder, filter="data")
                wanted = wanted - {member.name}
    if wanted:
        raise ValueError(f"it lacks {min(wanted)}")


def fetch(url: str, part: Path, most: int) -> None:
    """Download `url` into `part`. The bytes that an earlier try left there are not sent again.

    A file of more than `most` bytes is refused: a server that never stops would fill the disk.
    """
    for pause in (*PAUSES, None):
        try:
            return _transfer(url, part, most)
        except (OSError, http.client.HTTPException) as error:
            refused = isinstance(error, HTTPError) and error.code < 500 and error.code not in (408, 429)
            if pause is None or refused:
                remedy = f"run again later, or put it under {part.parent.parent} by hand"
                raise FileNotFoundError(f"{url} could not be fetched ({reason(error)}); {remedy}") from error
            time.sleep(pause)


def _transfer(url: str, part: Path, most: int) -> None:
    have = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "distpu", **({"Range": f"bytes={have}-"} if have else {})}
    try:
        response = urlopen(Request(url, headers=headers), timeout=30)
    except HTTPError as error:
        error.close()
        if error.code != 416 or not have:
            raise
        if error.headers.get("Content-Range") == f"bytes */{have}":
            return  # the file is already whole
        part.unlink()
        raise ConnectionError("the server's file is shorter than the part already here") from error
    with response:
        start = have if response.status == 206 else 0  # 200: the server cannot resume and sends the whole file
        if start and not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            part.unlink()
            raise ConnectionError("the server did not send the range that was asked for")
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdigit() else None
        if total is not None and total > most:
            raise _too_much(url, part, most)
        have = start
        with part.open("ab" if start else "wb") as out:
            for block in watched(iter(lambda: response.read(1 << 16), b""), part.stem, total, start, len):
                have += len(block)
                if have > most:
                    raise _too_much(url, part, most)
                out.write(block)
    if total and part.stat().st_size < total:  # http.client raises nothing when the server closes early
        raise ConnectionError(f"it broke off after {part.stat().st_size} of {total} bytes")


def _too_much(url: str, part: Path, most: int) -> ValueError:
    part.unlink(missing_ok=True)
    return ValueError(
        f"{url} sends more than {most:,} bytes, and the official file has fewer; the part is removed: try again later, "
        f"or put the file under {part.parent.parent} by hand"
    )


def reason(error: Exception) -> str:
    lines = str(error).strip("<> \n").splitlines() or ["no reason given"]
    telling = isinstance(error, (OSError, ValueError))  # a KeyError's text is only the key
    return lines[0] if telling else f"{type(error).__name__}: {lines[0]}"
