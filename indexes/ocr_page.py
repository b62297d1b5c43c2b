"""A page from what OCR read on it: the same columns as from a text layer."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexes.raw import RawPage
from indexes.rows import arrange

CERTAIN = 0.6  # lines that the recognizer scores lower are noise: textures, logos, handwriting
# parts of a font's size that letters take up, from the base line
SMALL, TALL, BELOW = 0.5, 0.72, 0.21
_WITHOUT_TALL = frozenset("acegmnopqrsuvwxyz.,:;-_–—~+=<>*•·…")
_BELOW = frozenset("gjpqyQ,;()[]{}|/@$")


def page_from_lines(page: RawPage, lines: Sequence[dict[str, Any]]) -> RawPage:
    """Puts OCR's lines in reading order; `page` gives number, size and images."""
    texts: list[str] = []
    boxes: list[tuple[float, float, float, float]] = []
    keys: list[tuple[int, int]] = []
    level: list[bool] = []
    heights: list[float] = []
    for at, line in enumerate(lines):
        if line["score"] < CERTAIN:
            continue
        x1, y1, x2, y2 = line["box"]
        upright = line.get("upright", True)
        extent = (y2 - y1) * page.size[1] if upright else (x2 - x1) * page.size[0]
        size = extent / letter_extent("".join(line["words"]))
        for word, (a, b) in zip(line["words"], line["spans"], strict=True):
            texts.append(word)
            boxes.append((a, y1, b, y2) if upright else (x1, a, x2, b))
            keys.append((at, 0))
            level.append(upright)
            heights.append(size)
    if not texts:
        return dataclasses.replace(page, ocr=True)
    normal = np.clip(np.asarray(boxes, np.float64), 0, 1)
    points = normal * np.asarray([*page.size, *page.size])
    placed = arrange(points, np.asarray(keys, np.int64), np.asarray(level), texts, stored_order=False)
    order = placed.order
    groups, sizes = _paragraphs(points[order], placed.lines, np.asarray(heights)[order])
    return dataclasses.replace(
        page,
        texts=tuple(texts[i] for i in order.tolist()),
        boxes=normal[order].astype(np.float32),
        lines=placed.lines,
        groups=groups,
        heights=sizes,
        bold=np.zeros(len(texts), np.bool_),
        ocr=True,
    )


def letter_extent(text: str) -> float:
    """The height of a line's ink as a share of its font's size, by which letters are in it."""
    above = SMALL if all(letter in _WITHOUT_TALL for letter in text) else TALL
    return above + (BELOW if any(letter in _BELOW for letter in text) else 0.0)


def _paragraphs(
    points: NDArray[np.float64], lines: NDArray[np.int32], heights: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Groups lines that follow one another in letters of about one size; each group gets its median size.

    Args:
        points: `(n, 4)` boxes of the words in reading order, in points.
        lines: `(n,)` their lines.
        heights: `(n,)` their font sizes as measured.

    Returns:
        `(n,)` groups and `(n,)` font sizes.
    """
    starts = np.concatenate([[0], np.flatnonzero(np.diff(lines)) + 1])
    low = np.minimum.reduceat(points[:, :2], starts)
    high = np.maximum.reduceat(points[:, 2:], starts)
    sizes = np.maximum.reduceat(heights, starts)
    of_line = np.zeros(len(starts), np.int32)
    for i in range(1, len(starts)):
        size = max(sizes[i], sizes[i - 1])
        below = -0.3 * size < low[i, 1] - high[i - 1, 1] < 0.9 * size
        left = abs(low[i, 0] - low[i - 1, 0]) < 1.5 * size
        centered = abs(low[i, 0] + high[i, 0] - low[i - 1, 0] - high[i - 1, 0]) < 2 * size
        alike = min(sizes[i], sizes[i - 1]) > 0.8 * size
        of_line[i] = of_line[i - 1] + (not (below and alike and (left or centered)))
    counts = np.diff(np.concatenate([starts, [len(lines)]]))
    groups = np.repeat(of_line, counts)
    medians = [float(np.median(heights[groups == group])) for group in range(int(groups[-1]) + 1)]
    return groups, np.asarray(medians, np.float32)[groups]
