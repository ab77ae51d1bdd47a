"""The methods, by name. A new one is a file here, a test, and a line in this dict."""

from ..estimator import PUEstimator
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
