"""Searching a corpus that `python -m indexes.build --out` made: with the words of its documents, or without.

A corpus holds vectors alone. Where all its documents are at hand, unchanged, and few enough to hold their
words in memory, it is ranked as one document is, by words too; else by late interaction and pooled vectors.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from indexes.corpus import LARGE, Corpus, joined_index
from indexes.encoders.protocol import Encoder, PageEncoder, QueryEmbedding
from indexes.errors import InputError
from indexes.regions import PageMatch
from indexes.search import compared
from indexes.types import PageRef
from retrieval.bm25 import Scores
from retrieval.fusion import fuse, ranking
from retrieval.queries import parse_query
from retrieval.types import RetrievedPage

if TYPE_CHECKING:
    from indexes.document import Document
    from indexes.joined import JoinedIndex
    from retrieval.hybrid import HybridRetriever

LIKELY = 25  # best pages that are found, at least, where likely ones are found first
REGIONS = 3


@dataclass(frozen=True, slots=True)
class OpenCorpus:
    """A corpus ready for queries.

    Attributes:
        documents: by `doc_id`; empty where the ranking is by vectors alone.
        why: in that case the reason, else an empty text.
    """

    retriever: "HybridRetriever | VectorRetriever"
    documents: "Mapping[str, Document]" = field(default_factory=dict)
    why: str = ""


class VectorRetriever:
    """Ranks pages by their vectors alone: late interaction and pooled vectors, fused by rank.

    Where the index has what finds likely pages, only those are compared.
    """

    def __init__(self, index: "JoinedIndex", encoder: Encoder) -> None:
        self.index = index
        self.encoder = encoder

    def retrieve(self, query: str, k: int, exclude: Collection[PageRef] = ()) -> list[RetrievedPage]:
        """Returns the best `k` pages that are not in `exclude`, best first, and where they matched.

        Raises:
            ValueError: `k` below 1.
        """
        if k < 1:
            raise ValueError(f"k = {k}: expected at least 1")
        embedding = self.encoder.encode_query(parse_query(query).text)
        scores = fuse(self._signals(embedding, k + len(exclude)))
        left = set(exclude)
        refs = self.index.refs
        rows = [row for row in ranking(scores) if refs[row] not in left][:k]
        matches = {row: self.index.match(embedding, refs[row]).regions(REGIONS) for row in rows}
        return [
            RetrievedPage(
                refs[row],
                float(scores[row]),
                rank,
                tuple(region.bbox for region in matches[row]),
                ("vectors",),
                tuple(region.score for region in matches[row]),
            )
            for rank, row in enumerate(rows, 1)
        ]

    def _signals(self, embedding: QueryEmbedding, k: int) -> dict[str, Scores]:
        late, pooled = "late interaction", self.index.pooled(embedding)
        if self.index.ivf is None or not len(embedding.vectors):
            return {late: self.index.maxsim(embedding), "pooled": pooled}
        rows, found = compared(self.index, embedding, max(k, LIKELY), "ivf")
        scores = np.full((2, len(pooled)), -np.inf, dtype=np.float32)
        scores[0, rows] = found
        scores[1, rows] = pooled[rows]
        return {late: scores[0], "pooled": scores[1]}

    def match(self, query: str, ref: PageRef) -> PageMatch:
        """How a page's vectors match a query: the map that its regions are taken from."""
        return self.index.match(self.encoder.encode_query(parse_query(query).text), ref)


@contextmanager
def open_corpus(
    folder: Path,
    *,
    encoder: PageEncoder | None = None,
    settings: Mapping[str, Any] | None = None,
    words: bool = True,
    password: str | None = None,
    quiet: bool = True,
) -> Iterator[OpenCorpus]:
    """Opens a corpus for queries.

    Args:
        folder: the one that `--out` named.
        encoder: what embeds queries; None: the one that the corpus names.
        settings: replace those that the corpus's encoder is loaded by, such as its `device` or `model`.
        words: rank by words too, where that can be done.
        password: of encrypted documents.
        quiet: no progress bars on stderr.

    Raises:
        InputError: there is no corpus, it is empty or damaged, or the encoder is not the one that built it.
    """
    from retrieval.hybrid import HybridRetriever
    from retrieval.members import Member

    corpus = Corpus.open(folder)
    if not corpus.documents:
        raise InputError(f"{folder}: a corpus without documents; add some by python -m indexes.build")
    encoder = _checked_encoder(corpus, encoder or _load_encoder(corpus, settings or {}))
    index = joined_index(corpus)
    with ExitStack() as stack:
        why = "" if words else "as asked"
        if words and corpus.pages > LARGE:
            why = f"{corpus.pages} pages are more than the {LARGE} whose words are held in memory"
        documents: dict[str, Document] = {}
        if not why:
            documents, why = _opened(corpus, stack, password, quiet)
        if why:
            yield OpenCorpus(VectorRetriever(index, encoder), {}, why)
            return
        members = []
        for document in documents.values():
            members.append(Member.of(document))
            document.close()  # its processes: they come back when they are needed
        yield OpenCorpus(HybridRetriever(members, index, encoder), documents)


def _load_encoder(corpus: Corpus, settings: Mapping[str, Any]) -> PageEncoder:
    from indexes.encoders import load_encoder

    options = {**({} if "encoder" in settings else corpus.options()), **settings}
    return load_encoder(options.pop("encoder"), **options)


def _checked_encoder(corpus: Corpus, encoder: PageEncoder) -> PageEncoder:
    built = corpus.about["encoder"]
    for name, is_now in (("encoder", encoder.name), ("revision", encoder.revision)):
        if built[name] != is_now:
            raise InputError(
                f"{corpus.folder}: was built with {name} {built[name]!r}, not {is_now!r}; "
                "name the right --encoder and --model, or build the corpus again"
            )
    return encoder


def _opened(
    corpus: Corpus, stack: ExitStack, password: str | None, quiet: bool
) -> "tuple[dict[str, Document], str]":
    """The corpus's documents, or why they cannot all be read."""
    from indexes.document import Document

    ocr = bool(corpus.about["settings"]["ocr"])
    opened: dict[str, Document] = {}
    for _, listed in sorted(corpus.documents.items()):
        for source in (listed.source, *listed.copies):
            path = corpus.path_of(source)
            # Unlike pathlib's, this is False for a path that is too long or in a closed folder.
            if os.path.exists(path) or "*" in path.name:  # noqa: PTH110
                break
        else:
            return {}, f"{corpus.path_of(listed.source)} is not there"
        try:
            document = Document.open(path, password=password, ocr=ocr, quiet=quiet, doc_id=listed.doc_id)
        except InputError as error:
            return {}, str(error)
        stack.enter_context(document)
        if document.sha256 != listed.sha256:
            return {}, f"{path} has changed since it was indexed"
        opened[listed.doc_id] = document
    return opened, ""
