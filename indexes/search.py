"""The pages that answer a query best, by late interaction with all pages or only with likely ones."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from indexes.encoders.protocol import QueryEmbedding
from indexes.errors import InputError
from indexes.maxsim import best_pages, total
from indexes.types import PageRef

if TYPE_CHECKING:
    from indexes.ivf import Ivf

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Compare = Callable[[Rows], Floats]
Method = Literal["auto", "exact", "ivf"]
METHODS: tuple[Method, ...] = ("auto", "exact", "ivf")
FEW = 0.25  # share of the pages up to which they are compared one by one rather than all at once
STEP = 2  # pages compared at a time that may still be among the best
TINY = 1e-6  # nothing is estimated better
LATEST, LIKELY_STEP = 64, 32  # pages that tell how far estimates are off; of likely pages compared at a time
SMALL = 1000  # pages up to which all are compared where the method is left open


class Searchable(Protocol):
    """Pages whose vectors can be compared with a query's: one document's or many documents'.

    `ivf` is the structure over them that finds likely pages, if there is one.
    """

    refs: tuple[PageRef, ...]
    ivf: "Ivf | None"

    def best_matches(self, query: QueryEmbedding, rows: Sequence[int] | None = None) -> Floats:
        """Each query vector's highest similarity on the pages in `rows`, else on all: `(pages, q)`."""
        ...

    def ceilings(self, query: QueryEmbedding, rows: Sequence[int] | None = None) -> Floats | None:
        """What each query vector's highest similarity is not above, on the same pages: `(pages, q)`.

        None where it can't be told more quickly than the similarity itself.
        """
        ...


def search(index: Searchable, query: QueryEmbedding, k: int, method: Method) -> list[tuple[PageRef, float]]:
    """The `k` best pages with their MaxSim, best first; ties keep the order of the pages.

    Fewer where fewer have vectors, none for a query without vectors.

    Args:
        index: where to search.
        query: the query.
        k: how many pages.
        method: `exact` compares all pages, but those that cannot be among the best. `ivf` compares pages
            that FAISS finds likely, just as exactly, until the next is hardly among the best; where it finds
            fewer than `k`, it does as `exact`. `auto` is `ivf` where `index.ivf` is there and the pages are
            many.

    Raises:
        InputError: the method is unknown, or `ivf` and there is no structure for it.
        ValueError: `k` is below 1.
    """
    rows, scores = compared(index, query, k, method)
    return [(index.refs[rows[i]], float(scores[i])) for i in best_pages(scores, k)]


def compared(index: Searchable, query: QueryEmbedding, k: int, method: Method) -> tuple[Rows, Floats]:
    """The rows and scores of all pages that a search compares, in the order of the pages (see `search`)."""
    if method not in METHODS:
        raise InputError(f"search method {method!r}: unknown; known are {', '.join(METHODS)}")
    if k < 1:
        raise ValueError(f"k {k}: expected at least 1")
    if method == "ivf" and index.ivf is None:
        raise InputError("search method 'ivf': nothing was built for it; build it, or search by 'exact'")
    if not len(query.vectors):
        return np.zeros(0, np.int64), np.zeros(0, np.float32)

    def exact(rows: Rows) -> Floats:
        scores = total(index.best_matches(query, rows.tolist()))
        # In a damaged file; `best_pages` leaves it out, and here it would be the highest.
        scores[np.isnan(scores)] = -np.inf
        return scores

    found = None
    if index.ivf is not None and (method == "ivf" or (method == "auto" and len(index.refs) > SMALL)):
        found = _likely(index, index.ivf, query, k, exact)
    found = found or _possible(index, query, k, exact)
    if found is None:
        return np.arange(len(index.refs)), total(index.best_matches(query))
    rows, scores = found
    order = np.argsort(rows)
    return rows[order], scores[order]


def _likely(
    index: Searchable, ivf: "Ivf", query: QueryEmbedding, k: int, exact: Compare
) -> tuple[Rows, Floats] | None:
    """Likely pages, until by how far estimates were off the next ones are hardly among the `k` best.

    None where FAISS finds fewer than `k`.
    """
    rows, estimates = ivf.candidates(query.vectors, k)
    if len(rows) < k:
        return None

    def compare(places: Rows) -> Floats:
        wanted = rows[places].tolist()
        best = index.ceilings(query, wanted)
        if best is None:
            best = index.best_matches(query, wanted)
            best[np.isnan(best)] = -np.inf
        return best

    places, rest = np.split(np.arange(len(rows)), [max(k, LATEST)])
    best, learned = compare(places), 0
    while len(rest):
        if len(places) >= 2 * learned:
            learned = len(places)
            estimates.learn(places, best)
            rest = rest[np.argsort(-estimates.scores[rest], kind="stable")]
        scores = total(best)
        off = scores - estimates.scores[places]
        off = off[np.isfinite(off)][-LATEST:]
        if len(off):
            reach = estimates.scores[rest[0]] + off.mean() + ivf.settings.doubt * max(off.std(), TINY)
            if reach < np.partition(scores, -k)[-k]:
                break
        more, rest = np.split(rest, [LIKELY_STEP])
        places, best = np.concatenate([places, more]), np.concatenate([best, compare(more)])
    return _highest(rows[places], total(best), k, exact)


def _possible(index: Searchable, query: QueryEmbedding, k: int, exact: Compare) -> tuple[Rows, Floats] | None:
    """All pages whose ceilings let them be among the `k` best; None where they are many or can't be told."""
    few = int(FEW * len(index.refs))
    ceilings = index.ceilings(query) if k <= few else None
    if ceilings is None:
        return None
    rows, scores = _highest(np.arange(len(ceilings)), total(ceilings), k, exact, few + 1)
    return (rows, scores) if len(rows) <= few else None


def _highest(
    rows: Rows, ceilings: Floats, k: int, exact: Compare, most: int | None = None
) -> tuple[Rows, Floats]:
    """Of some pages those that can be among the `k` best, by ceilings of their scores, and their scores.

    Not more than `most` of them, if that is told.
    """
    order = np.argsort(-ceilings, kind="stable")[:most]
    rows, ceilings = rows[order], ceilings[order]
    scores = exact(rows[:k])
    while len(scores) < len(rows) and ceilings[len(scores)] >= np.partition(scores, -k)[-k]:
        scores = np.concatenate([scores, exact(rows[len(scores) : len(scores) + STEP])])
    return rows[: len(scores)], scores
