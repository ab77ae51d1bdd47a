"""distpu: learning from positive and unlabelled data. scikit-learn outside, PyTorch inside.

>>> from distpu import AutoPU
>>> clf = AutoPU().fit(X, y)                 # y: 1 = known positive, 0 = unlabelled        # doctest: +SKIP
>>> clf.prior_, clf.predict_proba(X)[:, 1]                                                  # doctest: +SKIP
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as type checkers know it; importing typing takes longer than all the rest
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

# name -> module, imported when first asked for, so that `import distpu` and `distpu --help` stay instant
_HOME = {
    "METHODS": "methods",
    "APU": "methods.apu",
    "CVIR": "methods.cvir",
    "LBE": "methods.lbe",
    "NNPU": "methods.nnpu",
    "PN": "methods.pn",
    "PULDA": "methods.pulda",
    "PUSB": "methods.pusb",
    "UPU": "methods.upu",
    "VPU": "methods.vpu",
    "DistPU": "methods.dist_pu",
    "ImbPU": "methods.imb_pu",
    "Naive": "methods.naive",
    "PUbN": "methods.pubn",
    "RankPruning": "methods.rank_pruning",
    "SelfPU": "methods.self_pu",
    "PAN": "methods.pan",
    "GenPU": "methods.genpu",
    "PULNS": "methods.pulns",
    "TEDn": "methods.tedn",
    "BaggingPU": "methods.bagging_pu",
    "ElkanNoto": "methods.elkan_noto",
    "TwoStep": "methods.two_step",
    "SEM": "methods.s_em",
    "LLGC": "methods.llgc",
    "MaxMarginPU": "methods.max_margin",
    "KLDCE": "methods.kldce",
    "KernelUPU": "methods.kernel_upu",
    "BlendPU": "methods.blend_pu",
    "AutoPU": "methods.auto",
    "DistPUBoost": "methods.dist_pu_boost",
    "DistPUPlus": "methods.dist_pu_plus",
    "NcPU": "methods.ncpu",
    "P3Mix": "methods.p3mix",
    "HolisticPU": "methods.holistic_pu",
    "RobustPU": "methods.robust_pu",
    "PUEstimator": "estimator",
    "TableEncoder": "encode",
    "load": "saved",
    "Answer": "answer",
    "fit_file": "answer",
    "next_rows": "answer",
    "Predictions": "predictions",
    "predict_file": "predictions",
    "Diagnosis": "diagnosis",
    "Finding": "diagnosis",
    "diagnose": "diagnosis",
    "draw_pu": "datasets.draw",
    "unlabelled_prior": "datasets.draw",
    "PriorEstimator": "prior",
    "estimate_prior": "prior",
    "prior_with_interval": "prior",
    "PUStratifiedKFold": "judge",
    "compare_methods": "judge",
    "make_pu_scorer": "judge",
    "Tuned": "tune",
    "tune_settings": "tune",
}
__all__ = [
    "PULNS",
    "GenPU",
    "PAN",
    "KernelUPU",
    "KLDCE",
    "MaxMarginPU",
    "LLGC",
    "APU",
    "CVIR",
    "LBE",
    "RobustPU",
    "HolisticPU",
    "P3Mix",
    "NcPU",
    "METHODS",
    "NNPU",
    "PN",
    "PULDA",
    "PUSB",
    "SEM",
    "UPU",
    "VPU",
    "Answer",
    "AutoPU",
    "BaggingPU",
    "BlendPU",
    "Diagnosis",
    "DistPU",
    "DistPUBoost",
    "DistPUPlus",
    "ElkanNoto",
    "Finding",
    "ImbPU",
    "Naive",
    "PUEstimator",
    "PUStratifiedKFold",
    "PUbN",
    "Predictions",
    "PriorEstimator",
    "RankPruning",
    "SelfPU",
    "TEDn",
    "TableEncoder",
    "Tuned",
    "TwoStep",
    "compare_methods",
    "diagnose",
    "draw_pu",
    "estimate_prior",
    "fit_file",
    "next_rows",
    "load",
    "make_pu_scorer",
    "predict_file",
    "prior_with_interval",
    "tune_settings",
    "unlabelled_prior",
]

if TYPE_CHECKING:
    from .answer import Answer, fit_file, next_rows
    from .datasets.draw import draw_pu, unlabelled_prior
    from .diagnosis import Diagnosis, Finding, diagnose
    from .encode import TableEncoder
    from .estimator import PUEstimator
    from .judge import PUStratifiedKFold, compare_methods, make_pu_scorer
    from .methods import METHODS
    from .methods.apu import APU
    from .methods.auto import AutoPU
    from .methods.bagging_pu import BaggingPU
    from .methods.blend_pu import BlendPU
    from .methods.cvir import CVIR
    from .methods.dist_pu import DistPU
    from .methods.dist_pu_boost import DistPUBoost
    from .methods.dist_pu_plus import DistPUPlus
    from .methods.elkan_noto import ElkanNoto
    from .methods.genpu import GenPU
    from .methods.holistic_pu import HolisticPU
    from .methods.imb_pu import ImbPU
    from .methods.kernel_upu import KernelUPU
    from .methods.kldce import KLDCE
    from .methods.lbe import LBE
    from .methods.llgc import LLGC
    from .methods.max_margin import MaxMarginPU
    from .methods.naive import Naive
    from .methods.ncpu import NcPU
    from .methods.nnpu import NNPU
    from .methods.p3mix import P3Mix
    from .methods.pan import PAN
    from .methods.pn import PN
    from .methods.pubn import PUbN
    from .methods.pulda import PULDA
    from .methods.pulns import PULNS
    from .methods.pusb import PUSB
    from .methods.rank_pruning import RankPruning
    from .methods.robust_pu import RobustPU
    from .methods.s_em import SEM
    from .methods.self_pu import SelfPU
    from .methods.tedn import TEDn
    from .methods.two_step import TwoStep
    from .methods.upu import UPU
    from .methods.vpu import VPU
    from .predictions import Predictions, predict_file
    from .prior import PriorEstimator, estimate_prior, prior_with_interval
    from .saved import load
    from .tune import Tuned, tune_settings


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    if name[:1].isupper():  # a method's class that was added to the dict and is not listed above
        from .methods import METHODS

        for method in METHODS.values():
            if method.__name__ == name:
                return method
    raise AttributeError(f"module 'distpu' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
