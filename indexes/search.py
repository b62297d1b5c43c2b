"""The pages that answer a query best, by late interaction with all pages or only with likely ones."""

from collections.abc import Sequence
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
Method = Literal["auto", "exact", "ivf"]
METHODS: tuple[Method, ...] = ("auto", "exact", "ivf")
FEW = 0.25  # share of the pages up to which they are compared one by one rather than all at once
STEP = 4  # pages compared at a time that may still be among the best
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

    def ceilings(self, query: QueryEmbedding) -> Floats | None:
        """What each page's MaxSim is not above: `(pages,)`; None where it can't be told quickly."""
        ...


def search(index: Searchable, query: QueryEmbedding, k: int, method: Method) -> list[tuple[PageRef, float]]:
    """The `k` best pages with their MaxSim, best first; ties keep the order of the pages.

    Fewer where fewer have vectors, none for a query without vectors.

    Args:
        index: where to search.
        query: the query.
        k: how many pages.
        method: `exact` compares all pages, but those that cannot be among the best. `ivf` compares the
            likely ones, which it finds by FAISS, just as exactly; where it finds fewer than `k`, it does as
            `exact`. `auto` is `ivf` where `index.ivf` is there and the pages are many.

    Raises:
        InputError: the method is unknown, or `ivf` and there is no structure for it.
        ValueError: `k` is below 1.
    """
    if method not in METHODS:
        raise InputError(f"search method {method!r}: unknown; known are {', '.join(METHODS)}")
    if k < 1:
        raise ValueError(f"k {k}: expected at least 1")
    if method == "ivf" and index.ivf is None:
        raise InputError("search method 'ivf': nothing was built for it; build it, or search by 'exact'")
    if not len(query.vectors):
        return []
    if index.ivf is not None and (method == "ivf" or (method == "auto" and len(index.refs) > SMALL)):
        likely = index.ivf.candidates(query.vectors, k)
        if len(likely) >= k:
            scores = total(index.best_matches(query, likely))
            return [(index.refs[likely[i]], float(scores[i])) for i in best_pages(scores, k)]
    rows, scores = _compared(index, query, k)
    return [(index.refs[rows[i]], float(scores[i])) for i in best_pages(scores, k)]


def _compared(index: Searchable, query: QueryEmbedding, k: int) -> tuple[NDArray[np.int64], Floats]:
    """The scores of all pages that can be among the `k` best, and of some more, in the order of the pages."""
    few = int(FEW * len(index.refs))
    ceilings = index.ceilings(query) if k <= few else None
    if ceilings is not None:
        order = np.argsort(-ceilings, kind="stable")
        scores = total(index.best_matches(query, order[:k].tolist()))
        # Only pages whose ceiling reaches the k-th best score so far can still be among the best.
        while len(scores) < few and ceilings[order[len(scores)]] >= np.partition(scores, -k)[-k]:
            more = order[len(scores) : len(scores) + STEP]
            scores = np.concatenate([scores, total(index.best_matches(query, more.tolist()))])
        if len(scores) < few:
            rows = order[: len(scores)]
            places = np.argsort(rows)
            return rows[places], scores[places]
    return np.arange(len(index.refs)), total(index.best_matches(query))
