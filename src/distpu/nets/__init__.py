"""The networks. Each one is built from the shape of a row and returns logits of shape (n,)."""

from .choice import NETWORKS, auto_network, body, check
from .cnn13 import cnn13
from .mlp import Shape, mlp
from .network import Network, head_of
from .outside import is_outside
from .resnet18 import ResNet18
from .resnet50 import ResNet50
from .scaling import SCALINGS, scaling_constants, warn_of_far_values
from .weights import load_weights

__all__ = [
    "NETWORKS",
    "SCALINGS",
    "Network",
    "ResNet18",
    "ResNet50",
    "Shape",
    "auto_network",
    "body",
    "check",
    "cnn13",
    "head_of",
    "is_outside",
    "load_weights",
    "mlp",
    "scaling_constants",
    "warn_of_far_values",
]
