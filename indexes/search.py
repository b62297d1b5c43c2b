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

Method = Literal["auto", "exact", "ivf"]
METHODS: tuple[Method, ...] = ("auto", "exact", "ivf")
SMALL = 1000  # pages up to which all are compared where the method is left open


class Searchable(Protocol):
    """Pages whose vectors can be compared with a query's: one document's or many documents'.

    `ivf` is the structure over them that finds likely pages, if there is one.
    """

    refs: tuple[PageRef, ...]
    ivf: "Ivf | None"

    def best_matches(self, query: QueryEmbedding, rows: Sequence[int] | None = None) -> NDArray[np.float32]:
        """Each query vector's highest similarity on the pages in `rows`, else on all: `(pages, q)`."""
        ...


def search(index: Searchable, query: QueryEmbedding, k: int, method: Method) -> list[tuple[PageRef, float]]:
    """The `k` best pages with their MaxSim, best first; ties keep the order of the pages.

    Fewer where fewer have vectors, none for a query without vectors.

    Args:
        index: where to search.
        query: the query.
        k: how many pages.
        method: `exact` compares all pages. `ivf` compares the likely ones, which it finds by FAISS, just as
            exactly; where it finds fewer than `k`, it compares all. `auto` is `ivf` where `index.ivf` is
            there and the pages are many.

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
        rows = index.ivf.candidates(query.vectors, k)
        if len(rows) >= k:
            scores = total(index.best_matches(query, rows))
            return [(index.refs[rows[i]], float(scores[i])) for i in best_pages(scores, k)]
    scores = total(index.best_matches(query))
    return [(index.refs[row], float(scores[row])) for row in best_pages(scores, k)]
