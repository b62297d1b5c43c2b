"""Where on a page a query matched: a map of similarities, and the few regions that stand out of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indexes.types import BBox

Floats = NDArray[np.float32]
Cells = NDArray[np.bool_]
MOST_LINES = 4
GAIN = 0.02  # a neighbouring line joins a region if it adds this much to the region's mean similarity
HOT = (
    0.5  # of the way from the page's lowest similarity to its highest, from which a patch may be in a region
)
HOTTEST = 0.1  # share of the page's patches that may be in regions
PART = 0.25  # share of a region's patches from which it takes a layout block
WHOLE = 0.5  # share of a block's patches, or of its width, from which a region takes all of it
ALIGNED = 0.02  # of a patch: how far a box may lie off the grid


@dataclass(frozen=True, slots=True)
class MatchedRegion:
    """A place that a query matched.

    Attributes:
        score: the mean over the query's vectors of their highest similarity there.
    """

    bbox: BBox
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class PageMatch:
    """How well each vector of a page matches each vector of a query.

    Attributes:
        similarities: `(n_vectors, q)`, of the page's vectors in reading order with the query's.
        boxes: `(n_vectors, 4)`, their places: the patches of an image, or words.
    """

    similarities: Floats
    boxes: Floats

    def __len__(self) -> int:
        return len(self.boxes) if self.similarities.size else 0

    def heat(self) -> Floats:
        """Each vector's mean similarity `(n_vectors,)`, 0 for the page's lowest and 1 for its highest."""
        if not len(self):
            return np.zeros(0, np.float32)
        mean = self.similarities.mean(axis=1)
        spread = float(mean.max() - mean.min())
        if spread <= 0:
            return np.zeros_like(mean)
        heat: Floats = (mean - mean.min()) / spread
        return heat

    def score(self, box: BBox) -> float | None:
        """The mean over the query's vectors of their highest similarity in a box, None where no vector is."""
        if not len(self):
            return None
        x, y = self.boxes[:, 0::2].mean(axis=1), self.boxes[:, 1::2].mean(axis=1)
        inside = (x >= box.x1) & (x <= box.x2) & (y >= box.y1) & (y <= box.y2)
        if not inside.any():  # the box is smaller than a patch
            overlap = np.minimum(self.boxes[:, 2:], [box.x2, box.y2]) > np.maximum(
                self.boxes[:, :2], [box.x1, box.y1]
            )
            inside = overlap.all(axis=1)
        return float(self.similarities[inside].max(axis=0).mean()) if inside.any() else None

    def regions(self, n: int, blocks: Sequence[BBox] = ()) -> list[MatchedRegion]:
        """The regions that match best, at most `n`, best first; none where there is nothing to compare.

        Of patches: those that stand out of the page, as far as they touch each other, snapped to the layout
        `blocks` they lie on. Of words: the line with the highest mean, grown by neighbouring lines as long as
        they add to it, then the best of the rest.
        """
        if not len(self):
            return []
        grid = self.grid()
        return _lines(self, n) if grid is None else _patches(self.fine(grid), grid, n, blocks)

    def grid(self) -> tuple[int, int] | None:
        """Rows and columns of the patches that the boxes are, None where they are words.

        Beside the patches there may be larger boxes of whole numbers of them (a page seen again as one tile).
        """
        low, size = self.boxes[:, :2], self.boxes[:, 2:] - self.boxes[:, :2]
        patch = np.median(size, axis=0)
        if not (patch > 0).all():
            return None
        shape, times, places = np.round(1 / patch), size / patch, low / patch
        # A small error in the patch's size adds up over a row.
        fits = (abs(1 / patch - shape) <= ALIGNED * shape).all()
        whole = (abs(times - np.round(times)) <= ALIGNED * times).all() and (times > 0.5).all()
        aligned = (abs(places - np.round(places)) <= 0.25).all()
        return (int(shape[1]), int(shape[0])) if fits and whole and aligned else None

    def fine(self, grid: tuple[int, int]) -> "PageMatch":
        """The vectors that stand for single patches."""
        size = (self.boxes[:, 2:] - self.boxes[:, :2]) * np.array(grid[::-1])
        single = (size < 1.5).all(axis=1)
        return PageMatch(self.similarities[single], self.boxes[single])

    def cells(self, grid: tuple[int, int]) -> NDArray[np.int64]:
        """Row and column `(n_vectors, 2)` of each patch."""
        shape = np.array(grid)
        middle = (self.boxes[:, [1, 0]] + self.boxes[:, [3, 2]]) / 2
        cells: NDArray[np.int64] = np.clip((middle * shape).astype(np.int64), 0, shape - 1)
        return cells


def line_starts(boxes: Floats) -> NDArray[np.int64]:
    """Where visual lines begin among boxes `(n, 4)` in reading order: `(lines,)`, the first is 0.

    A box stays on the line if it shares more than half of the lower height with the one before and lies
    right of it.
    """
    height = boxes[:, 3] - boxes[:, 1]
    shared = np.minimum(boxes[1:, 3], boxes[:-1, 3]) - np.maximum(boxes[1:, 1], boxes[:-1, 1])
    same = (shared > 0.5 * np.minimum(height[1:], height[:-1])) & (boxes[1:, 0] >= boxes[:-1, 0])
    return np.flatnonzero(np.concatenate([[True], ~same])).astype(np.int64)


def _lines(match: PageMatch, n: int) -> list[MatchedRegion]:
    """Regions of words: lines, and the lines around them that add to them."""
    boxes = match.boxes
    starts = line_starts(boxes)
    lines = np.maximum.reduceat(match.similarities, starts, axis=0)
    ends = np.append(starts[1:], len(boxes))
    free = np.ones(len(lines), bool)
    regions: list[MatchedRegion] = []
    while len(regions) < n and free.any():
        seed = int(np.where(free, lines.mean(axis=1), -np.inf).argmax())
        first, last = _grown(lines, free, seed)
        free[first : last + 1] = False
        score = float(lines[first : last + 1].max(axis=0).mean())
        regions.append(MatchedRegion(_around(boxes[starts[first] : ends[last]]), score))
    return sorted(regions, key=lambda region: -region.score)


def _around(boxes: Floats) -> BBox:
    low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    return BBox.clipped(float(low[0]), float(low[1]), float(high[0]), float(high[1]))


def _grown(lines: Floats, free: Cells, seed: int) -> tuple[int, int]:
    """The first and last line of the region that grows from line `seed`."""
    first = last = seed
    best = lines[seed]
    while last - first + 1 < MOST_LINES:
        around = [i for i in (first - 1, last + 1) if 0 <= i < len(lines) and free[i]]
        if not around:
            break
        gains = [float(np.maximum(best, lines[i]).mean() - best.mean()) for i in around]
        if max(gains) < GAIN:
            break
        chosen = around[int(np.argmax(gains))]
        best = np.maximum(best, lines[chosen])
        first, last = min(first, chosen), max(last, chosen)
    return first, last


def _patches(match: PageMatch, grid: tuple[int, int], n: int, blocks: Sequence[BBox]) -> list[MatchedRegion]:
    """Regions of patches: the hot ones that touch, each on the blocks that hold much of it."""
    heat = match.heat()
    level = max(HOT, float(np.quantile(heat, 1 - HOTTEST)))
    cells = match.cells(grid)
    hot = np.zeros(grid, bool)
    hot[cells[heat >= level, 0], cells[heat >= level, 1]] = True
    found: list[MatchedRegion] = []
    for part in components(hot):
        for box, inside in _snapped(part, blocks):
            chosen = inside[cells[:, 0], cells[:, 1]]
            score = float(match.similarities[chosen].max(axis=0).mean())
            found.append(MatchedRegion(box, score))
    kept: list[MatchedRegion] = []
    for region in sorted(found, key=lambda region: -region.score):
        if all(_apart(region.bbox, other.bbox) for other in kept):
            kept.append(region)
    return kept[:n]


def components(hot: Cells) -> list[Cells]:
    """The parts of a grid `(rows, columns)` whose true cells touch, at corners too, each as such a grid."""
    left = hot.copy()
    parts: list[Cells] = []
    for row, column in np.argwhere(hot).tolist():
        if not left[row, column]:
            continue
        part = np.zeros_like(hot)
        left[row, column] = False
        waiting = [(row, column)]
        while waiting:
            y, x = waiting.pop()
            part[y, x] = True
            top, side = max(0, y - 1), max(0, x - 1)
            for dy, dx in np.argwhere(left[top : y + 2, side : x + 2]).tolist():
                left[top + dy, side + dx] = False
                waiting.append((top + dy, side + dx))
        parts.append(part)
    return parts


def _snapped(part: Cells, blocks: Sequence[BBox]) -> list[tuple[BBox, Cells]]:
    """A part's places on the layout blocks that hold much of it, each with its cells; else its own box."""
    total = int(part.sum())
    found = []
    for block in blocks:
        on = _cells_of(block, part.shape)
        inside = part & on
        if inside.sum() >= PART * total and inside.any():
            found.append((_on_block(inside, on, block), inside))
    return found or [(_cell_box(part), part)]


def _cells_of(block: BBox, shape: tuple[int, ...]) -> Cells:
    """The cells whose middle a block covers; of a block thinner than a cell those on its middle line."""
    ys, xs = (np.arange(shape[0]) + 0.5) / shape[0], (np.arange(shape[1]) + 0.5) / shape[1]
    rows, columns = (block.y1 <= ys) & (ys <= block.y2), (block.x1 <= xs) & (xs <= block.x2)
    if not rows.any():
        rows[min(shape[0] - 1, int((block.y1 + block.y2) / 2 * shape[0]))] = True
    if not columns.any():
        columns[min(shape[1] - 1, int((block.x1 + block.x2) / 2 * shape[1]))] = True
    covered: Cells = rows[:, None] & columns[None]
    return covered


def _on_block(inside: Cells, on: Cells, block: BBox) -> BBox:
    """The block, or the strip of it where the hot cells are."""
    if inside.sum() >= WHOLE * on.sum():
        return block
    box = _cell_box(inside)
    x1, x2 = max(box.x1, block.x1), min(box.x2, block.x2)
    y1, y2 = max(box.y1, block.y1), min(box.y2, block.y2)
    if x2 - x1 >= WHOLE * (block.x2 - block.x1):
        x1, x2 = block.x1, block.x2
    return BBox.clipped(x1, y1, x2, y2) if x2 > x1 and y2 > y1 else block


def _cell_box(cells: Cells) -> BBox:
    """The box around the true cells of a grid that covers the page."""
    rows, columns = np.flatnonzero(cells.any(axis=1)), np.flatnonzero(cells.any(axis=0))
    height, width = cells.shape
    return BBox.clipped(
        float(columns[0]) / width,
        float(rows[0]) / height,
        float(columns[-1] + 1) / width,
        float(rows[-1] + 1) / height,
    )


def _apart(box: BBox, other: BBox) -> bool:
    return box.intersection(other) <= 0.7 * min(box.area, other.area)
