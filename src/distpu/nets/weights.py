"""Weights from a file of the user's own, to start training from. Only safetensors are read: they hold no code."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from ..files.tensors import read_plain
from .outside import Outside


def load_weights(body: nn.Module, path: str) -> str:
    """Load weights into a network, and return what was not taken from the file, in a sentence or ''.

    The last layer has one output, so weights of another number of classes do not fit it and are left out. A first
    layer for three channels takes grey images as three equal ones, and the other way round. Anything else must fit.
    """
    found = _read(path)
    net = body.net if isinstance(body, Outside) else body
    wanted = net.state_dict()
    taken: dict[str, Tensor] = {}
    anew: list[str] = []
    for name, own in wanted.items():
        there = _as_channels(found[name], own) if name in found else None
        if there is not None and there.shape == own.shape:
            taken[name] = there.to(own.dtype)
        elif _is_head(name, own, net) or name.endswith("num_batches_tracked"):
            anew.append(name)
        elif there is None:
            raise ValueError(f"pretrained={path!r} has no {name!r}, which the network needs; it is of another network")
        else:
            raise ValueError(
                f"pretrained={path!r}: {name!r} has shape {tuple(there.shape)}, but the network's has "
                f"{tuple(own.shape)}; it is of another network"
            )
    net.load_state_dict(taken, strict=False)
    head = ", ".join(name for name in anew if not name.endswith("num_batches_tracked"))
    return f"pretrained={path}: these do not fit one output and are learnt anew: {head}" if head else ""


def _read(path: str) -> dict[str, Tensor]:
    """The tensors of a file, by the names that the network gives them."""
    found = read_plain(Path(path).expanduser(), "pretrained")
    inner = "body.net." if any(name.startswith("body.net.") for name in found) else "body."
    return {name.removeprefix(inner): value for name, value in found.items()}  # also of a model of this package


def _is_head(name: str, own: Tensor, net: nn.Module) -> bool:
    """Whether this is the weight or the bias of the layer that returns the logit: it has one output."""
    layer = net.get_submodule(name.rpartition(".")[0])
    return isinstance(layer, (nn.Linear, nn.Conv2d)) and layer.weight.shape[0] == own.shape[0] == 1


def _as_channels(there: Tensor, own: Tensor) -> Tensor:
    """Turn a first layer for three channels into one for one, with the same result on grey images, and back."""
    if there.dim() != 4 or own.dim() != 4 or there.shape[0] != own.shape[0] or there.shape[2:] != own.shape[2:]:
        return there
    if (there.shape[1], own.shape[1]) == (3, 1):
        return there.sum(1, keepdim=True)
    if (there.shape[1], own.shape[1]) == (1, 3):
        return torch.cat([there / 3] * 3, 1)
    return there
