"""MaxSim, the score of late interaction: how well a page's vectors answer a query's, each at its best.

`score(query, page) = sum over query vectors of the highest inner product with any vector of the page`,
of Khattab and Zaharia (2020), "ColBERT", section 3.3. With L2-normalized vectors each term is a cosine, so a
score lies in `-q` to `q`. What is no vector never wins: a padded place and a page without vectors count as
-inf, not as 0, which would beat a negative similarity.
"""

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


def best_matches(query: Vectors, vectors: Vectors, offsets: NDArray[np.int64]) -> Vectors:
    """The highest inner product of each query vector with any vector of each page.

    Args:
        query: `(q, dim)`.
        vectors: `(n, dim)`, the pages' vectors one page after the other.
        offsets: `(pages + 1,)`, rising: page `i` owns the vectors `offsets[i]` to `offsets[i + 1]`.

    Returns:
        `(pages, q)`; -inf for a page without vectors.

    Raises:
        ValueError: the offsets do not divide the vectors.
    """
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(vectors) or (np.diff(offsets) < 0).any():
        raise ValueError(f"offsets {offsets.tolist()[:4]}... do not divide {len(vectors)} vectors")
    return page_maxima(vectors @ query.T, offsets)


def page_maxima(similarities: Vectors, offsets: NDArray[np.int64]) -> Vectors:
    """The maxima of similarities `(n, q)` over each page's vectors: `(pages, q)`, -inf where a page has none.

    The offsets are those of `best_matches`.
    """
    best = np.full((len(offsets) - 1, similarities.shape[1]), -np.inf, np.float32)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled) and similarities.shape[1]:
        best[filled] = np.maximum.reduceat(similarities, offsets[:-1][filled], axis=0)
    return best


def best_matches_padded(query: Vectors, pages: Vectors, mask: NDArray[np.bool_]) -> Vectors:
    """The same over a padded batch.

    `(q, dim)`, `(pages, longest, dim)` and mask `(pages, longest)` to `(pages, q)`. Only places where the
    mask is True count, whatever the padded ones hold.
    """
    if not pages.shape[1]:
        return np.full((len(pages), len(query)), -np.inf, np.float32)
    similarities = np.where(mask[:, :, None], pages @ query.T, np.float32(-np.inf))
    best: Vectors = similarities.max(axis=1).astype(np.float32)
    return best


def total(best: Vectors) -> Vectors:
    """MaxSim itself: `(pages, q)` to `(pages,)`; a query without vectors scores 0 on every page."""
    score: Vectors = best.sum(axis=1, dtype=np.float32)
    return score


def maxsim(query: Vectors, vectors: Vectors, offsets: NDArray[np.int64]) -> Vectors:
    """MaxSim of a query `(q, dim)` with pages held one after the other (see `best_matches`): `(pages,)`."""
    return total(best_matches(query, vectors, offsets))


def best_pages(scores: Vectors, k: int) -> list[int]:
    """The `k` pages with the highest scores, best first; ties keep the order of the pages.

    Fewer where there are fewer; a page without vectors (-inf) is never among them.

    Raises:
        ValueError: `k` is below 1.
    """
    if k < 1:
        raise ValueError(f"k {k}: expected at least 1")
    rows = np.flatnonzero(scores > -np.inf)
    if len(rows) > k:
        least = np.partition(scores[rows], len(rows) - k)[len(rows) - k]
        rows = rows[scores[rows] >= least]
    order = np.argsort(-scores[rows], kind="stable")[:k]
    return [int(row) for row in rows[order]]
