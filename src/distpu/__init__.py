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
    "NNPU": "methods",
    "UPU": "methods",
    "DistPU": "methods",
    "Naive": "methods",
    "PUClassifier": "estimator",
    "draw_pu": "data",
    "estimate_prior": "prior",
    "load": "estimator",
    "unlabelled_prior": "data",
}
__all__ = [
    "METHODS",
    "NNPU",
    "UPU",
    "DistPU",
    "Naive",
    "PUClassifier",
    "draw_pu",
    "estimate_prior",
    "load",
    "unlabelled_prior",
]

if TYPE_CHECKING:
    from .data import draw_pu, unlabelled_prior
    from .estimator import PUClassifier, load
    from .methods import METHODS, NNPU, UPU, DistPU, Naive
    from .prior import estimate_prior


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'distpu' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
