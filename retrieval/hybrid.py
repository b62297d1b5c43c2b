"""The retriever: late interaction, pooled vectors, BM25, lookups and vocabulary in one ranking."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from indexes.encoders.protocol import Encoder, ImageEncoder, PageEncoder, QueryEmbedding
from indexes.maxsim import total
from indexes.regions import PageMatch
from indexes.types import BBox, PageRef
from retrieval.bm25 import Bm25, Scores, max_pool
from retrieval.fusion import (
    FILING_WEIGHTS,
    STRENGTHS,
    WEIGHTS,
    fuse,
    ranking,
    reciprocal_ranks,
    with_neighbours,
)
from retrieval.lookups import Lookup
from retrieval.members import Member, Members
from retrieval.queries import Query, parse_query
from retrieval.types import RetrievedPage

if TYPE_CHECKING:
    from indexes.document import Document
    from indexes.index import PageIndex
    from indexes.joined import JoinedIndex

REGIONS = 3
SMALL = 1000  # pages up to which all are compared by the vectors of a text encoder
LIKELY = 200  # pages of each other signal that are compared beyond that
ADDED = 0.4  # weight of a word that the vocabulary adds, against 1 for the user's own, when choosing regions
OUTRIGHT = 2.5  # of a page that the query names beyond doubt: it comes first against all rankings
NOTABLE = 5  # a signal is said to have found a page if it ranks it among its first so many
NAMED = 0.5  # how surely a query must mean a document for its pages to say so
LARGE_BLOCK = 0.15  # share of the page above which a matched block is shown by its best line


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one query found.

    Attributes:
        signals: each signal's scores `(n,)`, and how much each counts in `weights`.
        lookups: by row, the page's 0-based place among the pages of all documents.
        statements: by row, the name of the primary statement that stands there.
    """

    query: Query
    embedding: QueryEmbedding
    signals: Mapping[str, Scores]
    weights: Mapping[str, float]
    lookups: Mapping[int, Sequence[Lookup]]
    statements: Mapping[int, str]


class HybridRetriever:
    """Ranks the pages of one document or several.

    Attributes:
        encoder: what queries are embedded with.
        index: the vectors of the documents' pages, in the order of the documents.
    """

    def __init__(
        self, documents: Sequence[Member], index: "PageIndex | JoinedIndex", encoder: Encoder
    ) -> None:
        self.encoder = encoder
        self.index = index
        self._members = members = Members(documents)
        if len(members) != len(index.refs):
            raise ValueError(f"{len(members)} pages, but the index has {len(index.refs)}")
        self._starts = frozenset(members.starts.tolist())
        self._pages = Bm25(members.page_terms())
        blocks, self._block_rows = members.blocks()
        self._blocks = Bm25(blocks)
        lines, self._line_rows = members.lines()
        self._lines = Bm25(lines)

    def retrieve(self, query: str, k: int, exclude: Collection[PageRef] = ()) -> list[RetrievedPage]:
        """Returns the best `k` pages that are not in `exclude`, best first, with what matched and where.

        Raises:
            ValueError: `k` below 1.
        """
        if k < 1:
            raise ValueError(f"k = {k}: expected at least 1")
        evidence = self.evidence(query)
        scores = with_neighbours(fuse(evidence.signals, evidence.weights), starts=self._starts)
        left = set(exclude)
        rows = [row for row in ranking(scores) if self.index.refs[row] not in left][:k]
        votes = {name: _first(signal) for name, signal in evidence.signals.items() if name not in STRENGTHS}
        return [
            RetrievedPage(
                self.index.refs[row],
                float(scores[row]),
                rank,
                *self._found_on(evidence, row, votes),
            )
            for rank, row in enumerate(rows, 1)
        ]

    def evidence(self, query: str) -> Evidence:
        """Asks every signal about a query."""
        parsed = parse_query(query)
        filings = self._members.filings
        embedding = self.encoder.encode_query(parsed.long_text if filings.any() else parsed.text)
        terms = parsed.weights
        n = len(self._members)
        signals = {
            "pooled": self.index.pooled(embedding),
            "bm25 pages": _found(self._pages.scores(terms)),
            "bm25 blocks": _found(max_pool(self._blocks.scores(terms), self._block_rows, n)),
            "bm25 lines": _found(max_pool(self._lines.scores(terms), self._line_rows, n)),
        }
        signals = {
            "late interaction": self._late_interaction(embedding, signals.values()),
            **signals,
            "lookups": np.zeros(n, dtype=np.float32),
            "documents": self._members.named(terms, self._pages.idf),
        }
        lookups = self._members.find(parsed.text)
        for row, found in lookups.items():
            strength = max(lookup.strength for lookup in found)
            signals["lookups"][row] = OUTRIGHT if strength == 1 else strength
        statements: dict[int, str] = {}
        if filings.any():
            words = self._pages.scores(parsed.added)
            lines = max_pool(self._lines.scores(parsed.added), self._line_rows, n)
            signals["vocabulary pages"] = _found(np.where(filings, words, np.float32(0)))
            signals["vocabulary lines"] = _found(np.where(filings, lines, np.float32(0)))
            signals["statements"], statements = self._members.statement_signal(parsed.asked.statements)
        weights = FILING_WEIGHTS if filings.mean() > 0.5 else WEIGHTS
        return Evidence(parsed, embedding, signals, weights, lookups, statements)

    def _late_interaction(self, embedding: QueryEmbedding, others: Iterable[Scores]) -> Scores:
        """MaxSim with all pages; of many pages by a text encoder, only with those that other signals like.

        A text encoder has several hundred vectors a page in few bits: they take a second for 3,000 pages.
        """
        n = len(self._members)
        if n <= SMALL or isinstance(self.encoder, ImageEncoder) or not len(embedding.vectors):
            return self.index.maxsim(embedding)
        likely = {row for scores in others for row in ranking(scores)[:LIKELY] if np.isfinite(scores[row])}
        rows = sorted(likely)
        scores = np.full(n, -np.inf, dtype=np.float32)
        scores[rows] = total(self.index.best_matches(embedding, rows))
        return scores

    def _matched(self, evidence: Evidence, row: int, votes: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
        matched = [f"lookup: {lookup.name}" for lookup in evidence.lookups.get(row, ())]
        if row in evidence.statements:
            matched.append(f"statement: {evidence.statements[row]}")
        if evidence.signals["documents"][row] == max(evidence.signals["documents"].max(), NAMED):
            matched.append("document")
        matched.extend(name for name, rows in votes.items() if row in rows)
        return tuple(dict.fromkeys(matched))

    def match(self, query: str, ref: PageRef) -> PageMatch:
        """How a page's vectors match a query: the map that its regions are taken from."""
        parsed = parse_query(query)
        long = self._members.filings.any()
        return self.index.match(self.encoder.encode_query(parsed.long_text if long else parsed.text), ref)

    def _found_on(
        self, evidence: Evidence, row: int, votes: Mapping[str, Sequence[int]]
    ) -> tuple[tuple[BBox, ...], tuple[str, ...], tuple[float | None, ...]]:
        """Where a page matched, what matched it, and how well each region does."""
        match = self.index.match(evidence.embedding, self.index.refs[row])
        regions = self._regions(evidence, row, match)
        return regions, self._matched(evidence, row, votes), tuple(map(match.score, regions))

    def _regions(self, evidence: Evidence, row: int, match: PageMatch) -> tuple[BBox, ...]:
        named = [box for lookup in evidence.lookups.get(row, ()) for box in lookup.regions]
        member, place = self._members.at(row)
        seen = [region.bbox for region in match.regions(REGIONS, member.text.boxes[place])]
        worded = self._worded(evidence.query, row)
        mixed = [box for pair in zip(seen, worded, strict=False) for box in pair]
        regions: list[BBox] = []
        for box in [*named, *mixed, *seen, *worded]:
            if box.area > 0 and all(not _same(box, other) for other in regions):
                regions.append(box)
        return tuple(regions[:REGIONS])

    def _worded(self, query: Query, row: int) -> list[BBox]:
        """The blocks of a page that hold most of the query's rare words; of a large block its best line."""
        member, place = self._members.at(row)
        added = query.added if member.statements else {}
        weights = {**dict.fromkeys(added, ADDED), **query.weights}
        page = member.text.pages[place]
        rated = sorted(
            ((self._pages.worth(set(unit.terms), weights), unit) for unit in page.blocks),
            key=lambda rated: -rated[0],
        )
        boxes: list[BBox] = []
        for worth, block in rated[:REGIONS]:
            if worth <= 0:
                break
            box = member.text.boxes[place][block.block]
            if box.area > LARGE_BLOCK:
                lines = [line for line in page.lines if line.block == block.block]
                best = max(lines, key=lambda line: self._pages.worth(set(line.terms), weights), default=None)
                box = member.text.span_box(place, best.start, best.end) if best else box
            boxes.append(box)
        return boxes


def open_retriever(
    documents: "Document | Sequence[Document]", *, encoder: str | PageEncoder = "minilm", quiet: bool = True
) -> HybridRetriever:
    """Opens a retriever on a document, or on several together, indexing first what has not been indexed.

    Args:
        documents: the document, or documents with different `doc_id`s; the pages found say by it whose
            they are.
        encoder: what embeds pages and queries, or its name.
        quiet: no progress bars on stderr.

    Raises:
        InputError: the encoder is unknown, or the cache cannot be written.
        ValueError: no document, or two with the same `doc_id`.
    """
    from indexes.encoders import load_encoder
    from indexes.index import PageIndex

    opened = list(documents) if isinstance(documents, Sequence) else [documents]
    loaded = load_encoder(encoder) if isinstance(encoder, str) else encoder
    indexes = [PageIndex.open_or_build(document, loaded, quiet=quiet) for document in opened]
    members = []
    for document in opened:
        members.append(Member.of(document))
        if len(opened) > 1:
            document.close()  # its idle processes, of which many documents have too many
    return HybridRetriever(members, joined(indexes), loaded)


def joined(indexes: "Sequence[PageIndex]") -> "PageIndex | JoinedIndex":
    """One index over all documents; that of a single document is its own."""
    if len(indexes) == 1:
        return indexes[0]
    from indexes.joined import JoinedIndex

    return JoinedIndex(indexes)


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
