"""Many rankings into one: weighted reciprocal ranks, plus the pages that a query names.

Reciprocal-rank fusion (Cormack, Clarke and Buettcher 2009) needs no common scale of scores. Their constant k,
60 for a whole web, grows here with the document: half the square root of its pages.
"""

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]

NEIGHBOURS, NEIGHBOURED = 0.1, 3  # share of its score that a page lends, and how many pages lend

# What each signal adds at its best page. Rankings vote by rank, those of `STRENGTHS` by their strength.
WEIGHTS: Mapping[str, float] = {
    "late interaction": 1.0,
    "pooled": 1.0,
    "bm25 pages": 1.0,
    "bm25 blocks": 1.0,
    "bm25 lines": 1.0,
    "vocabulary pages": 1.5,
    "vocabulary lines": 1.5,
    "lookups": 4.0,
    "statements": 4.0,
    "documents": 4.0,
}
# In filings every page speaks of revenue, assets and taxes, so single words tell pages apart less and whole
# windows more.
FILING_WEIGHTS: Mapping[str, float] = {
    **WEIGHTS,
    "pooled": 1.5,
    "bm25 pages": 0.5,
    "bm25 blocks": 0.5,
    "bm25 lines": 0.5,
}
STRENGTHS = frozenset({"lookups", "statements", "documents"})


def reciprocal_ranks(scores: Scores) -> Scores:
    """`(n,)` scores to `(k + 1) / (k + rank)`: 1 for the best, falling with the rank from 1.

    Ties keep the order of the pages. A page without a score (-inf) gets 0, and so does every page where all
    score the same: such a signal says nothing.
    """
    votes = np.zeros(len(scores), dtype=np.float32)
    k = 0.5 * len(scores) ** 0.5
    finite = np.isfinite(scores)
    if not finite.any() or (finite.all() and np.ptp(scores) == 0):
        return votes
    order = np.argsort(-scores, kind="stable")[: int(finite.sum())]
    votes[order] = (k + 1) / (k + 1 + np.arange(len(order), dtype=np.float32))
    return votes


def fuse(signals: Mapping[str, Scores], weights: Mapping[str, float] = WEIGHTS) -> Scores:
    """Adds up signals `(n,)` by name; those without a weight are left out.

    Raises:
        ValueError: no signal at all, or signals of different lengths.
    """
    lengths = {len(scores) for scores in signals.values()}
    if len(lengths) != 1:
        raise ValueError(f"signals of lengths {sorted(lengths)}: expected one length")
    total = np.zeros(lengths.pop(), dtype=np.float32)
    for name, scores in signals.items():
        weight = weights.get(name, 0.0)
        if weight:
            total += weight * (scores if name in STRENGTHS else reciprocal_ranks(scores))
    return total


def with_neighbours(
    scores: Scores,
    share: float = NEIGHBOURS,
    best: int = NEIGHBOURED,
    starts: Collection[int] = (),
) -> Scores:
    """Gives the pages beside the `best` pages a share of those pages' scores; the first page stays first.

    Evidence runs over page breaks: long tables, sections, facing pages. `starts` are the rows where another
    document begins: no page has a neighbour on the other side of one.
    """
    raised = scores.copy()
    order = ranking(scores)
    for row in order[:best]:
        for beside in (row - 1, row + 1):
            if 0 <= beside < len(scores) and max(row, beside) not in starts:
                raised[beside] += share * max(0.0, float(scores[row]))
    if order and ranking(raised)[0] != order[0]:
        raised[order[0]] = np.nextafter(raised.max(), np.float32(np.inf))
    return raised


def ranking(scores: Scores) -> list[int]:
    """Pages, 0-based, best first; ties keep the order of the pages."""
    return [int(i) for i in np.argsort(-scores, kind="stable")]
