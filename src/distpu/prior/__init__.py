"""How many of the unlabelled rows are positive? Class-prior estimators on out-of-fold scores.

All of them need some region that is almost purely positive. Where there is none they return
kappa* = inf p_U / p_P, the largest share consistent with the data; PU data alone cannot tell the two apart.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict
from collections.abc import Callable

import numpy as np

from .bbe import bbe
from .scores import out_of_fold_scores

PriorEstimator = Callable[[np.ndarray, np.ndarray], float]  # (scores of labelled, scores of unlabelled) -> share


ESTIMATORS: dict[str, PriorEstimator] = {"bbe": bbe}

# Six draws of breast-cancer at a true 0.30: of 5 labelled rows 0.28 to 1.0, of 10 0.24 to 0.66, of 20 0.31 to 0.38
FEW = 20


_recent: OrderedDict[str, float] = OrderedDict()  # ten methods on one data set need one estimate


def estimate_prior(x: np.ndarray, s: np.ndarray, estimator: str = "bbe") -> float:
    """Share of positives among the unlabelled rows, kept strictly between 0 and 1."""
    if (s == 1).sum() < 2:
        raise ValueError(
            "prior='auto' needs at least 2 labelled positives to estimate from; give the prior as a number"
        )
    key = hashlib.sha256(np.ascontiguousarray(x).data).hexdigest() + hashlib.sha256(s.tobytes()).hexdigest() + estimator
    if key not in _recent:
        share = ESTIMATORS[estimator](*out_of_fold_scores(x, s))
        least = 1 / (1 + int((s == 0).sum()))
        _recent[key] = min(max(share, least), 1 - least)
        if (labelled := int((s == 1).sum())) < FEW:
            warnings.warn(
                f"the prior is estimated at {_recent[key]:.2g} from {labelled} labelled positives: below {FEW} such an "
                "estimate may be off by a factor of two or more; give the prior as a number if you know it",
                UserWarning,
                stacklevel=2,
            )
        while len(_recent) > 64:
            _recent.popitem(last=False)
    return _recent[key]
