"""The retriever: late interaction, pooled vectors, BM25, lookups and vocabulary in one ranking."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from indexes.encoders.protocol import Encoder, PageEncoder, QueryEmbedding
from indexes.types import BBox, OutlineEntry, Page, PageRef
from retrieval.bm25 import Bm25, Scores, max_pool
from retrieval.finance import statement_pages
from retrieval.fusion import (
    FILING_WEIGHTS,
    STRENGTHS,
    WEIGHTS,
    fuse,
    ranking,
    reciprocal_ranks,
    with_neighbours,
)
from retrieval.lookups import Lookup, LookupTable
from retrieval.queries import Query, parse_query
from retrieval.types import RetrievedPage
from retrieval.units import DocumentText

if TYPE_CHECKING:
    from indexes.document import Document
    from indexes.index import PageIndex

REGIONS = 3
ADDED = 0.4  # weight of a word that the vocabulary adds, against 1 for the user's own, when choosing regions
OUTRIGHT = 2.5  # of a page that the query names beyond doubt: it comes first against all rankings
NOTABLE = 5  # a signal is said to have found a page if it ranks it among its first so many
OTHER_STATEMENT = 0.4  # of a page that looks like the statement, but less so than the best one
LARGE_BLOCK = 0.15  # share of the page above which a matched block is shown by its best line


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one query found.

    Attributes:
        signals: each signal's scores `(n,)`, and how much each counts in `weights`.
        lookups: by page, 0-based.
        statements: by page, 0-based, the name of the primary statement that stands there.
    """

    query: Query
    embedding: QueryEmbedding
    signals: Mapping[str, Scores]
    weights: Mapping[str, float]
    lookups: Mapping[int, Sequence[Lookup]]
    statements: Mapping[int, str]


class HybridRetriever:
    """Ranks the pages of one document.

    Attributes:
        encoder: what queries are embedded with.
        index: the document's vectors.
    """

    def __init__(
        self,
        pages: Iterable[Page],
        index: "PageIndex",
        encoder: Encoder,
        *,
        outline: Sequence[OutlineEntry] = (),
        labels: Sequence[str | None] = (),
    ) -> None:
        self.encoder = encoder
        self.index = index
        self._text = text = DocumentText(pages)
        if len(text) != len(index.refs):
            raise ValueError(f"{len(text)} pages, but the index has {len(index.refs)}")
        self._pages = Bm25([page.terms for page in text.pages])
        self._blocks, self._block_rows = Bm25([unit.terms for unit in text.blocks]), text.rows(text.blocks)
        self._lines, self._line_rows = Bm25([unit.terms for unit in text.lines]), text.rows(text.lines)
        self._lookups = LookupTable(text, outline, labels)
        self._statements = statement_pages([[line.terms for line in page.lines] for page in text.pages])

    def retrieve(self, query: str, k: int, exclude: Collection[PageRef] = ()) -> list[RetrievedPage]:
        """Returns the best `k` pages that are not in `exclude`, best first, with what matched and where.

        Raises:
            ValueError: `k` below 1.
        """
        if k < 1:
            raise ValueError(f"k = {k}: expected at least 1")
        evidence = self.evidence(query)
        scores = with_neighbours(fuse(evidence.signals, evidence.weights))
        left = set(exclude)
        rows = [row for row in ranking(scores) if self.index.refs[row] not in left][:k]
        votes = {name: _first(signal) for name, signal in evidence.signals.items() if name not in STRENGTHS}
        return [
            RetrievedPage(
                self.index.refs[row],
                float(scores[row]),
                rank,
                self._regions(evidence, row),
                self._matched(evidence, row, votes),
            )
            for rank, row in enumerate(rows, 1)
        ]

    def evidence(self, query: str) -> Evidence:
        """Asks every signal about a query."""
        parsed = parse_query(query)
        embedding = self.encoder.encode_query(parsed.long_text if self._statements else parsed.text)
        terms = parsed.weights
        n = len(self._text)
        signals = {
            "late interaction": self.index.maxsim(embedding),
            "pooled": self.index.pooled(embedding),
            "bm25 pages": _found(self._pages.scores(terms)),
            "bm25 blocks": _found(max_pool(self._blocks.scores(terms), self._block_rows, n)),
            "bm25 lines": _found(max_pool(self._lines.scores(terms), self._line_rows, n)),
        }
        lookups: dict[int, list[Lookup]] = {}
        for lookup in self._lookups.find(parsed.text):
            lookups.setdefault(lookup.row, []).append(lookup)
        signals["lookups"] = np.zeros(n, dtype=np.float32)
        for row, found in lookups.items():
            strength = max(lookup.strength for lookup in found)
            signals["lookups"][row] = OUTRIGHT if strength == 1 else strength
        statements: dict[int, str] = {}
        if self._statements:
            signals["vocabulary pages"] = _found(self._pages.scores(parsed.added))
            lines = max_pool(self._lines.scores(parsed.added), self._line_rows, n)
            signals["vocabulary lines"] = _found(lines)
            signals["statements"], statements = self._statement_signal(parsed)
        weights = FILING_WEIGHTS if self._statements else WEIGHTS
        return Evidence(parsed, embedding, signals, weights, lookups, statements)

    def _statement_signal(self, query: Query) -> tuple[Scores, dict[int, str]]:
        signal = np.zeros(len(self._text), dtype=np.float32)
        names: dict[int, str] = {}
        for name, sure in query.asked.statements.items():
            likeness = self._statements[name]
            first = int(
                likeness.argmax()
            )  # of equals the first: consolidated statements precede condensed ones
            strength = sure * OTHER_STATEMENT * likeness
            strength[first] = sure * likeness[first]
            if strength[first] > 0:
                names[first] = name
            signal = np.maximum(signal, strength)
        return signal.astype(np.float32), names

    def _matched(self, evidence: Evidence, row: int, votes: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
        matched = [f"lookup: {lookup.name}" for lookup in evidence.lookups.get(row, ())]
        if row in evidence.statements:
            matched.append(f"statement: {evidence.statements[row]}")
        matched.extend(name for name, rows in votes.items() if row in rows)
        return tuple(dict.fromkeys(matched))

    def _regions(self, evidence: Evidence, row: int) -> tuple[BBox, ...]:
        named = [box for lookup in evidence.lookups.get(row, ()) for box in lookup.regions]
        seen = self.index.regions(evidence.embedding, self.index.refs[row], REGIONS)
        worded = self._worded(evidence.query, row)
        mixed = [box for pair in zip(seen, worded, strict=False) for box in pair]
        regions: list[BBox] = []
        for box in [*named, *mixed, *seen, *worded]:
            if box.area > 0 and all(not _same(box, other) for other in regions):
                regions.append(box)
        return tuple(regions[:REGIONS])

    def _worded(self, query: Query, row: int) -> list[BBox]:
        """The blocks of a page that hold most of the query's rare words; of a large block its best line."""
        added = query.added if self._statements else {}
        weights = {**dict.fromkeys(added, ADDED), **query.weights}
        page = self._text.pages[row]
        rated = sorted(
            ((self._pages.worth(set(unit.terms), weights), unit) for unit in page.blocks),
            key=lambda rated: -rated[0],
        )
        boxes: list[BBox] = []
        for worth, block in rated[:REGIONS]:
            if worth <= 0:
                break
            box = self._text.boxes[row][block.block]
            if box.area > LARGE_BLOCK:
                lines = [line for line in page.lines if line.block == block.block]
                best = max(lines, key=lambda line: self._pages.worth(set(line.terms), weights), default=None)
                box = self._text.span_box(row, best.start, best.end) if best else box
            boxes.append(box)
        return boxes


def open_retriever(
    doc: "Document", *, encoder: str | PageEncoder = "minilm", quiet: bool = True
) -> HybridRetriever:
    """Opens a retriever on a document, indexing it first where that has not been done.

    Args:
        doc: the document.
        encoder: what embeds its pages and the queries, or its name.
        quiet: no progress bars on stderr.

    Raises:
        InputError: the encoder is unknown, or the cache cannot be written.
    """
    from indexes.encoders import load_encoder
    from indexes.index import PageIndex

    loaded = load_encoder(encoder) if isinstance(encoder, str) else encoder
    index = PageIndex.open_or_build(doc, loaded, quiet=quiet)
    return HybridRetriever(doc.pages(), index, loaded, outline=doc.outline, labels=doc.labels)


def _found(scores: Scores) -> Scores:
    """BM25 scores with -inf for pages that hold none of the terms: they are no match, not a poor one."""
    return np.where(scores > 0, scores, np.float32(-np.inf))


def _first(scores: Scores) -> list[int]:
    """The pages that a signal is said to have found."""
    votes = reciprocal_ranks(scores)
    return [row for row in ranking(votes)[:NOTABLE] if votes[row] > 0]


def _same(box: BBox, other: BBox) -> bool:
    """True where one box lies mostly in the other."""
    return box.intersection(other) > 0.7 * min(box.area, other.area)
