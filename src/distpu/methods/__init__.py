"""The methods, by name. A new one is a file here, a test, and a line in this dict."""

from ..estimator import PUClassifier
from .dist_pu import DistPU
from .naive import Naive
from .nnpu import NNPU
from .upu import UPU

METHODS: dict[str, type[PUClassifier]] = {
    "dist-pu": DistPU,
    "nnpu": NNPU,
    "upu": UPU,
    "naive": Naive,
}
