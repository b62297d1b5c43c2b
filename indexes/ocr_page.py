"""A page from what OCR read on it: the same columns as from a text layer."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from indexes.raw import RawPage
from indexes.rows import arrange

CERTAIN = 0.6  # lines that the recognizer scores lower are noise: textures, logos, handwriting
SIZE = 1.05  # a font's size to the height of its line's ink, from ascender to descender


def page_from_lines(page: RawPage, lines: Sequence[dict[str, Any]]) -> RawPage:
    """Puts OCR's lines in reading order; `page` gives number, size and images."""
    texts: list[str] = []
    boxes: list[tuple[float, float, float, float]] = []
    keys: list[tuple[int, int]] = []
    level: list[bool] = []
    for at, line in enumerate(lines):
        if line["score"] < CERTAIN:
            continue
        x1, y1, x2, y2 = line["box"]
        upright = line.get("upright", True)
        for word, (a, b) in zip(line["words"], line["spans"], strict=True):
            texts.append(word)
            boxes.append((a, y1, b, y2) if upright else (x1, a, x2, b))
            keys.append((at, 0))
            level.append(upright)
    if not texts:
        return dataclasses.replace(page, ocr=True)
    normal = np.clip(np.asarray(boxes, np.float64), 0, 1)
    points = normal * np.asarray([*page.size, *page.size])
    upright_words = np.asarray(level)
    extent = np.where(upright_words, points[:, 3] - points[:, 1], points[:, 2] - points[:, 0])
    placed = arrange(points, np.asarray(keys, np.int64), upright_words, texts, stored_order=False)
    order = placed.order
    return dataclasses.replace(
        page,
        texts=tuple(texts[i] for i in order.tolist()),
        boxes=normal[order].astype(np.float32),
        lines=placed.lines,
        groups=placed.groups,
        heights=(extent * SIZE)[order].astype(np.float32),
        bold=np.zeros(len(texts), np.bool_),
        ocr=True,
    )
