"""Where on a page a query matched: few boxes, each a line or a few lines."""

import numpy as np
from numpy.typing import NDArray

from indexes.types import BBox

Floats = NDArray[np.float32]
MOST_LINES = 4
GAIN = 0.02  # a neighbouring line joins a region if it adds this much to the region's mean similarity


def matched_regions(similarities: Floats, boxes: Floats, n: int) -> list[BBox]:
    """The regions of a page that match a query best.

    Lines are the units: each has, per query vector, its highest similarity. The first region is the line
    with the highest mean of these, grown by neighbouring lines as long as they add to it; the next is the
    best of the rest.

    Args:
        similarities: `(n_vectors, q)`, of the page's vectors in reading order with the query's.
        boxes: `(n_vectors, 4)`, their places.
        n: the most regions to return.

    Returns:
        At most `n` boxes, best first, none where there is nothing to compare.
    """
    if not similarities.size:
        return []
    starts = line_starts(boxes)
    lines = np.maximum.reduceat(similarities, starts, axis=0)
    ends = np.append(starts[1:], len(boxes))
    free = np.ones(len(lines), bool)
    regions: list[BBox] = []
    while len(regions) < n and free.any():
        seed = int(np.where(free, lines.mean(axis=1), -np.inf).argmax())
        first, last = _grown(lines, free, seed)
        free[first : last + 1] = False
        part = boxes[starts[first] : ends[last]]
        low, high = part[:, :2].min(axis=0), part[:, 2:].max(axis=0)
        regions.append(BBox.clipped(float(low[0]), float(low[1]), float(high[0]), float(high[1])))
    return regions


def line_starts(boxes: Floats) -> NDArray[np.int64]:
    """Where visual lines begin among boxes `(n, 4)` in reading order: `(lines,)`, the first is 0.

    A box stays on the line if it shares more than half of the lower height with the one before and lies
    right of it.
    """
    height = boxes[:, 3] - boxes[:, 1]
    shared = np.minimum(boxes[1:, 3], boxes[:-1, 3]) - np.maximum(boxes[1:, 1], boxes[:-1, 1])
    same = (shared > 0.5 * np.minimum(height[1:], height[:-1])) & (boxes[1:, 0] >= boxes[:-1, 0])
    return np.flatnonzero(np.concatenate([[True], ~same])).astype(np.int64)


def _grown(lines: Floats, free: NDArray[np.bool_], seed: int) -> tuple[int, int]:
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
