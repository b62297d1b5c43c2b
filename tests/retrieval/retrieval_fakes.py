"""Pages from plain lines and an encoder and index that compare words, for tests of retrieval."""

import hashlib
from collections.abc import Sequence

import numpy as np

from indexes.encoders.protocol import PageEmbedding, QueryEmbedding
from indexes.regions import PageMatch
from indexes.types import BBox, BlockKind, LayoutBlock, Page, PageRef, Words
from retrieval.hybrid import HybridRetriever
from retrieval.members import Member

DIM = 64


def make_page(number: int, *blocks: tuple[BlockKind, str], label: str | None = None) -> Page:
    """A page of blocks below one another; a block's lines are divided by newlines."""
    texts: list[str] = []
    boxes: list[list[float]] = []
    lines: list[int] = []
    layout = []
    line = 0
    for order, (kind, text) in enumerate(blocks):
        start = len(texts)
        for part in text.split("\n"):
            words = part.split()
            for i, word in enumerate(words):
                x, y = 0.05 + 0.9 * i / max(1, len(words)), 0.02 + 0.02 * line
                texts.append(word)
                boxes.append([x, y, x + 0.8 / max(1, len(words)), y + 0.015])
                lines.append(line)
            line += 1
        box = BBox.around([BBox.clipped(*b) for b in boxes[start:]]) if boxes[start:] else BBox(0, 0, 0, 0)
        layout.append(LayoutBlock(kind, box, text, order, start, len(texts)))
    words = Words(texts, np.array(boxes, np.float32).reshape(-1, 4), np.array(lines, np.int32))
    return Page(PageRef("doc", number), label, (612, 792), words, tuple(layout))


def texts_to_pages(*texts: str) -> list[Page]:
    """One page of running text each; an empty text gives a page without words."""
    return [make_page(i, *([("text", text)] if text else [])) for i, text in enumerate(texts, 1)]


def word_vector(word: str) -> np.ndarray:
    """A vector that depends on the word alone."""
    seed = int.from_bytes(hashlib.sha256(word.lower().strip(".,?!").encode()).digest()[:4], "big")
    vector = np.random.default_rng(seed).standard_normal(DIM).astype(np.float32)
    return vector / np.linalg.norm(vector)


class WordEncoder:
    """Late interaction over words that know nothing of each other."""

    name = "words"
    revision = "1"

    def encode_pages(self, pages: Sequence[Page]) -> list[PageEmbedding]:
        """One vector a word, their mean as the pooled one."""
        return [self._page(page) for page in pages]

    def _page(self, page: Page) -> PageEmbedding:
        vectors = np.array([word_vector(w) for w in page.words.texts], np.float32).reshape(-1, DIM)
        pooled = vectors.mean(axis=0, keepdims=True) if len(vectors) else np.zeros((0, DIM), np.float32)
        return PageEmbedding(
            page.ref, vectors, page.words.boxes, pooled, np.zeros((len(pooled), 4), np.float32)
        )

    def encode_query(self, text: str) -> QueryEmbedding:
        """One vector a word."""
        vectors = np.array([word_vector(w) for w in text.split()], np.float32).reshape(-1, DIM)
        return QueryEmbedding(vectors, vectors.mean(axis=0) if len(vectors) else np.zeros(DIM, np.float32))


class WordIndex:
    """The index of `WordEncoder`'s vectors, by brute force."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self.refs = tuple(page.ref for page in pages)
        self._pages = WordEncoder().encode_pages(pages)
        self._rows = {ref: row for row, ref in enumerate(self.refs)}

    def maxsim(self, query: QueryEmbedding) -> np.ndarray:
        """Late interaction by brute force."""
        return np.array(
            [
                (query.vectors @ p.vectors.T).max(axis=1).sum()
                if len(p.vectors) and len(query.vectors)
                else -np.inf
                for p in self._pages
            ],
            np.float32,
        )

    def pooled(self, query: QueryEmbedding) -> np.ndarray:
        """The cosine with each page's mean."""
        return np.array([(p.pooled @ query.pooled).max(initial=-np.inf) for p in self._pages], np.float32)

    def match(self, query: QueryEmbedding, ref: PageRef) -> PageMatch:
        """How the words match."""
        page = self._pages[self._rows[ref]]
        return PageMatch(page.vectors @ query.vectors.T, page.boxes)


def make_retriever(pages: Sequence[Page], **more: object) -> HybridRetriever:
    """A retriever on one document, `doc`."""
    labels = [page.label for page in pages]
    member = Member("doc", pages, labels=labels, **more)  # type: ignore[arg-type]
    return HybridRetriever([member], WordIndex(pages), WordEncoder())  # type: ignore[arg-type]
