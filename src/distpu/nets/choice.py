"""Chooses and builds the network for rows of a shape: by a name, by 'auto', or by the user's callable."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from torch import nn

from ..params import near
from .cnn13 import cnn13
from .mlp import Shape, mlp
from .outside import check_outside, is_outside, outside
from .resnet8 import resnet8
from .resnet18 import preact_resnet18, resnet18
from .resnet50 import resnet50

NETWORKS: dict[str, Callable[[Shape], nn.Module]] = {
    "mlp": mlp,
    "cnn-13": cnn13,
    "resnet-8": resnet8,
    "resnet-18": resnet18,
    "preact-resnet-18": preact_resnet18,
    "resnet-50": resnet50,
}


NEEDS_IMAGES = {  # network -> channels it takes
    "cnn-13": (1, 3, 4),
    "resnet-8": (1, 3, 4),
    "resnet-18": (1, 3, 4),
    "preact-resnet-18": (1, 3, 4),
    "resnet-50": (1, 3),
}


def auto_network(shape: Shape) -> str:
    """Return the name of the network that the paper uses for such rows.

    Tables and small grey images get mlp, small colour images cnn-13, and large images resnet-50.
    """
    if len(shape) == 1 or (shape[0] == 1 and max(shape[1:]) <= 48):
        return "mlp"
    return "cnn-13" if max(shape[1:]) <= 48 else "resnet-50"


def body(network: str | Callable[..., nn.Module], shape: Shape) -> nn.Module:
    """Build a network, without its input scaling, from a known name, "auto" or the user's callable.

    The callable gets the shape of a row if it has a parameter without a default.
    """
    _refuse_made(network)
    if callable(network):
        takes_shape = any(
            p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            for p in inspect.signature(network).parameters.values()
        )
        made = network(shape) if takes_shape else network()
        if not isinstance(made, nn.Module):
            raise ValueError(f"network={network!r} returned {type(made).__name__}; it must return a torch.nn.Module")
        return made
    name = _known(network, shape)
    return outside(name, shape) if is_outside(name) else NETWORKS[name](shape)


def check(network: str | Callable[..., nn.Module], scaling: str, shape: Shape) -> None:
    """Refuse a network or a scaling that cannot take rows of such a shape."""
    _refuse_made(network)
    name = None if callable(network) else _known(network, shape)
    if scaling == "imagenet" and not takes_imagenet(name, shape):
        raise ValueError(f"scaling='imagenet' takes images with 3 channels, but rows have shape {shape}; use 'auto'")


def _refuse_made(network: object) -> None:
    if isinstance(network, nn.Module):
        raise ValueError(
            f"network is a {type(network).__name__}, which a second fit would train on; give a function that makes a "
            "new one: network=lambda: ..."
        )


def takes_imagenet(name: str | None, shape: Shape) -> bool:
    """Images of three channels do; for networks of three, scaling by three constants makes three channels of one."""
    return len(shape) == 3 and (shape[0] == 3 or (shape[0] == 1 and (name == "resnet-50" or is_outside(name))))


def _known(network: str, shape: Shape) -> str:
    name = auto_network(shape) if network == "auto" else network
    if is_outside(name):
        if len(shape) != 3:
            raise ValueError(f"network={name!r} takes images, rows have shape {shape}; use 'mlp'")
        check_outside(name)
        return name
    if name not in NETWORKS:
        known = ", ".join(map(repr, NETWORKS))
        raise ValueError(
            f"network={name!r} is not known{near(name, NETWORKS)}; use 'auto', {known}, 'timm:NAME', "
            "'torchvision:NAME' or a callable"
        )
    channels = NEEDS_IMAGES.get(name)
    if channels and (len(shape) != 3 or shape[0] not in channels):
        raise ValueError(f"network={name!r} takes images with {channels} channels, rows have shape {shape}; use 'mlp'")
    return name
