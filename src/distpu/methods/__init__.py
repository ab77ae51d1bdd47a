"""The methods, by name. A new one is a file here, a test, and a line in this dict."""

from dataclasses import fields
from typing import Any

from ..estimator import PUEstimator
from ..params import near
from .apu import APU
from .bagging_pu import BaggingPU
from .cvir import CVIR
from .dist_pu import DistPU
from .elkan_noto import ElkanNoto
from .imb_pu import ImbPU
from .lbe import LBE
from .naive import Naive
from .nnpu import NNPU
from .pn import PN
from .pubn import PUbN
from .pulda import PULDA
from .pusb import PUSB
from .rank_pruning import RankPruning
from .self_pu import SelfPU
from .tedn import TEDn
from .two_step import TwoStep
from .upu import UPU
from .vpu import VPU

METHODS: dict[str, type[PUEstimator]] = {
    "dist-pu": DistPU,
    "nnpu": NNPU,
    "upu": UPU,
    "naive": Naive,
    "imb-pu": ImbPU,
    "pn": PN,
    "pusb": PUSB,
    "rank-pruning": RankPruning,
    "pubn": PUbN,
    "apu": APU,
    "vpu": VPU,
    "cvir": CVIR,
    "tedn": TEDn,
    "lbe": LBE,
    "pulda": PULDA,
    "self-pu": SelfPU,
    "elkan-noto": ElkanNoto,
    "bagging-pu": BaggingPU,
    "two-step": TwoStep,
}


def method_class(name: str) -> type[PUEstimator]:
    """Return the class of a method. The error for an unknown name suggests the nearest one."""
    if name not in METHODS:
        raise ValueError(f"method {name!r} is not known{near(name, METHODS)} (distpu methods lists all)")
    return METHODS[name]


def make(name: str, settings: dict[str, Any], cls: type[PUEstimator] | None = None) -> PUEstimator:
    """Return a method with checked settings. The error for an unknown setting suggests the nearest one."""
    cls = cls or method_class(name)
    known = [f.name for f in fields(cls)]
    for told in settings:
        if told not in known:
            raise ValueError(f"{name} has no setting {told!r}{near(told, known)} (distpu methods {name} lists all)")
    method = cls(**settings)
    method._check_parameters()
    return method
