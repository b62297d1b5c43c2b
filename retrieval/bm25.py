"""BM25 over the pages, blocks and lines of a document, built from its words in a fraction of a second.

bm25s holds the score of every term in every unit; a query is a weighted sum of those columns, so that words
that were added to the query can count less than the user's own.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]


class Bm25:
    """BM25 scores (Lucene's variant) of `n` units of text, such as pages.

    A unit without terms always scores 0, and so does every unit of a document without any text.
    """

    def __init__(self, units: Sequence[Sequence[str]], *, k1: float = 1.5, b: float = 0.75) -> None:
        self.n = len(units)
        self._vocabulary: dict[str, int] = {}
        ids = [[self._vocabulary.setdefault(t, len(self._vocabulary)) for t in unit] for unit in units]
        self._idf = np.zeros(0, dtype=np.float32)
        if not self._vocabulary:  # bm25s raises on a corpus without a term
            return
        import bm25s

        index = bm25s.BM25(method="lucene", k1=k1, b=b)
        index.index((ids, self._vocabulary), create_empty_token=False, show_progress=False)
        self._data = np.asarray(index.scores["data"], dtype=np.float32)
        self._units = np.asarray(index.scores["indices"], dtype=np.int64)
        self._starts = np.asarray(index.scores["indptr"], dtype=np.int64)
        found = np.diff(self._starts)[: len(self._vocabulary)]
        self._idf = np.log1p((self.n - found + 0.5) / (found + 0.5)).astype(np.float32)

    def scores(self, terms: Mapping[str, float]) -> Scores:
        """Scores `(n,)` of the units for weighted terms; terms that occur nowhere add nothing."""
        total = np.zeros(self.n, dtype=np.float32)
        for term, weight in terms.items():
            units, values = self._column(term)
            total[units] += weight * values  # a unit stands in a column once
        return total

    def coverage(self, terms: Mapping[str, float]) -> Scores:
        """Share `(n,)`, 0 to 1, of the query's terms that a unit holds, each weighted by its rarity."""
        total, most = np.zeros(self.n, dtype=np.float32), 0.0
        for term, weight in terms.items():
            value = weight * self.idf(term)
            total[self._column(term)[0]] += value
            most += value
        return total / np.float32(most) if most else total

    def worth(self, unit: Collection[str], terms: Mapping[str, float]) -> float:
        """How much of the query a piece of text holds: the summed weight times rarity of the terms it has."""
        return sum(weight * self.idf(term) for term, weight in terms.items() if term in unit)

    def idf(self, term: str) -> float:
        """How rare a term is among the units; a term that occurs nowhere is as rare as can be."""
        place = self._vocabulary.get(term)
        return float(np.log1p(2 * self.n + 1)) if place is None else float(self._idf[place])

    def _column(self, term: str) -> tuple[NDArray[np.int64], Scores]:
        place = self._vocabulary.get(term)
        if place is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        part = slice(self._starts[place], self._starts[place + 1])
        return self._units[part], self._data[part]


def max_pool(scores: Scores, owners: NDArray[np.int64], n: int) -> Scores:
    """Best score `(n,)` of the units each owner has, 0 where it has none; `owners` are 0-based."""
    pooled = np.zeros(n, dtype=np.float32)
    np.maximum.at(pooled, owners, scores)
    return pooled
