"""Texts as numbers: TF-IDF of words and of runs of letters, and their main directions (truncated SVD)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .cells import Cells
from .state import Rules, array, check, is_distinct, is_whole

WORD = r"(?u)\b\w+\b|[!?$€£%@#]"
ROWS = 20_000  # different texts to learn from


@dataclass
class NGrams:
    """Weights of words and of runs of letters, projected on a few directions."""

    words: list[str] = field(default_factory=list)
    letters: list[str] = field(default_factory=list)
    idf: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32))
    directions: np.ndarray = field(default_factory=lambda: np.empty((0, 0), np.float32))  # (terms, components)

    RULES: ClassVar[Rules] = {
        "words": (is_distinct, "a list of different strings"),
        "letters": (is_distinct, "a list of different strings"),
        "components": (lambda v: is_whole(v, 1, 10_000), "a whole number from 1 to 10,000"),
    }

    @property
    def width(self) -> int:
        return self.directions.shape[1]

    def names(self, name: str) -> list[str]:
        return [f"{name} (text {i + 1})" for i in range(self.width)]

    @classmethod
    def fit(cls, texts: Sequence[str], components: int, terms: int, words: bool = True) -> NGrams | None:
        """Learn from different texts; None if they have too little in common."""
        from sklearn.utils.extmath import randomized_svd
        from threadpoolctl import threadpool_limits

        if len(texts) > ROWS:
            texts = [texts[i] for i in np.sort(np.random.RandomState(0).permutation(len(texts))[:ROWS])]
        made = cls()
        made.words = _frequent(_counter(None, True), texts, terms) if words else []
        made.letters = _frequent(_counter(None, False), texts, terms)
        if len(made.words) + len(made.letters) < 2:
            return None
        counts = made._counts(texts)
        frequency = np.asarray((counts > 0).sum(0)).ravel()
        made.idf = (np.log((1 + len(texts)) / (1 + frequency)) + 1).astype(np.float32)
        weights = made._weights(texts)
        k = min(components, *(n - 1 for n in weights.shape))
        if k < 1:
            return None
        with threadpool_limits(1, "blas"):  # sums of several threads differ in the last bits, and so would the numbers
            _, size, directions = randomized_svd(weights, k, random_state=0)
        kept = size > 1e-6
        made.directions = np.ascontiguousarray(directions[kept].T.astype(np.float32))
        return made if made.width else None

    def write(self, texts: Cells, out: np.ndarray) -> None:
        """Fill `out` with the projections. A blank has 0 in all of them."""
        rows = np.zeros((len(texts.values or []), self.width), dtype=np.float32)
        for start in range(0, len(rows), ROWS):  # the runs of letters of a million texts need much memory
            rows[start : start + ROWS] = self._weights((texts.values or [])[start : start + ROWS]) @ self.directions
        out[:] = texts.taken(rows, np.zeros(self.width))

    def _counts(self, texts: Sequence[str]) -> Any:
        from scipy.sparse import hstack

        parts = [(self.words, True), (self.letters, False)]
        made = [_counter(vocabulary, words).transform(texts) for vocabulary, words in parts if vocabulary]
        return hstack(made, format="csr", dtype=np.float32)

    def _weights(self, texts: Sequence[str]) -> Any:
        from sklearn.preprocessing import normalize

        counts = self._counts(texts)
        counts.data = (1 + np.log(counts.data)) * self.idf[counts.indices]
        n = len(self.words)
        if not n or n == counts.shape[1]:
            return normalize(counts)
        from scipy.sparse import hstack

        return hstack([normalize(counts[:, :n]), normalize(counts[:, n:])], format="csr", dtype=np.float32)

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        state = {"words": self.words, "letters": self.letters, "components": self.width}
        return state, {"idf": self.idf, "directions": self.directions}

    @classmethod
    def from_state(cls, state: Any, arrays: dict[str, np.ndarray], where: str) -> NGrams:
        check(state, cls.RULES, where)
        n = len(state["words"]) + len(state["letters"])
        idf = array(arrays, "idf", (n,), where)
        return cls(state["words"], state["letters"], idf, array(arrays, "directions", (n, state["components"]), where))


def _counter(vocabulary: list[str] | None, words: bool) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    how: dict[str, Any] = dict(analyzer="char_wb", ngram_range=(3, 4))
    if words:
        how = dict(token_pattern=WORD, ngram_range=(1, 2))
    return CountVectorizer(vocabulary=vocabulary, dtype=np.float32, **how)


def _frequent(counter: Any, texts: Sequence[str], terms: int) -> list[str]:
    """Return the terms of at least two texts, the most frequent `terms` of them, sorted."""
    counter.min_df, counter.max_features = 2 if len(texts) > 20 else 1, terms
    try:
        return sorted(counter.fit(texts).vocabulary_)
    except ValueError:  # no term is in two texts
        return []
