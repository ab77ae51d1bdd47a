"""S-EM (Liu, Lee, Yu, Li: Partially Supervised Classification of Text Documents, ICML 2002). Spies, then EM.

    naive Bayes:  n_dw = how often word w is in document d;  q_d = P(y=1 | d)
                  theta_c(w) = (1 + sum_d q_dc n_dw) / (|V| + sum_w sum_d q_dc n_dw),   P(c) = mean of q_c
                  z_d = log P(1) / P(0) + sum_w n_dw log theta_1(w) / theta_0(w),   q_d = sigma(z_d)
    step 1:       hide a share `spies` of P in U; EM with q = 1 on the rest of P, starting from q = 0 on U and spies
                  t = the spies' z below which a share `noise` lies;  N = {U rows with z < t}
    step 2:       EM with q = 1 on the rest of P, starting from q = 0 on N; U, N and the spies are free to move
    stop rule:    error(f) = Pr[f=1] - prior + 2 prior Pr[f=0 | y=1];  stop where the error rises, keep the round before
    at last:      the spies return to P, and naive Bayes is fitted once more

Pr[f=1] is over U, and Pr[f=0 | y=1] over the spies, which no round of step 2 has seen as positives.

Assumes: labelled positives are a random draw from all positives; columns are counts, such as words of a text, and
independent within a class. A table of other numbers is turned into words first: each column is cut into `bins` ranges
with as many rows each, and each range is a word. The prior is needed for the stop rule and for the cut.

Differs from its public code, which is a program without sources: the cut is the prior's quantile of out-of-fold scores,
since naive Bayes is far too sure of itself. One model per fold is fitted, and the mean of their scores counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.special import expit

from ..params import param
from ._folded import FoldedMethod
from ._reliable import spy_bound

ROUNDS = 30  # of EM, at most
STILL = 1e-3  # EM of step 1 ends where no q moves more than that


def naive_bayes(n: Any, q: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
    """M step: return log theta_1 / theta_0 of each word, and log P(1) / P(0). `weight` is 0 for rows left out."""
    logs = []
    for share in (weight * q, weight * (1 - q)):
        count = n.T @ share
        logs.append(np.log((1 + count) / (n.shape[1] + count.sum())))
    positive, negative = ((weight * share).sum() for share in (q, 1 - q))
    return logs[0] - logs[1], float(np.log(max(positive, 1e-12)) - np.log(max(negative, 1e-12)))


def expected_error(positive: float, missed: float, prior: float) -> float:
    """error(f) = Pr[f=1] - prior + 2 prior Pr[f=0 | y=1]."""
    return positive - prior + 2 * prior * missed


def missed(z: np.ndarray) -> float:
    """Pr[f=0 | y=1], from scores of positives that were held out."""
    return float((z < 0).mean()) if len(z) else 0.0


class Words:
    """Counts of words. Non-negative numbers are counts if they are whole or sparse; other columns are cut into bins."""

    def __init__(self, counts: Any, bins: int) -> None:
        self.counts, self.bins = counts, bins

    def fit(self, x: Any) -> Words:
        self.edges: Any = None
        values = x.data if issparse(x) else x[~np.isnan(x)]
        whole = issparse(x) or not (values % 1).any()
        counts = not (values < 0).any() and whole if self.counts == "auto" else self.counts
        if counts and (values < 0).any():
            raise ValueError(f"counts=True, but X holds {values.min():g}; counts are at least 0; use counts=False")
        if not counts:
            x = x.toarray() if issparse(x) else x
            blank = np.isnan(x).all(0)
            inner = np.linspace(0, 1, self.bins + 1)[1:-1]
            self.edges = np.nanquantile(np.where(blank, 0, x), inner, axis=0).T  # (columns, bins - 1)
        return self

    def __call__(self, x: Any) -> Any:
        if self.edges is None:
            return csr_matrix(np.nan_to_num(x)) if not issparse(x) else csr_matrix(x)
        x = x.toarray() if issparse(x) else x
        row, column = np.nonzero(~np.isnan(x))  # a blank is no word
        place = (x[row, column][:, None] > self.edges[column]).sum(1)
        width = self.bins * x.shape[1]
        return csr_matrix((np.ones(len(row)), (row, column * self.bins + place)), shape=(len(x), width))


class SpyEM:
    """The member: naive Bayes by the two steps."""

    def __init__(self, words: Words, spies: float, noise: float) -> None:
        self.words, self.spies, self.noise = words, spies, noise

    def fit(self, x: Any, s: np.ndarray, prior: float, random: np.random.RandomState) -> SpyEM:
        n = self.words.fit(x)(x)
        P, U = random.permutation(np.flatnonzero(s == 1)), np.flatnonzero(s == 0)
        spies, fixed = np.split(P, [min(max(1, round(self.spies * len(P))), len(P) - 1)])
        free = s == 0
        free[spies] = True
        q, everywhere = (~free).astype(float), np.ones(len(s))

        for _ in range(ROUNDS):  # step 1
            word, bias = naive_bayes(n, q, everywhere)
            z, before = n @ word + bias, q
            q = np.where(free, expit(z), 1.0)
            if np.abs(q - before).max() < STILL:
                break
        N = U[z[U] < spy_bound(z[spies], self.noise)] if len(spies) else U[:0]
        if not len(N):  # all spies score lowest, or there are none
            N = U[np.argsort(z[U], kind="stable")[: max(1, len(U) // 20)]]

        q, weight = np.zeros(len(s)), np.zeros(len(s))  # step 2
        q[fixed], weight[fixed], weight[N] = 1.0, 1.0, 1.0
        least, kept = np.inf, q
        for _ in range(ROUNDS):
            word, bias = naive_bayes(n, q, weight)
            z = n @ word + bias
            error = expected_error(float((z[U] >= 0).mean()), missed(z[spies]), prior)
            if error > least:
                break
            least, kept, weight = error, np.where(free, expit(z), 1.0), everywhere
            if np.abs(kept - q).max() < STILL:
                break
            q = kept
        kept[P] = 1.0
        word, bias = naive_bayes(n, kept, everywhere)
        self.state = [word, bias, self.words.edges]
        return self

    def scores(self, x: Any) -> np.ndarray:
        word, bias, self.words.edges = self.state
        return np.asarray(self.words(x) @ word + bias, dtype=float)


@dataclass(eq=False, repr=False, kw_only=True)
class SEM(FoldedMethod):
    """Spies and naive Bayes with expectation-maximisation, for counts such as the words of texts."""

    name = "s-em"
    paper = "Liu et al., Partially Supervised Classification of Text Documents, ICML 2002"

    spies: float = param(0.15, "share of the labelled rows that are hidden in U", above=0, most=0.5,
                         search=(0.05, 0.5))  # fmt: skip
    noise: float = param(0.15, "share of the spies that may score below t, the bound of N", least=0, below=1,
                         search=(0.0, 0.5))  # fmt: skip
    counts: Any = param("auto", "whether X holds counts; False cuts columns into bins; 'auto' takes whole or sparse "
                        "numbers from 0 on for counts", one_of=("auto", True, False))  # fmt: skip
    bins: int = param(5, "words that a column becomes which holds no counts", least=2, search=(2, 20))

    def _member(self) -> SpyEM:
        return SpyEM(Words(self.counts, self.bins), self.spies, self.noise)
