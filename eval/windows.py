"""Documents of which a reader sees only a part: some regions, or the pictures without the words."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from indexes.types import BBox, LayoutBlock, Page, TableCell, Words

if TYPE_CHECKING:
    from PIL.Image import Image

    from indexes.document import Document

MARGIN = 0.004
"""Of the page, that a region may be missed by: gold boxes are drawn by hand."""


class Window:
    """A document whose pages are changed before they are seen; what is cut away is white in the pictures."""

    def __init__(self, document: "Document", change: Callable[[Page], Page]) -> None:
        self._document, self._change = document, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._document, name)

    def __len__(self) -> int:
        return len(self._document)

    def layout(self, numbers: Sequence[int]) -> dict[int, Page]:
        """The changed pages."""
        return {number: self._change(page) for number, page in self._document.layout(numbers).items()}

    def render(self, number: int, dpi: float = 144) -> "Image":
        """The picture of what is left of a page; whole where the change leaves no words at all."""
        image = self._document.render(number, dpi)
        left = self.layout([number])[number]
        if not len(left.words):
            return image
        return _painted(image, [block.bbox for block in left.blocks])


def only_pictures(page: Page) -> Page:
    """A page without its words, so that a reader must look at it."""
    none = Words((), np.zeros((0, 4), np.float32), np.zeros(0, np.int32))
    return replace(page, words=none, blocks=tuple(b for b in page.blocks if b.kind == "picture"))


def within(page: Page, regions: Sequence[BBox]) -> Page:
    """What of a page lies in some regions.

    Words count by their middles. Of a table that a region cuts, the header cells stay too, and of a table or
    a picture its caption: without them a row has no meaning. A picture that a region meets stays a block.
    """
    touched = [b for b in page.blocks if any(b.bbox.intersection(r) > 0 for r in regions)]
    orders = {block.order for block in touched}
    kept = _inside(page.words.boxes, regions)
    for block in page.blocks:
        if block.caption_of in orders:
            kept[block.start : block.end] = True
        for cell in block.cells if block.order in orders else ():
            if cell.header:
                kept[cell.start : cell.end] = True
    places = np.cumsum(kept) - 1
    words = Words(
        [text for text, keep in zip(page.words.texts, kept, strict=True) if keep],
        page.words.boxes[kept],
        page.words.lines[kept],
    )
    blocks: list[LayoutBlock] = []
    renamed: dict[int, int] = {}
    for block in page.blocks:
        span = _span(kept, places, block.start, block.end)
        if span is None and not (block.kind == "picture" and block.order in orders):
            continue
        renamed[block.order] = len(blocks)
        blocks.append(_cut(block, span, len(blocks), words, kept, places))
    named = (
        replace(b, caption_of=renamed.get(b.caption_of)) if b.caption_of is not None else b for b in blocks
    )
    return replace(page, words=words, blocks=tuple(named))


def _inside(boxes: np.ndarray[Any, np.dtype[np.float32]], regions: Sequence[BBox]) -> Any:
    """Which words (n, 4) have their middle in one of the regions, (n,)."""
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    kept = np.zeros(len(boxes), dtype=bool)
    for r in regions:
        kept |= (x >= r.x1 - MARGIN) & (x <= r.x2 + MARGIN) & (y >= r.y1 - MARGIN) & (y <= r.y2 + MARGIN)
    return kept


def _span(kept: Any, places: Any, start: int, end: int) -> tuple[int, int] | None:
    """Where the kept ones of a range of words stand now; None where none is kept."""
    left = np.flatnonzero(kept[start:end])
    if not len(left):
        return None
    return int(places[start + left[0]]), int(places[start + left[-1]]) + 1


def _cut(
    block: LayoutBlock, span: tuple[int, int] | None, order: int, words: Words, kept: Any, places: Any
) -> LayoutBlock:
    if span is None:
        return replace(block, order=order, start=0, end=0, text="", cells=())
    start, end = span
    cells = []
    for cell in block.cells:
        own = _span(kept, places, cell.start, cell.end)
        if own is not None:
            cells.append(_cell(cell, own, words))
    bbox = block.bbox if block.kind == "picture" else words.bbox(start, end)
    text = " ".join(words.texts[start:end])
    return replace(block, order=order, start=start, end=end, text=text, bbox=bbox, cells=tuple(cells))


def _cell(cell: TableCell, span: tuple[int, int], words: Words) -> TableCell:
    start, end = span
    text = " ".join(words.texts[start:end])
    return replace(cell, start=start, end=end, text=text, bbox=words.bbox(start, end))


def _painted(image: "Image", boxes: Sequence[BBox]) -> "Image":
    """A picture that is white but for some boxes."""
    from PIL import Image

    width, height = image.size
    left = Image.new(image.mode, image.size, "white")
    for box in boxes:
        corners = (
            int(max(0.0, box.x1 - MARGIN) * width),
            int(max(0.0, box.y1 - MARGIN) * height),
            min(width, int((box.x2 + MARGIN) * width) + 1),
            min(height, int((box.y2 + MARGIN) * height) + 1),
        )
        left.paste(image.crop(corners), corners[:2])
    return left
