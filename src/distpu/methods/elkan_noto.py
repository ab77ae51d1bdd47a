"""Elkan and Noto: Learning Classifiers from Only Positive and Unlabeled Data, KDD 2008. Around any classifier.

    g(x) = P(s=1 | x)          a classifier of labelled against unlabelled rows
    c    = P(s=1 | y=1)        = E_P[g], the mean score of labelled rows by models that never saw them
    prior = n_P (1 - c) / (c n_U), or BBE's on the same scores where that is less

    case-control:  P(y=1 | x) = (1 - c) / c * g / (1 - g)     among rows such as the unlabelled ones
    single-set:    P(y=1 | x) = g / c                          among rows such as labelled and unlabelled together

Both are cut off at 1. The rows are split into folds, and each fold's model scores the rows that it did not see, so that
all labelled rows count for c. g is the mean of the folds' models, calibrated to P(s=1 | x) by an isotonic regression on
those out-of-fold scores. This decides which rows are called. Probabilities are calibrated on the same scores by
distpu.threshold, which keeps their mean at the prior; with calibrate=False they are those above.
A prior given as a number gives c = n_P / (n_P + prior n_U) instead.

Assumes: labelled positives are a random draw from all positives (SCAR), and positives and negatives hardly overlap,
since g reaches c only where a row is surely positive. Overlap, a weak classifier or few labelled rows make the prior
too large. Only the order of the classifier's scores counts: calibration undoes class weights and overconfidence.

Differs from its public code: pulearn holds out one tenth of the labelled rows, does not calibrate, and returns g / c
without a cut at 1. The paper calibrates by Platt's sigmoid; here the regression is isotonic. docs/methods/elkan-noto.md
has the reasons and the measurements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression

from ..datasets.draw import SCENARIOS
from ..params import param
from ..prior import inside_unit
from ..prior.bbe import bbe
from ..prior.elkan_noto import elkan_noto
from ..threshold import with_share
from ..weights import counted, total
from ._wrapper import BOOSTING, TINY, Wrapper, log_odds


@dataclass(eq=False, repr=False, kw_only=True)
class ElkanNoto(Wrapper):
    """Learns labelled against unlabelled rows, then divides a score by the score of a sure positive."""

    name = "elkan-noto"
    paper = "Elkan and Noto, Learning Classifiers from Only Positive and Unlabeled Data, KDD 2008"

    also_fitted = ("c_", "center_", "spread_")
    kept = ("calibration_", "oof_decision_function_")
    per_row = "oof_decision_function_"
    scores_held_out = True
    search_inside = BOOSTING

    folds: int = param(5, "number of models, each fitted without one fold of the rows", least=2)
    calibrate: Any = param(
        True,
        "the cut by isotonic regression on the out-of-fold scores, and probabilities calibrated on them, also 'auto'; "
        "False takes the classifier's probabilities",
        one_of=("auto", True, False),
    )
    scenario: str = param("case-control", "probabilities are those among the unlabelled rows, or among all rows",
                          one_of=SCENARIOS)  # fmt: skip

    def _default(self) -> Any:
        return HistGradientBoostingClassifier()

    def _learn(self, X: Any, s: np.ndarray, random: np.random.RandomState) -> None:
        told = self._prior_from(X, s, random)
        self.estimators_, score = self._cross_fitted(X, s, self.folds, random)
        i = counted(score, s, self._weight)
        z, t = score[i], s[i]
        self.calibration_ = IsotonicRegression(out_of_bounds="clip").fit(z, t) if self.calibrate else None
        self.center_, self.spread_ = float(z.mean()), float(z.std()) or 1.0
        n_p, n_u = total(self._weight, s == 1), total(self._weight, s == 0)
        g = expit(self._z(z))
        own = elkan_noto(g[t == 1], g[t == 0], calibrate=False)  # too large where classes overlap; BBE may be lower
        least = min(own, bbe(z[t == 1], z[t == 0]))
        self.prior_ = inside_unit(least, s) if np.isnan(told) else told
        self.c_ = n_p / (n_p + self.prior_ * n_u)
        share = self.c_ / 2 if self.scenario == "single-set" else self.c_ / (2 - self.c_)  # g where P(y=1 | x) = 1/2
        self.threshold_ = float(logit(share))
        self.oof_decision_function_ = self._decide(score)
        self._held_out = score

    def _z(self, score: np.ndarray) -> np.ndarray:
        """Return the log-odds of g."""
        if self.calibration_ is None:
            return log_odds(score, self.estimators_)
        z = logit(np.clip(self.calibration_.predict(score), TINY, 1 - TINY))
        return z + TINY * (score - self.center_) / self.spread_  # keeps the order on flat steps of the regression

    def _decide(self, score: np.ndarray) -> np.ndarray:
        """Return log(2 P(y=1 | x)). It is not cut off at P = 1, so that sure positives keep their order."""
        if self.scenario == "single-set":
            return np.log(2 / self.c_) + log_expit(self._z(score))
        return np.log(2 * (1 - self.c_) / self.c_) + self._z(score)

    def _probability(self, decision: np.ndarray) -> np.ndarray:
        return np.exp(np.minimum(decision, np.log(2))) / 2

    def _calibrated_on(self, score: np.ndarray) -> np.ndarray:
        return log_odds(score, self.estimators_)  # the isotonic regression has seen the rows that are held out

    def _in_population(self, p: np.ndarray) -> np.ndarray:
        if self.scenario == "case-control" or self.cut_ is None:
            return p
        n_p, n_u = self.cut_.held_out.labelled.rows, self.cut_.held_out.total
        return with_share(p, self.prior_, (n_p + self.prior_ * n_u) / (n_p + n_u))
