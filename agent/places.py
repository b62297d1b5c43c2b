"""Places on a page: words, cells and boxes that were pointed at become tight boxes around words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.types import FactDraft
from indexes.types import BBox, LayoutBlock, Page

STRAY = 0.1  # other words that a joined box may cover, as a share of its own
WHOLE_PAGE = 0.85  # share of the page from which a box is taken for "the whole page"


@dataclass
class Place:
    """What a draft's pointers come to: words, boxes without words, and what was wrong with them."""

    words: set[int] = field(default_factory=set)
    boxes: list[BBox] = field(default_factory=list)
    visual: bool = False
    notes: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.words or self.boxes)

    def regions(self, page: Page) -> list[BBox]:
        """The boxes, those without words first."""
        return self.boxes + word_regions(page, self.words)


def ranged(draft: FactDraft, page: Page) -> Place:
    """The words of a draft's ranges."""
    place, total = Place(), len(page.words)
    for start, end in draft.words:
        low, high = max(0, int(start)), min(total, int(end))
        if low >= high:
            place.notes.append(f"words {start} to {end}: the page has {total}")
        place.words.update(range(low, high))
    return place


def blocked(draft: FactDraft, page: Page) -> Place:
    """A draft's blocks: their words, or their boxes where they hold none."""
    place = Place()
    by_order = {block.order: block for block in page.blocks}
    for order in dict.fromkeys(draft.blocks):
        block = by_order.get(order)
        if block is None:
            place.notes.append(f"block {order}: the page has no such block")
        elif block.end > block.start:
            place.words.update(range(block.start, block.end))
        else:
            place.boxes.append(block.bbox)
            place.visual = True
    return place


def celled(draft: FactDraft, page: Page) -> Place:
    """The words of a draft's table cells; an empty cell is its box."""
    place = Place()
    by_order = {block.order: block for block in page.blocks}
    for order, row, column in draft.cells:
        block = by_order.get(order)
        cell = None if block is None else _cell(block, row, column)
        if cell is None:
            place.notes.append(f"block {order}, row {row}, column {column}: the page has no such cell")
        else:
            place.words.update(range(*cell))
    return place


def _cell(block: LayoutBlock, row: int, column: int) -> tuple[int, int] | None:
    """The words of a cell; one that spans columns stands in each of them."""
    for cell in block.cells:
        if cell.row == row and cell.column <= column < cell.column + cell.span and cell.end > cell.start:
            return cell.start, cell.end
    return None


def snapped(bbox: BBox, page: Page) -> Place:
    """The words whose middle a box covers, or the picture it shows, or the box itself.

    A box over the whole page is not taken unless one block fills the page.
    """
    if bbox.area == 0:
        return Place(notes=["a box without an area"])
    if bbox.area >= WHOLE_PAGE and not filled(page):
        return Place(notes=["a box over the whole page"])
    covered = _inside((page.words.boxes[:, :2] + page.words.boxes[:, 2:]) / 2, bbox)
    pictures = [block.bbox for block in page.blocks if block.kind == "picture" and _covers(bbox, block.bbox)]
    if pictures or not covered:
        return Place(boxes=[BBox.around(pictures) if pictures else bbox], visual=True)
    return Place(set(covered))


def filled(page: Page) -> bool:
    """Whether one block fills the page."""
    return any(block.bbox.area >= WHOLE_PAGE for block in page.blocks)


def _covers(bbox: BBox, other: BBox) -> bool:
    shared = bbox.intersection(other)
    return shared > 0.5 * min(bbox.area, other.area) > 0


def word_regions(page: Page, words: Iterable[int]) -> list[BBox]:
    """Tight boxes around words: one where they stand together, whole rows in tables.

    Args:
        page: the page.
        words: indices of its words, in any order.
    """
    wanted = sorted(set(words))
    groups: list[list[int]] = []
    blocks = sorted(
        (block for block in page.blocks if block.end > block.start), key=lambda block: block.start
    )
    at = 0
    for block in blocks:
        loose = _until(wanted, at, block.start)
        at += len(loose)
        inside = _until(wanted, at, block.end)
        at += len(inside)
        for group in (loose, _rows(page, block, inside) if block.kind == "table" else inside):
            groups += _runs(page, group)
    return [_around(page, group) for group in _joined(page, [*groups, *_runs(page, wanted[at:])])]


def _joined(page: Page, groups: Sequence[list[int]]) -> list[list[int]]:
    """Groups in reading order, neighbours made one where hardly another word stands in their common box."""
    middle = (page.words.boxes[:, :2] + page.words.boxes[:, 2:]) / 2
    wanted = {i for group in groups for i in group}
    out: list[list[int]] = []
    for group in groups:
        if out:
            both = [*out[-1], *group]
            box = _around(page, both)
            inside = _inside(middle, box)
            if sum(i not in wanted for i in inside) <= STRAY * len(both):
                out[-1] = both
                continue
        out.append(group)
    return out


def _inside(middle: NDArray[Any], box: BBox) -> list[int]:
    """The words whose middle a box covers."""
    (x, y) = middle.T
    found = np.flatnonzero((x >= box.x1) & (x <= box.x2) & (y >= box.y1) & (y <= box.y2))
    return [int(i) for i in found]


def _until(wanted: Sequence[int], at: int, end: int) -> list[int]:
    """The wanted words from position `at` on that stand before word `end`."""
    stop = at
    while stop < len(wanted) and wanted[stop] < end:
        stop += 1
    return list(wanted[at:stop])


def _around(page: Page, words: Sequence[int]) -> BBox:
    part = page.words.boxes[list(words)]
    low, high = part[:, :2].min(axis=0).tolist(), part[:, 2:].max(axis=0).tolist()
    return BBox.clipped(low[0], low[1], high[0], high[1])


def _rows(page: Page, table: LayoutBlock, words: Sequence[int]) -> list[int]:
    """The words of the table's rows that hold any of `words`, labels and all."""
    if not words:
        return []
    rows = {cell.row for cell in table.cells if any(cell.start <= i < cell.end for i in words)}
    taken = {i for cell in table.cells if cell.row in rows for i in range(cell.start, cell.end)}
    lines = page.words.lines
    on = {int(lines[i]) for i in words}
    if not rows:
        taken = {i for i in range(table.start, table.end) if int(lines[i]) in on}
    return sorted(taken | set(words))


def _runs(page: Page, words: Sequence[int]) -> list[list[int]]:
    """Words split where more than a line lies between them."""
    runs: list[list[int]] = []
    lines = page.words.lines
    for i in words:
        if runs and int(lines[i]) - int(lines[runs[-1][-1]]) <= 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs
