"""Files that survive a kill: written whole or not at all, checked when read, never executed."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

Tensors = dict[str, Tensor]


def write(path: Path, content: bytes) -> None:
    """Write through a temporary file, so that a reader sees the old content or the new, never half of it."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def write_json(path: Path, value: Any) -> None:
    write(path, (json.dumps(value, indent=1) + "\n").encode())


def read_json(path: Path, *keys: str) -> Any:
    """The value in a JSON file; with keys, an object that has them."""
    remedy = "the folder is damaged, train into a new one"
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist; {remedy}") from None
    except ValueError as error:  # not JSON, or not even text
        raise ValueError(f"{path} is not valid JSON ({error}); {remedy}") from None
    lost = [key for key in keys if not isinstance(value, dict) or key not in value]
    if lost:
        raise ValueError(f"{path} has no {lost[0]!r}; {remedy}")
    return value


def _digest(tensors: Tensors, meta: str) -> str:
    digest = hashlib.sha256(meta.encode() if meta != "{}" else b"")
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}".encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def save(path: Path, tensors: Tensors, **meta: Any) -> None:
    # clones: safetensors refuses tensors that share memory, as a method's networks may
    plain = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    text = json.dumps(meta)
    write(path, to_bytes(plain, metadata={"sha256": _digest(plain, text), "meta": text}))


def load(path: Path) -> tuple[Tensors, dict[str, Any]]:
    """Tensors and meta of a file; ValueError, naming it, when it is damaged."""
    try:
        with safe_open(path, "pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if header["sha256"] != _digest(tensors, header["meta"]):
            raise ValueError("its checksum does not match its content")
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist") from None
        raise ValueError(f"{path} is damaged ({error})") from None
    return tensors, json.loads(header["meta"])


def pack(model: nn.Module, objective: nn.Module, optimizer: torch.optim.Optimizer) -> Tensors:
    """Everything that the rest of a stage depends on, the random state included, as one flat dict."""
    state = {f"model.{k}": v for k, v in model.state_dict().items()}
    state |= {f"objective.{k}": v for k, v in objective.state_dict().items()}
    for number, slots in optimizer.state_dict()["state"].items():
        state |= {f"optimizer.{number}.{name}": torch.as_tensor(v) for name, v in slots.items()}
    state["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        state["random.cuda"] = torch.cuda.get_rng_state()
    return state


def unpack(state: Tensors, model: nn.Module, objective: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    def part(prefix: str) -> Tensors:
        return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}

    model.load_state_dict(part("model."))
    objective.load_state_dict(part("objective."))
    slots: dict[int, dict[str, Tensor]] = {}
    for key, value in part("optimizer.").items():
        number, name = key.split(".", 1)
        slots.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({"state": slots, "param_groups": optimizer.state_dict()["param_groups"]})
    torch.set_rng_state(state["random.cpu"])
    if "random.cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["random.cuda"])
