"""A document's words cut three ways, as search terms: pages, layout blocks, visual lines."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from indexes.types import BBox, Page, Words
from retrieval.tokens import words_to_terms

HEADING_KINDS = ("title", "caption")


@dataclass(frozen=True, slots=True)
class Unit:
    """A block or line: its page (`row`, 0-based), its words `start` to `end` (exclusive), its terms.

    Attributes:
        block: of a line, the place of its block among the page's blocks, -1 if it stands in none.
        contents: of a line, True where it is a table of contents' entry.
    """

    row: int
    start: int
    end: int
    terms: tuple[str, ...]
    block: int = -1
    contents: bool = False


@dataclass(frozen=True, slots=True)
class PageText:
    """A page's terms, blocks and lines."""

    terms: tuple[str, ...]
    blocks: tuple[Unit, ...]
    lines: tuple[Unit, ...]
    contents: bool


class DocumentText:
    """All pages of a document as terms, with what is needed to say where on a page something stands.

    Attributes:
        pages: one a page, in order; pages without words have empty terms.
        blocks, lines: of all pages, in order.
        texts: each page's words.
        boxes: each page's block boxes.
        kinds: each page's block kinds.
    """

    def __init__(self, pages: Iterable[Page]) -> None:
        self.pages: list[PageText] = []
        self.texts: list[tuple[str, ...]] = []
        self._words: list[Words] = []
        self.boxes: list[list[BBox]] = []
        self.kinds: list[list[str]] = []
        for row, page in enumerate(pages):
            self.pages.append(_page_text(row, page))
            self.texts.append(page.words.texts)
            self._words.append(page.words)
            self.boxes.append([block.bbox for block in page.blocks])
            self.kinds.append([block.kind for block in page.blocks])
        self.blocks = [unit for page in self.pages for unit in page.blocks]
        self.lines = [unit for page in self.pages for unit in page.lines]

    def __len__(self) -> int:
        return len(self.pages)

    def rows(self, units: list[Unit]) -> NDArray[np.int64]:
        """The pages `(n,)` of units, 0-based."""
        return np.fromiter((unit.row for unit in units), dtype=np.int64, count=len(units))

    def line_text(self, line: Unit) -> str:
        """A line as printed, words joined by single spaces."""
        return " ".join(self.texts[line.row][line.start : line.end])

    def span_box(self, row: int, start: int, end: int) -> BBox:
        """The box around a page's words `start` to `end` (exclusive)."""
        return self._words[row].bbox(start, end)

    def region(self, row: int, block: int) -> tuple[BBox, ...]:
        """The box of a block; nothing where `block` is -1."""
        return (self.boxes[row][block],) if block >= 0 else ()


def _page_text(row: int, page: Page) -> PageText:
    texts = page.words.texts
    owner = np.full(len(texts), -1, dtype=np.int64)
    for i, block in enumerate(page.blocks):
        owner[block.start : block.end] = i
    blocks = tuple(
        Unit(row, b.start, b.end, tuple(words_to_terms(texts[b.start : b.end])), i)
        for i, b in enumerate(page.blocks)
    )
    spans = page.line_spans()
    entries = [_is_entry(texts[start:end]) for start, end in spans]
    contents = _is_contents(
        [texts[end - 1] for (_, end), e in zip(spans, entries, strict=True) if e], len(spans)
    )
    lines = tuple(
        Unit(
            row,
            start,
            end,
            tuple(words_to_terms(texts[start:end])),
            int(owner[start]),
            contents or (entry and _has_leader(texts[start:end])),
        )
        for (start, end), entry in zip(spans, entries, strict=True)
    )
    return PageText(tuple(words_to_terms(texts)), blocks, lines, contents)


def _is_entry(words: tuple[str, ...]) -> bool:
    """An entry of a table of contents: words, then a page number, and no other figures between."""
    if len(words) < 2 or not words[-1].isdigit() or len(words[-1]) > 4:
        return False
    figures = sum(word.strip("$%(),.").replace(",", "").isdigit() for word in words[2:])
    return figures <= 1 and any(c.isalpha() for c in words[0] + words[1])


def _is_contents(numbers: list[str], lines: int) -> bool:
    """True where half of the page's lines are entries and their page numbers rise."""
    rising = sum(int(a) <= int(b) for a, b in pairwise(numbers))
    return lines >= 8 and len(numbers) >= 0.5 * lines and rising >= 0.8 * (len(numbers) - 1)


def _has_leader(words: tuple[str, ...]) -> bool:
    return "...." in "".join(words) or sum(word == "." for word in words) >= 4
