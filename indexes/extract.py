"""The text layer of a page through PyMuPDF, in a worker: words, fonts and images."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexes.raw import Floats, RawPage
from indexes.rows import arrange
from indexes.source import ImageSource, mupdf

FEW_CHARACTERS = 40  # so few beside an image of the whole page are no text layer
COVERED = 0.6  # share of the page that such an image covers
GARBAGE = 0.3  # share of characters without a meaning that makes a text layer useless


def extract_page(source: Any, number: int) -> RawPage:
    """Reads a page's text layer; `needs_ocr` says where there is none to speak of."""
    if isinstance(source, ImageSource):
        size = source.size(source.load(number))
        page = RawPage.empty(number, size)
        return _replace(page, images=np.asarray([[0, 0, 1, 1]], np.float32), needs_ocr=True)
    return _pdf_page(source.page(number), number)


def _pdf_page(page: Any, number: int) -> RawPage:
    pymupdf = mupdf()
    flags = (
        pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP | pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE
    )
    text_page = page.get_textpage(flags=flags)
    size = (float(page.rect.width), float(page.rect.height))
    found = [word for word in text_page.extractWORDS() if word[4].strip()]
    images = _images(page, size)
    if not found:
        return _replace(
            RawPage.empty(number, size), images=images, needs_ocr=bool(len(images)) or _drawn(page)
        )
    fonts = _fonts(text_page)
    boxes = _as_seen(np.asarray([word[:4] for word in found], np.float64), page)
    inside = ((boxes[:, :2] + boxes[:, 2:]) / 2 > 0).all(1) & ((boxes[:, :2] + boxes[:, 2:]) / 2 < size).all(
        1
    )
    kept = np.flatnonzero(inside).tolist()
    texts = ["".join(found[i][4].split()) for i in kept]
    if not texts:
        return _replace(RawPage.empty(number, size), images=images, needs_ocr=bool(len(images)))
    keys = [(found[i][5], found[i][6]) for i in kept]
    plain = np.asarray([fonts.get(key, (10.0, False, True)) for key in keys], np.float64)
    placed = arrange(boxes[kept], np.asarray(keys, np.int64), plain[:, 2] > 0, texts)
    order = placed.order
    normal = np.clip(boxes[kept][order] / np.asarray([*size, *size]), 0, 1).astype(np.float32)
    texts = [texts[i] for i in order.tolist()]
    return RawPage(
        number,
        size,
        tuple(texts),
        normal,
        placed.lines,
        placed.groups,
        plain[order, 0].astype(np.float32),
        plain[order, 1] > 0,
        images,
        needs_ocr=_unusable(texts, images),
    )


def _fonts(text_page: Any) -> dict[tuple[int, int], tuple[float, bool, bool]]:
    """Of every (block, line): its longest span's size, whether all is bold, whether it runs horizontally."""
    fonts = {}
    for block in text_page.extractDICT()["blocks"]:
        for at, line in enumerate(block.get("lines", ())):
            spans = [span for span in line["spans"] if span["text"].strip()]
            if spans:
                longest = max(spans, key=lambda span: len(span["text"]))
                bold = all(span["flags"] & 16 or "bold" in span["font"].lower() for span in spans)
                fonts[(block["number"], at)] = (float(longest["size"]), bold, abs(line["dir"][1]) < 0.1)
    return fonts


def _as_seen(boxes: NDArray[np.float64], page: Any) -> NDArray[np.float64]:
    """Turns unrotated page coordinates into those of the page as seen, in points."""
    if not page.rotation:
        return boxes
    m = page.rotation_matrix
    turned = np.empty_like(boxes)
    for x, y in ((0, 1), (2, 3)):
        turned[:, x] = boxes[:, x] * m.a + boxes[:, y] * m.c + m.e
        turned[:, y] = boxes[:, x] * m.b + boxes[:, y] * m.d + m.f
    low, high = np.minimum(turned[:, :2], turned[:, 2:]), np.maximum(turned[:, :2], turned[:, 2:])
    return np.concatenate([low, high], axis=1)


def _images(page: Any, size: tuple[float, float]) -> Floats:
    """Boxes of the images that are large enough to be pictures, normalized."""
    if not page.get_images():
        return np.zeros((0, 4), np.float32)
    found = [info["bbox"] for info in page.get_image_info()]
    if not found:
        return np.zeros((0, 4), np.float32)
    boxes = np.clip(_as_seen(np.asarray(found, np.float64), page) / np.asarray([*size, *size]), 0, 1)
    wide, high = (boxes[:, 2:] - boxes[:, :2]).T
    return np.asarray(boxes[(wide > 0.03) & (high > 0.02)], np.float32)


def _drawn(page: Any) -> bool:
    """True where a page without text shows something after all, such as text drawn as shapes."""
    return len(page.get_cdrawings()) > 3


def _unusable(texts: list[str], images: Floats) -> bool:
    joined = "".join(texts)
    strange = sum(1 for c in joined if c == "�" or (ord(c) < 32) or 0xE000 <= ord(c) <= 0xF8FF)
    if len(joined) > 20 and strange > GARBAGE * len(joined):
        return True
    sides = images[:, 2:] - images[:, :2]
    return len(joined) <= FEW_CHARACTERS and bool(len(images)) and float(sides.prod(1).max()) >= COVERED


def _replace(page: RawPage, **changes: Any) -> RawPage:
    import dataclasses

    return dataclasses.replace(page, **changes)
