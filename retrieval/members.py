"""The documents that a retriever ranks together, each with what is its own: words, lookups, statements.

Their pages are counted through: a *row* is a page's 0-based place among the pages of all documents.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from indexes.types import OutlineEntry, Page
from retrieval.bm25 import Bm25, Scores
from retrieval.finance import statement_pages
from retrieval.lookups import Lookup, LookupTable
from retrieval.tokens import content_terms, text_terms
from retrieval.units import DocumentText, Unit

if TYPE_CHECKING:
    from indexes.document import Document

OTHER_STATEMENT = 0.4  # of a page that looks like the statement, but less so than the document's best one

NAMING = 2.0  # a query of which half names a document means that one as surely as can be


class Member:
    """One document of a set.

    Attributes:
        text: its words as pages, blocks and lines.
        lookups: what a query can name in it.
        statements: for each primary statement how much each page looks like it; empty if it is no filing.
        title: the terms that name it: those of its `doc_id` and of the titles on its first page.
    """

    def __init__(
        self,
        doc_id: str,
        pages: Iterable[Page],
        *,
        outline: Sequence[OutlineEntry] = (),
        labels: Sequence[str | None] = (),
    ) -> None:
        self.doc_id = doc_id
        self.text = DocumentText(pages)
        self.lookups = LookupTable(self.text, outline, labels)
        self.statements = statement_pages([[line.terms for line in page.lines] for page in self.text.pages])
        name = text_terms(re.sub(r"[\W_]+", " ", doc_id))
        first = self.text.pages[0].blocks if len(self.text) else ()
        printed = [t for block in first if self.text.kinds[0][block.block] == "title" for t in block.terms]
        self.title = tuple(content_terms([*name, *printed]))

    @classmethod
    def of(cls, doc: "Document") -> Self:
        """A document with its words. Reads it."""
        return cls(doc.doc_id, doc.pages(), outline=doc.outline, labels=doc.labels)


class Members:
    """The documents of a set, in order.

    Attributes:
        starts: `(m + 1,)`, the row of each document's first page, then how many pages there are.
        filings: `(n,)`, True for the pages of documents with primary statements.

    Raises:
        ValueError: no document at all, or two with the same `doc_id`.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = tuple(members)
        ids = [member.doc_id for member in self._members]
        if not ids or len(set(ids)) < len(ids):
            raise ValueError(f"documents {ids}: expected at least one, each with a doc_id of its own")
        sizes = [len(member.text) for member in self._members]
        self.starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        filing = [bool(member.statements) for member in self._members]
        self.filings: NDArray[np.bool_] = np.repeat(np.array(filing, np.bool_), sizes)
        self._titles = Bm25([member.title for member in self._members])
        self._titled = Counter(term for member in self._members for term in member.title)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def at(self, row: int) -> tuple[Member, int]:
        """The document that a row belongs to, and the page's 0-based place in it."""
        which = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self._members[which], row - int(self.starts[which])

    def page_terms(self) -> list[Sequence[str]]:
        """Each page's terms."""
        return [page.terms for member in self._members for page in member.text.pages]

    def blocks(self) -> tuple[list[Sequence[str]], NDArray[np.int64]]:
        """Each layout block's terms, and the blocks' rows."""
        return self._units([member.text.blocks for member in self._members])

    def lines(self) -> tuple[list[Sequence[str]], NDArray[np.int64]]:
        """Each line's terms, and the lines' rows."""
        return self._units([member.text.lines for member in self._members])

    def _units(self, units: Sequence[Sequence[Unit]]) -> tuple[list[Sequence[str]], NDArray[np.int64]]:
        terms: list[Sequence[str]] = [unit.terms for own in units for unit in own]
        rows = (int(start) + unit.row for start, own in zip(self.starts, units, strict=False) for unit in own)
        return terms, np.fromiter(rows, dtype=np.int64, count=len(terms))

    def find(self, query: str) -> dict[int, list[Lookup]]:
        """What the query names in any of the documents, by row; strongest first."""
        found: dict[int, list[Lookup]] = {}
        for start, member in zip(self.starts, self._members, strict=False):
            for lookup in member.lookups.find(query):
                row = int(start) + lookup.row
                found.setdefault(row, []).append(replace(lookup, row=row))
        return found

    def statement_signal(self, wanted: Mapping[str, float]) -> tuple[Scores, dict[int, str]]:
        """The pages `(n,)` that look like the statements wanted, and which statement is best found where.

        Args:
            wanted: statements by name, and how surely each is wanted, 0 to 1.
        """
        signal = np.zeros(len(self), dtype=np.float32)
        names: dict[int, str] = {}
        for start, member in zip(self.starts, self._members, strict=False):
            own = signal[start : start + len(member.text)]
            for name, sure in wanted.items() if member.statements else ():
                likeness = member.statements[name]
                first = int(likeness.argmax())  # of equals the first: consolidated ones precede condensed
                strength = sure * OTHER_STATEMENT * likeness
                strength[first] = sure * likeness[first]
                if strength[first] > 0:
                    names[int(start) + first] = name
                np.maximum(own, strength, out=own)
        return signal, names

    def named(self, terms: Mapping[str, float], rarity: Callable[[str], float]) -> Scores:
        """How surely a query means a page's document, `(n,)`, 0 to 1: by the words of its title.

        Only words count that tell the documents apart, each by how rare it is among them; and the more of the
        query such words are, the surer it is. So one document alone is never named.

        Args:
            terms: the query's, weighted.
            rarity: of a term among all pages.
        """
        telling = {t: w for t, w in terms.items() if 0 < self._titled[t] < len(self._members)}
        whole = sum(weight * rarity(term) for term, weight in terms.items())
        share = sum(weight * rarity(term) for term, weight in telling.items()) / whole if whole else 0.0
        coverage = self._titles.coverage(telling) * np.float32(min(1.0, NAMING * share))
        named: Scores = np.repeat(coverage, np.diff(self.starts))
        return named
