"""NumPy arrays in safetensors files with a checksum, and in .npz files, without torch."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import atomic

DAMAGED = (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error)  # .npz


def save(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays. The same arrays give the same bytes."""
    from safetensors.numpy import save as to_bytes

    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    atomic.write(path, canonical(to_bytes(plain, metadata={atomic.SUM: _digest(plain)})))


def load(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file; ValueError, naming it, when it is damaged. No array is larger than the file."""
    from safetensors import SafetensorError, safe_open

    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for ever
            raise ValueError("it is not a plain file")
        with safe_open(path, "numpy") as file:
            header = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if header[atomic.SUM] != _digest(arrays):
            raise ValueError("its checksum does not match its content")
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist; {atomic.REMEDY}") from None
        raise ValueError(f"{path} is damaged ({' '.join(str(error).split())}); {atomic.REMEDY}") from None
    return arrays


def _digest(arrays: dict[str, np.ndarray]) -> str:
    """Of names, kinds, shapes and values."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array: Any = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def canonical(content: bytes) -> bytes:
    """The same file with its header in sorted order: safetensors orders its metadata anew in every call.

    The format: the length of the header in 8 bytes, the header in JSON, padded with spaces, and the values.
    """
    length = int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8 : 8 + length]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + content[8 + length :]


def read_npz(path: Path, *names: str) -> dict[str, np.ndarray]:
    """Return arrays of a .npz file; one of DAMAGED where it is damaged."""
    with np.load(io.BytesIO(atomic.read(path)), allow_pickle=False) as file:
        return {name: file[name] for name in names}


def write_npz(path: Path, arrays: Mapping[str, Any]) -> None:
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    atomic.write(path, content.getvalue())
