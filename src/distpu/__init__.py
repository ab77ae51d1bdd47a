"""distpu: learning from positive and unlabelled data. scikit-learn outside, PyTorch inside.

>>> from distpu import DistPU
>>> clf = DistPU().fit(X, y)                 # y: 1 = known positive, 0 = unlabelled        # doctest: +SKIP
>>> clf.prior_, clf.predict_proba(X)[:, 1]                                                  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# name -> module, imported when first asked for, so that `import distpu` and `distpu --help` stay instant
_HOME = {
    "METHODS": "methods",
    "APU": "methods",
    "CVIR": "methods",
    "LBE": "methods",
    "NNPU": "methods",
    "PN": "methods",
    "PULDA": "methods",
    "PUSB": "methods",
    "UPU": "methods",
    "VPU": "methods",
    "DistPU": "methods",
    "ImbPU": "methods",
    "Naive": "methods",
    "PUbN": "methods",
    "RankPruning": "methods",
    "SelfPU": "methods",
    "TEDn": "methods",
    "BaggingPU": "methods",
    "ElkanNoto": "methods",
    "TwoStep": "methods",
    "PUEstimator": "estimator",
    "load": "saved",
    "Answer": "answer",
    "fit_file": "answer",
    "draw_pu": "datasets.draw",
    "unlabelled_prior": "datasets.draw",
    "estimate_prior": "prior",
    "PUStratifiedKFold": "tune",
    "compare_methods": "tune",
    "make_pu_scorer": "tune",
}
__all__ = [
    "APU",
    "CVIR",
    "LBE",
    "METHODS",
    "NNPU",
    "PN",
    "PULDA",
    "PUSB",
    "UPU",
    "VPU",
    "Answer",
    "BaggingPU",
    "DistPU",
    "ElkanNoto",
    "ImbPU",
    "Naive",
    "PUEstimator",
    "PUStratifiedKFold",
    "PUbN",
    "RankPruning",
    "SelfPU",
    "TEDn",
    "TwoStep",
    "compare_methods",
    "draw_pu",
    "estimate_prior",
    "fit_file",
    "load",
    "make_pu_scorer",
    "unlabelled_prior",
]

if TYPE_CHECKING:
    from .answer import Answer, fit_file
    from .datasets.draw import draw_pu, unlabelled_prior
    from .estimator import PUEstimator
    from .methods import (
        APU,
        CVIR,
        LBE,
        METHODS,
        NNPU,
        PN,
        PULDA,
        PUSB,
        UPU,
        VPU,
        BaggingPU,
        DistPU,
        ElkanNoto,
        ImbPU,
        Naive,
        PUbN,
        RankPruning,
        SelfPU,
        TEDn,
        TwoStep,
    )
    from .prior import estimate_prior
    from .saved import load
    from .tune import PUStratifiedKFold, compare_methods, make_pu_scorer


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
