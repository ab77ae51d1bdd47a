"""Tensors in safetensors files with a checksum. The only module of the room that loads torch."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from .arrays import canonical
from .atomic import write

Tensors = dict[str, Tensor]


def _digest(tensors: Tensors, meta: str) -> str:
    """Of names, kinds, shapes, values and meta. An empty meta adds nothing."""
    digest = hashlib.sha256(meta.encode() if meta != "{}" else b"")
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}".encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def save(path: Path, tensors: Tensors, **meta: Any) -> None:
    """Write tensors and a few values beside them. The same tensors give the same bytes."""
    # clones, since safetensors refuses tensors that share memory; the networks of a method may share some
    plain = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    text = json.dumps(meta)
    write(path, canonical(to_bytes(plain, metadata={"sha256": _digest(plain, text), "meta": text})))


def load(path: Path) -> tuple[Tensors, dict[str, Any]]:
    """Tensors and meta of a file; ValueError, naming it, when it is damaged. No tensor is larger than the file."""
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for ever
            raise ValueError("it is not a plain file")
        with safe_open(path, "pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if header["sha256"] != _digest(tensors, header["meta"]):
            raise ValueError("its checksum does not match its content")
        meta = json.loads(header["meta"])
        if not isinstance(meta, dict):
            raise ValueError("its meta is no object of names and values")
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist") from None
        raise ValueError(f"{path} is damaged ({' '.join(str(error).split())})") from None
    return tensors, meta


def read_plain(path: Path, what: str) -> Tensors:
    """Tensors of a safetensors file of any origin. Files of other kinds are refused: they may hold code."""
    if path.suffix.lower() != ".safetensors":
        raise ValueError(
            f"{what}={str(path)!r} must end in .safetensors, because other files may hold code; "
            "safetensors.torch.save_file(model.state_dict(), FILE) writes one"
        )
    if not path.is_file():
        raise FileNotFoundError(f"{what}={str(path)!r} does not exist")
    try:
        with safe_open(path, "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise ValueError(f"{what}={str(path)!r} cannot be read ({' '.join(str(error).split())})") from None
