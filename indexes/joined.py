"""The indexes of several documents as one: their pages compared with a query together."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from indexes.encoders.protocol import QueryEmbedding
from indexes.errors import InputError
from indexes.index import PageIndex
from indexes.maxsim import total
from indexes.regions import PageMatch
from indexes.search import Method, search
from indexes.store import ceilings_of
from indexes.types import PageRef

if TYPE_CHECKING:
    from indexes.ivf import Ivf

Floats = NDArray[np.float32]
ALIKE = ("encoder", "revision", "settings", "format")


class JoinedIndex:
    """Several documents' indexes by one encoder, with one's interface.

    Attributes:
        members: the indexes; `refs` has their pages, one document after the other.
        ivf: what finds likely pages in all of them, if it was built and set here (see `indexes.ivf`).

    Raises:
        InputError: there is none, two are of the same pages, or they are not of one encoder and one kind; the
            message says of which.
    """

    def __init__(self, indexes: Sequence[PageIndex]) -> None:
        if not indexes:
            raise InputError("no indexes to search; name at least one document")
        first = indexes[0]
        for index in indexes[1:]:
            for key in ALIKE:
                had, got = first.manifest.get(key), index.manifest.get(key)
                if had != got:
                    raise InputError(
                        f"{first.refs[0].doc_id} and {index.refs[0].doc_id} cannot be searched together: "
                        f"their indexes differ in {key}, {had!r} and {got!r}; build them alike"
                    )
        self.members = tuple(indexes)
        self.refs: tuple[PageRef, ...] = tuple(ref for index in indexes for ref in index.refs)
        self.ivf: Ivf | None = None
        self._starts = np.cumsum([0, *(len(index.refs) for index in indexes)])
        self._rows = {ref: row for row, ref in enumerate(self.refs)}
        if len(self._rows) < len(self.refs):
            names = [index.refs[0].doc_id for index in indexes]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise InputError(f"{', '.join(twice)}: more than one document of this name; each needs its own")

    def maxsim(self, query: QueryEmbedding) -> Floats:
        """Exact late interaction: `(n_pages,)`, -inf for pages without vectors."""
        return total(self.best_matches(query))

    def best_matches(self, query: QueryEmbedding, rows: Sequence[int] | None = None) -> Floats:
        """Each query vector's highest similarity on each page: `(n_pages, q)`, -inf where it has no vectors.

        With `rows`, only on those pages, given by their places in `refs`.
        """
        if rows is None:
            return np.concatenate([index.best_matches(query) for index in self.members])
        best = np.full((len(rows), len(query.vectors)), -np.inf, np.float32)
        wanted = np.asarray(rows, np.int64)
        owners = np.searchsorted(self._starts, wanted, side="right") - 1
        for owner in np.unique(owners):
            places = np.flatnonzero(owners == owner)
            inside = (wanted[places] - self._starts[owner]).tolist()
            best[places] = self.members[owner].best_matches(query, inside)
        return best

    def ceilings(self, query: QueryEmbedding, rows: Sequence[int] | None = None) -> Floats | None:
        """What each query vector's highest similarity on each page is not above: `(n_pages, q)`.

        None where it can't be told quickly; -inf for a page without vectors.
        With `rows`, only of those pages, given by their places in `refs`.
        """
        if rows is not None:
            owners = np.searchsorted(self._starts, rows, side="right") - 1
            inside = np.asarray(rows) - self._starts[owners]
            stores = [self.members[owner].store for owner in owners]
            return ceilings_of(query.vectors, list(zip(stores, inside.tolist(), strict=True)))
        found = [index.ceilings(query) for index in self.members]
        known = [one for one in found if one is not None]
        return np.concatenate(known) if len(known) == len(found) else None

    def pooled(self, query: QueryEmbedding) -> Floats:
        """The best pooled vector's cosine: `(n_pages,)`, -inf for pages without vectors."""
        return np.concatenate([index.pooled(query) for index in self.members])

    def search(self, query: QueryEmbedding, k: int, method: Method = "auto") -> list[tuple[PageRef, float]]:
        """The `k` best pages by late interaction; see `indexes.search.search`."""
        return search(self, query, k, method)

    def match(self, query: QueryEmbedding, ref: PageRef) -> PageMatch:
        """How a page's vectors match a query, and where on it they stand: its map, its regions."""
        return self.member(ref).match(query, ref)

    def member(self, ref: PageRef) -> PageIndex:
        """The index that a page is in.

        Raises:
            ValueError: none has it.
        """
        if ref not in self._rows:
            raise ValueError(f"{ref}: none of the {len(self.members)} indexes has this page")
        return self.members[int(np.searchsorted(self._starts, self._rows[ref], side="right")) - 1]

    def blocks(self) -> Iterator[tuple[Floats, NDArray[np.int64]]]:
        """All vectors `(n, dim)` and the rows `(n,)` of their pages, a block at a time."""
        for start, index in zip(self._starts, self.members, strict=False):
            for vectors, rows in index.store.blocks():
                yield vectors, rows + start
