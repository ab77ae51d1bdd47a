"""Two-step learning with spies (Liu, Lee, Yu and Li: Partially Supervised Classification of Text Documents, ICML 2002).

    step 1:  hide a share `spies` of P in U, fit P against U and spies;
             t = the score below which a share `noise` of the spies lies
             N = {unlabelled rows that score below t}, the reliable negatives
    step 2:  fit P against N;  rows that are in neither are left out

Step 1 is repeated until every labelled row has been a spy once. An unlabelled row's score is the median over the
repeats. N has at least a share `least_negatives` of U: where fewer rows score below t, N is the rows of U that score
lowest. With `confident`, step 2 is done a second time: rows that scored above `confident` join P, and rows that scored
below 1 - `confident` join N.

BBE finds a share of U from the spies' scores. The cut is step 2's own, at 1/2, unless more than that share or less than
a third of it lies above; then the cut is moved there. With the prior given as a number, that share of U lies above.
Probabilities are calibrated on scores of five folds of step 2.

Assumes: labelled positives are a random draw from all positives, so that a spy scores as a hidden positive does, and
positives and negatives can be told apart. No prior is needed; prior_ is the share of U that is predicted positive.

Differs from its public code: one draw of spies decides in the paper and in pulearn; here every labelled row is a spy
once. The paper's second step is EM with naive Bayes; here it is the classifier given, gradient boosting by default.
docs/methods/two-step.md has the reasons and the measurements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import _safe_indexing as take

from ..params import param
from ..prior import inside_unit
from ..prior.bbe import bbe
from ..threshold import cut_at
from ._wrapper import BOOSTING, Wrapper, log_odds, scores

STEP_2_FOLDS = 5  # for the calibration


@dataclass(eq=False, repr=False, kw_only=True)
class TwoStep(Wrapper):
    """Finds unlabelled rows that are surely negative, then learns the labelled rows against these."""

    name = "two-step"
    paper = "Liu et al., Partially Supervised Classification of Text Documents, ICML 2002"

    kept = ("reliable_negatives_",)
    scores_held_out = True
    search_inside = BOOSTING

    spies: float = param(0.15, "share of the labelled rows that are hidden in U at a time", above=0, most=0.5,
                         search=(0.05, 0.5))  # fmt: skip
    noise: float = param(0.1, "share of the spies that may score below t, the bound of N", least=0, below=1,
                         search=(0.0, 0.5))  # fmt: skip
    least_negatives: float = param(0.05, "N has at least this share of the unlabelled rows", above=0, below=1,
                                   search=(0.01, 0.8, "log"))  # fmt: skip
    confident: Any = param(None, "c, such as 0.9: a second round adds rows that score above c to P, and rows below "
                           "1 - c to N; None: no second round", least=0.5, below=1)  # fmt: skip

    def _default(self) -> Any:
        return HistGradientBoostingClassifier()

    def _learn(self, X: Any, s: np.ndarray, random: np.random.RandomState) -> None:
        P, U = np.flatnonzero(s == 1), np.flatnonzero(s == 0)
        told = self._prior_from(X, s, random)
        N, most = self._reliable_negatives(X, s, random)
        model = self._fit_against(X, P, N, random)
        if self.confident is not None:
            rest = np.setdiff1d(U, N)
            if len(rest):
                z, bound = log_odds(scores(model, take(X, rest)), [model]), logit(self.confident)
                P, N = np.append(P, rest[z > bound]), np.append(N, rest[z < -bound])
            model = self._fit_against(X, P, N, random)
        self.estimators_ = [model]
        self.reliable_negatives_ = np.sort(N)
        z = log_odds(scores(model, take(X, U)), [model])
        own = float(np.mean(z >= 0))  # step 2 calls too many where classes overlap, too few where few rows are labelled
        share = float(np.clip(own, most / 3, most)) if np.isnan(told) else told
        self.threshold_ = 0.0 if share == own and np.isnan(told) else cut_at(z, share)
        self.prior_ = inside_unit(float(np.mean(z >= self.threshold_)), s) if np.isnan(told) else told

        if self._calibrates():
            self._held_out = self._step_2_held_out(X, s, P, N, random)

    def _step_2_held_out(
        self, X: Any, s: np.ndarray, P: np.ndarray, N: np.ndarray, random: np.random.RandomState
    ) -> np.ndarray:
        """Return each row's score by a classifier of step 2 that was fitted without the row's fold."""
        fold, score = self._folds(X, s, STEP_2_FOLDS, random), np.full(len(s), np.nan)
        for i in range(fold.max() + 1):
            out = np.flatnonzero(fold == i)
            P_rest, N_rest = P[fold[P] != i], N[fold[N] != i]
            if len(P_rest) and len(N_rest):
                score[out] = scores(self._fit_against(X, P_rest, N_rest, random), take(X, out))
        return score

    def _reliable_negatives(self, X: Any, s: np.ndarray, random: np.random.RandomState) -> tuple[np.ndarray, float]:
        """Step 1: return the row numbers of N, and BBE's prior. To a model, a spy is an unlabelled row."""
        P, U = np.flatnonzero(s == 1), np.flatnonzero(s == 0)
        turn = self._folds(X, s, round(1 / self.spies), random)
        of_u, of_spies = [], np.empty(len(s))
        for i in range(turn[P].max() + 1):
            spies = np.flatnonzero((turn == i) & (s == 1))
            hidden = s.copy()
            hidden[spies] = 0
            model = self._fit_one(X, np.arange(len(s)), hidden, random, turn[P].max() + 2)
            of_spies[spies] = scores(model, take(X, spies))
            of_u.append(scores(model, take(X, U)))
        score = np.median(of_u, axis=0)  # a mean would spread less than the single scores of the spies
        below = U[score < np.quantile(of_spies[P], self.noise)]
        least = max(1, round(self.least_negatives * len(U)))
        shuffled = random.permutation(len(U))  # puts equal scores in random order
        lowest = U[shuffled[np.argsort(score[shuffled], kind="stable")]][:least]
        return below if len(below) >= least else lowest, inside_unit(bbe(of_spies[P], score), s)

    def _fit_against(self, X: Any, P: np.ndarray, N: np.ndarray, random: np.random.RandomState) -> Any:
        """Step 2: a classifier of P against N."""
        return self._fit_one(X, np.append(P, N), np.repeat([1, 0], [len(P), len(N)]), random, self._number + 1)

    def _decide(self, score: np.ndarray) -> np.ndarray:
        return log_odds(score, self.estimators_) - self.threshold_
