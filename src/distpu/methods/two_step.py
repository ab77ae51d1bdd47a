"""Two-step learning: reliable negatives first, then a classifier of the labelled rows against them.

    step 1:  N = reliable negatives among the unlabelled rows U
      reliable="spy"    hide a share `spies` of P in U, fit P against U and spies;
                        t = the score below which a share `noise` of the spies lies;  N = {U rows that score below t}
      reliable="1-dnf"  F = {features more frequent in P than in U};  N = {U rows with no feature of F}
      reliable="knn"    d = mean distance to the `neighbours` nearest labelled rows
                        N = the farthest half of {U rows whose d exceeds all but a share `noise` of P's own d}
    step 2:  fit P against N;  rows that are in neither are left out
    convergence:  fit P against N, move the rows of U that are called negative into N;  repeat until none moves

Spies: Liu, Lee, Yu and Li, Partially Supervised Classification of Text Documents, ICML 2002. 1-DNF and mapping
convergence: Yu, Han and Chang, PEBL: Web Page Classification without Negative Examples, TKDE 2004. Neighbours: Zhang
and Zuo, Reliable Negative Extracting Based on kNN for Learning from Positive and Unlabeled Examples, JCP 2009.

Spies are drawn several times, until every labelled row has been one, and the draws vote: N is the rows that most draws
score below t, which is to say that the median score lies below t. N has at least a share `least_negatives` of U: where
fewer rows qualify, N is the rows of U that come next. With `confident`, step 2 is done a second time: rows that scored
above `confident` join P, and rows that scored below 1 - `confident` join N.

Convergence eats the positives if it runs too long. It ends before the recall of labelled rows, each judged by models
fitted without it, falls more than `guard` below the highest recall so far. "auto" converges for 1-dnf only.

BBE finds a share of U from the scores of labelled rows that are held out. The cut is step 2's own, at 1/2, unless more
than that share or less than a third of it lies above; then the cut is moved there. With the prior given as a number,
that share of U lies above. Probabilities are calibrated on scores of five folds of step 2.

Assumes: labelled positives are a random draw from all positives, so that a spy scores as a hidden positive does, and
positives and negatives can be told apart. 1-dnf wants sparse features, such as words. knn wants columns in which
distance means something. No prior is needed; prior_ is the share of U that is predicted positive.

Differs from its public code: one draw of spies decides in the paper and in pulearn; here every labelled row is a spy
once. The paper's second step is EM with naive Bayes (SEM has it); here it is the classifier given, gradient boosting
by default. PEBL and the neighbours have no public code; their second step is a support vector machine, which
`estimator=LinearSVC()` gives. The guard is ours. docs/methods/two-step.md has the reasons and the measurements.
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
from ..weights import counted
from ._reliable import columns, distances, one_dnf, spy_bound
from ._wrapper import BOOSTING, Wrapper, log_odds, scores

STEP_2_FOLDS = 5  # for the calibration
MAPPING_FOLDS = 3  # models of a round of the convergence, each fitted without a third of the labelled rows
FARTHEST = 0.5  # share of the rows beyond P's own distances that count as reliable
ROUNDS = 20  # of the convergence, at most; three to ten are usual


@dataclass(eq=False, repr=False, kw_only=True)
class TwoStep(Wrapper):
    """Finds unlabelled rows that are surely negative, then learns the labelled rows against these."""

    name = "two-step"
    paper = "Liu et al., Partially Supervised Classification of Text Documents, ICML 2002"

    kept = ("reliable_negatives_",)
    scores_held_out = True
    search_inside = BOOSTING

    reliable: str = param("spy", "how reliable negatives are found: by spies, by features that P lacks, or by distance "
                          "from P", one_of=("spy", "1-dnf", "knn"))  # fmt: skip
    spies: float = param(0.15, "share of the labelled rows that are hidden in U at a time", above=0, most=0.5,
                         search=(0.05, 0.5))  # fmt: skip
    noise: float = param(0.1, "share of the spies, or for 'knn' of the labelled rows, beyond the bound of N", least=0,
                         below=1, search=(0.0, 0.5))  # fmt: skip
    neighbours: int = param(10, "labelled rows that a row is compared with, for 'knn'", least=1)
    convergence: Any = param("auto", "whether N takes up rows that are called negative until none is left; 'auto' does "
                             "so for '1-dnf'", one_of=("auto", True, False))  # fmt: skip
    guard: float = param(0.05, "the recall of labelled rows that convergence may lose", least=0, most=1)
    least_negatives: float = param(0.05, "N has at least this share of the unlabelled rows", above=0, below=1,
                                   search=(0.01, 0.8, "log"))  # fmt: skip
    confident: Any = param(None, "c, such as 0.9: a second round adds rows that score above c to P, and rows below "
                           "1 - c to N; None: no second round", least=0.5, below=1)  # fmt: skip

    def _default(self) -> Any:
        return HistGradientBoostingClassifier()

    def _learn(self, X: Any, s: np.ndarray, random: np.random.RandomState) -> None:
        P, U = np.flatnonzero(s == 1), np.flatnonzero(s == 0)
        told, held = self._prior_from(X, s, random), None
        N, most = self._by_spies(X, s, random) if self.reliable == "spy" else (self._by_columns(X, s), np.nan)
        if self.convergence is True or (self.convergence, self.reliable) == ("auto", "1-dnf"):
            N = self._converged(X, s, N, random)
        model = self._fit_against(X, P, N, random)
        if self.confident is not None:
            rest = np.setdiff1d(U, N)
            if len(rest):
                z, bound = log_odds(scores(model, take(X, rest)), [model]), logit(self.confident)
                P, N = np.append(P, rest[z > bound]), np.append(N, rest[z < -bound])
            model = self._fit_against(X, P, N, random)
        self.estimators_ = [model]
        self.reliable_negatives_ = np.sort(N)
        if np.isnan(most) or self._calibrates():
            held = self._step_2_held_out(X, s, P, N, random)
        if np.isnan(most) and held is not None:  # there were no spies
            rows = np.flatnonzero(~np.isnan(held))
            rows = rows[counted(held[rows], s[rows], None if self._weight is None else self._weight[rows])]
            most = inside_unit(bbe(held[rows][s[rows] == 1], held[rows][s[rows] == 0]), s)
        z = log_odds(scores(model, take(X, U)), [model])
        z = z[counted(z, s[U], None if self._weight is None else self._weight[U])]
        own = float(np.mean(z >= 0))  # step 2 calls too many where classes overlap, too few where few rows are labelled
        share = float(np.clip(own, most / 3, most)) if np.isnan(told) else told
        self.threshold_ = 0.0 if share == own and np.isnan(told) else cut_at(z, share)
        self.prior_ = inside_unit(float(np.mean(z >= self.threshold_)), s) if np.isnan(told) else told
        if self._calibrates():
            self._held_out = held

    def _by_columns(self, X: Any, s: np.ndarray) -> np.ndarray:
        """Step 1 without a classifier: return the row numbers of N."""
        x, U = columns(X, self.reliable), np.flatnonzero(s == 0)
        least = max(1, round(self.least_negatives * len(U)))
        if self.reliable == "1-dnf":
            return one_dnf(x, s, least)
        d = distances(x, s, self.neighbours)
        beyond = int((d[U] > -spy_bound(-d[s == 1], self.noise)).sum())
        return U[np.argsort(-d[U], kind="stable")[: max(least, round(FARTHEST * beyond))]]

    def _converged(self, X: Any, s: np.ndarray, N: np.ndarray, random: np.random.RandomState) -> np.ndarray:
        """Mapping convergence: return N, grown by rows of U that are called negative, as far as the guard allows."""
        P, U = np.flatnonzero(s == 1), np.flatnonzero(s == 0)
        fold = self._folds(X, s, MAPPING_FOLDS, random)[P]
        highest, before = 0.0, N
        for _ in range(ROUNDS):
            rest, found = np.setdiff1d(U, N), np.zeros(len(P), dtype=bool)
            of_rest = np.zeros(len(rest))
            for i in range(fold.max() + 1):
                model = self._fit_against(X, P[fold != i], N, random)
                found[fold == i] = log_odds(scores(model, take(X, P[fold == i])), [model]) >= 0
                if len(rest):
                    of_rest += log_odds(scores(model, take(X, rest)), [model])
            if found.mean() < highest - self.guard:
                break
            highest, before = max(highest, found.mean()), N
            if not (of_rest < 0).any():
                break
            N = np.append(N, rest[of_rest < 0])
        return before

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

    def _by_spies(self, X: Any, s: np.ndarray, random: np.random.RandomState) -> tuple[np.ndarray, float]:
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
        value = np.where(s == 1, of_spies, 0.0)
        value[U] = score
        rows = counted(value, s, self._weight)
        labelled, others = (value[rows][s[rows] == kind] for kind in (1, 0))
        below = U[score < spy_bound(labelled, self.noise)]
        least = max(1, round(self.least_negatives * len(U)))
        shuffled = random.permutation(len(U))  # puts equal scores in random order
        lowest = U[shuffled[np.argsort(score[shuffled], kind="stable")]][:least]
        return below if len(below) >= least else lowest, inside_unit(bbe(labelled, others), s)

    def _fit_against(self, X: Any, P: np.ndarray, N: np.ndarray, random: np.random.RandomState) -> Any:
        """Step 2: a classifier of P against N."""
        return self._fit_one(X, np.append(P, N), np.repeat([1, 0], [len(P), len(N)]), random, self._number + 1)

    def _place(self, rows: Any, seen: np.ndarray) -> None:
        self.reliable_negatives_ = seen[self.reliable_negatives_]

    def _decide(self, score: np.ndarray) -> np.ndarray:
        return log_odds(score, self.estimators_) - self.threshold_
