"""Visual lines and reading order from words: table rows stored cell by cell become one line again."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Arranged:
    """Words put in order: `order` `(n,)` indexes the words given; `lines` and `groups` `(n,)` follow it."""

    order: NDArray[np.int64]
    lines: NDArray[np.int32]
    groups: NDArray[np.int32]


def arrange(
    boxes: NDArray[np.float64],
    keys: NDArray[np.int64],
    heights: NDArray[np.float64],
    level: NDArray[np.bool_],
    texts: list[str],
) -> Arranged:
    """Rebuilds visual lines.

    Args:
        boxes: `(n, 4)` in points, as seen.
        keys: `(n, 2)` the block and line that the PDF stores each word in, in its order.
        heights: `(n,)` font sizes.
        level: `(n,)` true for words that run horizontally.
        texts: the words.
    """
    changes = np.flatnonzero((np.diff(keys, axis=0) != 0).any(axis=1)) + 1
    starts = np.concatenate([[0], changes])
    fragment_boxes = np.concatenate(
        [np.minimum.reduceat(boxes[:, :2], starts), np.maximum.reduceat(boxes[:, 2:], starts)], axis=1
    )
    fragment = np.repeat(np.arange(len(starts)), np.diff([*starts, len(boxes)]))
    lines = np.zeros(len(starts), np.int64)
    for i in range(1, len(starts)):
        a, b = fragment_boxes[i - 1], fragment_boxes[i]
        overlap = min(a[3], b[3]) - max(a[1], b[1])
        same = overlap > 0.5 * min(a[3] - a[1], b[3] - b[1]) and b[0] >= a[2] - 2 and level[starts[i]]
        lines[i] = lines[i - 1] + (not same)
    groups = np.zeros(len(starts), np.int64)
    blocks = keys[starts, 0]
    for i in range(1, len(starts)):
        groups[i] = groups[i - 1] + (lines[i] != lines[i - 1] and blocks[i] != blocks[i - 1])
    order = np.arange(len(boxes))
    return Arranged(order, lines[fragment].astype(np.int32), groups[fragment].astype(np.int32))
