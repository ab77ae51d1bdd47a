"""AutoPU: takes the method that suits the data. A table gets BlendPU, images get Dist-PU.

Few small grey images get BlendPU as well, which takes their pixels for columns. Where they are few, a class is often
rare too, and then the network has too few labelled rows (docs/log: images of digits and of clothes).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..estimator import PUEstimator
from . import method_class

SMALL, FEW = 32 * 32, 10_000  # values of an image; images. What is no larger is learnt as a table

Self = TypeVar("Self", bound="AutoPU")


def suited(X: Any) -> str:
    """Return the name of the method for these rows: images have more than one axis to a row."""
    rows, *values = getattr(X, "shape", None) or np.asarray(X).shape
    as_table = len(values) < 2 or (rows <= FEW and np.prod(values) <= SMALL)
    return "blend-pu" if as_table else "dist-pu"


@dataclass(eq=False, repr=False, kw_only=True)
class AutoPU(PUEstimator):
    """Learns from labelled positives and unlabelled rows with nothing else given.

    A table is learnt by BlendPU, and so are few small grey images; other images are learnt by DistPU. `fit` sets:

    chosen_  the fitted method; its results (prior_, prior_interval_, threshold_ and others) are here as well
    method_  its name
    """

    name = "auto"
    paper = "distpu's own choice among its methods"
    takes_negatives = takes_weights = True  # if the method chosen does

    def fit(
        self: Self, X: Any, y: Any, *, sample_weight: Any = None, folder: str | Path | None = None, **refused: Any
    ) -> Self:
        """Learn from PU labels, as the method that suits X does. A folder holds that method's model."""
        self._check_parameters()
        self.method_ = suited(X)
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        more = refused if sample_weight is None else {"sample_weight": sample_weight, **refused}  # DistPU takes none
        self.chosen_ = method_class(self.method_)(**told).fit(X, y, folder=folder, **more)
        return self._take_fitted(self.chosen_)

    def judged(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return decision_function(X) and the probabilities of the positive class; the rows are scored once."""
        check_is_fitted(self)
        return self.chosen_.judged(X)

    def set_threshold(self: Self, threshold: Any) -> Self:
        """Move the cut of the fitted method: set_threshold("precision=0.9"). Nothing is fitted again."""
        check_is_fitted(self)
        self.chosen_.set_threshold(threshold)
        self.threshold = threshold
        return self._take_fitted(self.chosen_)

    def save(self, folder: str | Path) -> Path:
        """Write the fitted method into a new folder. `distpu.load` reads it back as that method."""
        check_is_fitted(self)
        return self.chosen_.save(folder)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
