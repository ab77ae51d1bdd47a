"""Networks of other packages, by name: 'timm:NAME' and 'torchvision:NAME'. They are imported when asked for."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from ..params import near
from .mlp import Shape

PACKAGES = ("timm", "torchvision")
CHANNELS = 3  # published weights are for colour images


def is_outside(network: object) -> bool:
    """Whether a network's name is PACKAGE:NAME."""
    return isinstance(network, str) and ":" in network


class Outside(nn.Module):
    """A network of another package. It gets three channels and returns one logit per row."""

    def __init__(self, net: nn.Module):
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        z = self.net(three_channels(x))
        return z if isinstance(z, Tensor) else z[0]  # in training, a network with side exits returns several outputs


def three_channels(x: Tensor) -> Tensor:
    """A grey image becomes three equal channels; the fourth channel of four, the alpha, is left out."""
    return x.expand(-1, CHANNELS, -1, -1) if x.shape[1] == 1 else x[:, :CHANNELS]


def outside(network: str, shape: Shape) -> nn.Module:
    """Build PACKAGE:NAME with one output and without published weights: nothing is downloaded."""
    package, name = check_outside(network)
    if package == "torchvision":
        return Outside(_models(package).get_model(name, weights=None, num_classes=1))
    timm = _models(package)
    net = timm.create_model(name, pretrained=False, num_classes=1, in_chans=CHANNELS)
    if (getattr(net, "pretrained_cfg", None) or {}).get("fixed_input_size"):  # a transformer is made for one size
        net = timm.create_model(name, pretrained=False, num_classes=1, in_chans=CHANNELS, img_size=tuple(shape[1:]))
    return Outside(net)


def check_outside(network: str) -> tuple[str, str]:
    """Return the package and the name. Refuse what is not installed or not known."""
    package, _, name = network.partition(":")
    if package not in PACKAGES:
        raise ValueError(
            f"network={network!r} is not known{near(package, PACKAGES)}; use 'timm:NAME' or 'torchvision:NAME'"
        )
    if not re.fullmatch(r"[\w.-]+", name):  # timm would fetch 'hf-hub:...' from a network
        raise ValueError(f"network={network!r} is no name of a network, such as '{package}:resnet18'")
    models = _models(package)
    known: Iterable[str] = models.list_models()
    there = models.is_model(name) if package == "timm" else name in known
    if not there:
        raise ValueError(f"network={network!r} is not known to {package}{near(name, known)}")
    return package, name


def _models(package: str) -> Any:
    """The module that builds a package's networks."""
    try:
        return importlib.import_module({"torchvision": "torchvision.models"}.get(package, package))
    except ModuleNotFoundError as error:
        needed = (error.name or package).split(".")[0]
        raise ModuleNotFoundError(
            f"a network of {package} needs {needed}; type: pip install {needed}", name=error.name
        ) from None
