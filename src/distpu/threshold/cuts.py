"""Cuts: what a fitted method does with its scores. It decides, gives probabilities and moves its cut."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from .choice import read_choice
from .cut import Expected
from .fitted_cut import FittedCut

Self = TypeVar("Self", bound="Cuts")


class Cuts:
    """The part of PUEstimator that comes after the raw scores."""

    threshold: Any  # a parameter
    prior_: float
    threshold_: float
    classes_: np.ndarray
    cut_: FittedCut | None = None  # None without held-out rows

    def _rows(self, X: Any) -> Any:
        raise NotImplementedError

    def _raw_scores(self, rows: Any) -> np.ndarray:
        raise NotImplementedError

    def decision_function(self, X: Any) -> np.ndarray:
        """Return (n,): a row is predicted positive where the value is at least 0."""
        return self.judged(X)[0]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return (n, 2): the probabilities of classes_, which are [negative, positive].

        Calibrated probabilities are those among rows like the unlabelled ones, and the cut need not lie at 1/2.
        """
        p = self.judged(X)[1]
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> np.ndarray:
        """Return the user's own label values: the positive value where decision_function is at least 0."""
        positive = self.decision_function(X) >= 0
        return self.classes_[positive.astype(int)]

    def judged(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return decision_function(X) and the probabilities of the positive class; the rows are scored once."""
        check_is_fitted(self)
        return self._judged(self._raw_scores(self._rows(X)))

    def _judged(self, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = self._decide(score)
        if self.cut_ is None:
            return own, self._probability(own)
        z = self._calibrated_on(score)
        return z - self.cut_.at if self.cut_.chosen else own, self._in_population(self.cut_.calibration(z))

    def _decide(self, score: np.ndarray) -> np.ndarray:
        """Turn raw scores into the method's own decisions. By default a row is positive from the threshold on."""
        return score - self.threshold_

    def _probability(self, decision: np.ndarray) -> np.ndarray:
        """Turn the method's own decisions into its own probabilities, which are used without held-out rows."""
        return expit(decision)

    def _calibrated_on(self, score: np.ndarray) -> np.ndarray:
        """Return the scale on which raw scores are calibrated and cut. It must have the order of `_decide`."""
        return self._decide(score)

    def _in_population(self, p: np.ndarray) -> np.ndarray:
        """Turn probabilities among rows like the unlabelled ones into those of the population that a user wants."""
        return p

    def set_threshold(self: Self, threshold: Any) -> Self:
        """Move the cut of a fitted method: set_threshold("precision=0.9"). Nothing is fitted again."""
        check_is_fitted(self)
        choice = read_choice(threshold)
        if self.cut_ is not None:
            self.cut_ = self.cut_.moved(choice)
        elif choice.kind != "auto":
            raise ValueError(
                f"threshold={threshold!r} needs held-out rows, and {type(self).__name__} was fitted without; "
                "fit again with calibrate=True"
            )
        self.threshold = threshold
        return self

    @property
    def expected_(self) -> Expected | None:
        """What the cut should give, and how many positives are hidden, with errors; None without held-out rows."""
        if self.cut_ is None:
            return None
        return self.cut_.expected(getattr(self, "prior_interval_", None))
