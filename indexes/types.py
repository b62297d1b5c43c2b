"""The central types: pages, boxes, words and layout blocks.

One frame everywhere: a *page* is the 1-based physical page; a *bbox* is normalized to 0..1, origin top-left,
of the page as it is seen (rotation and CropBox applied).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

BlockKind = Literal["text", "title", "table", "picture", "caption", "list", "header", "footer", "formula"]


@dataclass(frozen=True, slots=True, order=True)
class PageRef:
    """The only page key: a document's id and a 1-based physical page."""

    doc_id: str
    page: int

    def __post_init__(self) -> None:
        if self.page < 1:
            raise ValueError(f"page {self.page} of {self.doc_id}: pages count from 1")


@dataclass(frozen=True, slots=True)
class BBox:
    """A box in normalized page coordinates, `0 <= x1 <= x2 <= 1` and `0 <= y1 <= y2 <= 1`."""

    x1: float
    y1: float
    x2: float
    y2: float

    def __post_init__(self) -> None:
        if not (0 <= self.x1 <= self.x2 <= 1 and 0 <= self.y1 <= self.y2 <= 1):
            raise ValueError(f"bbox {self.as_list()}: expected 0 <= x1 <= x2 <= 1 and 0 <= y1 <= y2 <= 1")

    @classmethod
    def clipped(cls, x1: float, y1: float, x2: float, y2: float) -> Self:
        """Makes a box from any finite corners: sorted, then clipped to the page."""
        if not np.isfinite([x1, y1, x2, y2]).all():
            raise ValueError(f"bbox {[x1, y1, x2, y2]}: expected finite numbers")
        xs, ys = sorted((float(x1), float(x2))), sorted((float(y1), float(y2)))
        cut = [min(1.0, max(0.0, v)) for v in (xs[0], ys[0], xs[1], ys[1])]
        return cls(*cut)

    @classmethod
    def around(cls, boxes: "Sequence[BBox]") -> Self:
        """The smallest box that covers all `boxes` (at least one)."""
        if not boxes:
            raise ValueError("no boxes to cover")
        return cls(
            min(b.x1 for b in boxes),
            min(b.y1 for b in boxes),
            max(b.x2 for b in boxes),
            max(b.y2 for b in boxes),
        )

    @property
    def area(self) -> float:
        """Share of the page that the box covers."""
        return (self.x2 - self.x1) * (self.y2 - self.y1)

    def intersection(self, other: "BBox") -> float:
        """Area shared with `other`."""
        width = min(self.x2, other.x2) - max(self.x1, other.x1)
        height = min(self.y2, other.y2) - max(self.y1, other.y1)
        return max(0.0, width) * max(0.0, height)

    def as_list(self) -> list[float]:
        """`[x1, y1, x2, y2]`."""
        return [self.x1, self.y1, self.x2, self.y2]


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a page and where it stands."""

    text: str
    bbox: BBox


class Words(Sequence[Word]):
    """A page's words in reading order, kept as columns so that a long document stays small.

    Attributes:
        texts: the words, `n` of them.
        boxes: `(n, 4)` float32, normalized `[x1, y1, x2, y2]`.
        lines: `(n,)` int32, the visual line (a table's row is one line) each word stands on; it never falls.
    """

    __slots__ = ("boxes", "lines", "texts")

    def __init__(self, texts: Sequence[str], boxes: NDArray[np.float32], lines: NDArray[np.int32]) -> None:
        self.texts: tuple[str, ...] = tuple(texts)
        self.boxes: NDArray[np.float32] = np.asarray(boxes, dtype=np.float32).reshape(-1, 4)
        self.lines: NDArray[np.int32] = np.asarray(lines, dtype=np.int32).reshape(-1)
        if not len(self.texts) == len(self.boxes) == len(self.lines):
            raise ValueError(
                f"{len(self.texts)} words, {len(self.boxes)} boxes, {len(self.lines)} lines: expected as many"
            )

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, index: int) -> Word: ...
    @overload
    def __getitem__(self, index: slice) -> "Words": ...
    def __getitem__(self, index: int | slice) -> "Word | Words":
        if isinstance(index, slice):
            return Words(self.texts[index], self.boxes[index], self.lines[index])
        return Word(self.texts[index], BBox.clipped(*self.boxes[index].tolist()))

    def __iter__(self) -> Iterator[Word]:
        return (self[i] for i in range(len(self)))

    def bbox(self, start: int, end: int) -> BBox:
        """The smallest box around words `start` to `end` (exclusive; at least one)."""
        part = self.boxes[start:end]
        if not len(part):
            raise ValueError(f"words {start} to {end}: no words there")
        low, high = part[:, :2].min(axis=0), part[:, 2:].max(axis=0)
        return BBox.clipped(float(low[0]), float(low[1]), float(high[0]), float(high[1]))


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table: 0-based row and column, its words `start` to `end` (exclusive) of the page's words.

    A cell that spans columns (a header over several) stands in the first of them; `span` says over how many.
    """

    row: int
    column: int
    text: str
    bbox: BBox
    start: int
    end: int
    header: bool = False
    span: int = 1


@dataclass(frozen=True, slots=True)
class LayoutBlock:
    """A block of a page's layout.

    Attributes:
        order: its place in the page's reading order, from 0; also the id by which a reader names it.
        start: its first word among the page's words; its words are contiguous (`start` to `end`, exclusive).
        cells: of a table, row by row; empty when the block is no table or its cells are not known.
        caption_of: of a caption, the `order` of the block that it belongs to.
    """

    kind: BlockKind
    bbox: BBox
    text: str
    order: int
    start: int = 0
    end: int = 0
    cells: tuple[TableCell, ...] = ()
    caption_of: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it is read: its words in reading order and its layout blocks, which divide them.

    Attributes:
        label: what is printed on the page as its number, or None.
        size: width and height in points, as seen (rotation and CropBox applied).
        ocr: True where the words come from OCR, the page having no text layer.
    """

    ref: PageRef
    label: str | None
    size: tuple[float, float]
    words: Words
    blocks: tuple[LayoutBlock, ...] = ()
    ocr: bool = False
    text: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", "\n".join(self.line_texts()))

    def line_spans(self) -> list[tuple[int, int]]:
        """The visual lines as `(start, end)` ranges of words, top of the reading order first."""
        lines = self.words.lines
        if not len(lines):
            return []
        cuts = [0, *(np.flatnonzero(np.diff(lines)) + 1).tolist(), len(lines)]
        return list(zip(cuts[:-1], cuts[1:], strict=True))

    def line_texts(self) -> list[str]:
        """The visual lines as text, words joined by single spaces."""
        return [" ".join(self.words.texts[start:end]) for start, end in self.line_spans()]


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A line of the document's outline: its level from 1, its title and the physical page it leads to."""

    level: int
    title: str
    page: int
