"""Pages as they come out of a worker, before anything is known about the whole document."""

import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class RawPage:
    """A page's words in reading order, with what the block rules need.

    Attributes:
        number: 1-based physical page.
        size: width and height in points, as seen.
        texts: the words, `n` of them.
        boxes: `(n, 4)` normalized.
        lines: `(n,)` visual lines from 0; never falling.
        groups: `(n,)` what the page's producer kept together (a paragraph, a table); never falling.
        heights: `(n,)` font sizes in points.
        bold: `(n,)`.
        images: `(m, 4)` normalized boxes of images.
        needs_ocr: no usable text layer.
        ocr: the words come from OCR.
    """

    number: int
    size: tuple[float, float]
    texts: tuple[str, ...]
    boxes: Floats
    lines: Ints
    groups: Ints
    heights: Floats
    bold: NDArray[np.bool_]
    images: Floats
    needs_ocr: bool = False
    ocr: bool = False

    @classmethod
    def empty(cls, number: int, size: tuple[float, float] = (612.0, 792.0)) -> "RawPage":
        """A page without words: a failed or blank one."""
        none = np.zeros(0, np.int32)
        boxes = np.zeros((0, 4), np.float32)
        return cls(number, size, (), boxes, none, none, none.astype(np.float32), none.astype(bool), boxes)


def dump(pages: list[RawPage]) -> bytes:
    """Pages as one `.npz`; `load` is the inverse."""
    buffer = io.BytesIO()
    head = [
        [p.number, p.size[0], p.size[1], len(p.texts), len(p.images), int(p.needs_ocr), int(p.ocr)]
        for p in pages
    ]
    np.savez(
        buffer,
        head=np.asarray(head, np.float64).reshape(-1, 7),
        texts=np.frombuffer("\n".join(t for p in pages for t in p.texts).encode(), np.uint8),
        boxes=_join([p.boxes for p in pages], (0, 4), np.float32),
        lines=_join([p.lines for p in pages], (0,), np.int32),
        groups=_join([p.groups for p in pages], (0,), np.int32),
        heights=_join([p.heights for p in pages], (0,), np.float32),
        bold=_join([p.bold for p in pages], (0,), np.bool_),
        images=_join([p.images for p in pages], (0, 4), np.float32),
    )
    return buffer.getvalue()


def load(data: bytes) -> list[RawPage]:
    """Reads what `dump` wrote."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        part = {name: file[name] for name in file.files}
    texts = part["texts"].tobytes().decode().split("\n")
    pages, at, image_at = [], 0, 0
    for number, width, height, n, m, needs_ocr, ocr in part["head"].tolist():
        words, images = slice(at, at + int(n)), slice(image_at, image_at + int(m))
        pages.append(
            RawPage(
                int(number),
                (width, height),
                tuple(texts[words]) if n else (),
                part["boxes"][words],
                part["lines"][words],
                part["groups"][words],
                part["heights"][words],
                part["bold"][words],
                part["images"][images],
                bool(needs_ocr),
                bool(ocr),
            )
        )
        at, image_at = words.stop, images.stop
    return pages


def _join(arrays: list[NDArray[np.generic]], shape: tuple[int, ...], kind: type) -> NDArray[np.generic]:
    return np.concatenate([np.zeros(shape, kind), *arrays]).astype(kind)
