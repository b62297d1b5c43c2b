"""The text layer of a page through PyMuPDF, in a worker: words, fonts and images."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexes.raw import Floats, RawPage
from indexes.rows import arrange
from indexes.source import ImageSource, mupdf

FEW_CHARACTERS = 40  # so few beside an image of the whole page are no text layer
COVERED = 0.6  # share of the page that such an image covers
_SYMBOLS = re.compile(r"dingbats|wingdings|webdings", re.IGNORECASE)
_BOLD = re.compile(r"bold|black|heavy|demi(?!light)", re.IGNORECASE)
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
    found = [clean for word in text_page.extractWORDS() for clean in _clean(word)]
    images = _images(page, size)
    if not found:
        return _replace(
            RawPage.empty(number, size), images=images, needs_ocr=bool(len(images)) or _drawn(page)
        )
    fonts, symbols = _fonts(text_page, page.rotation in (90, 270))
    boxes = _as_seen(np.asarray([word[:4] for word in found], np.float64), page)
    inside = ((boxes[:, :2] + boxes[:, 2:]) / 2 > 0).all(1) & ((boxes[:, :2] + boxes[:, 2:]) / 2 < size).all(
        1
    )
    kept = np.flatnonzero(inside).tolist()
    texts = [_shown(found[i], symbols) for i in kept]
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


def _clean(word: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """A word without control characters; parted where it holds spaces that PyMuPDF does not part words at."""
    text = word[4]
    if text.isalnum():
        return [word]
    parts = "".join(" " if c.isspace() else c for c in text if c.isprintable() or c.isspace()).split()
    if len(parts) < 2:
        return [(*word[:4], parts[0], *word[5:])] if parts else []
    x1, y1, x2, y2 = word[:4]
    unit, at, cut = (x2 - x1) / max(1, len(" ".join(parts))), x1, []
    for part in parts:
        cut.append((at, y1, at + unit * len(part), y2, part, *word[5:]))
        at += unit * (len(part) + 1)
    return cut


def _shown(word: tuple[Any, ...], symbols: dict[tuple[int, int], list[tuple[float, float]]]) -> str:
    """What a word shows: letters of a symbol font, which stand for bullets and arrows, as a bullet."""
    for x1, x2 in symbols.get((word[5], word[6]), ()):
        if len(word[4]) <= 2 and x1 - 1 <= (word[0] + word[2]) / 2 <= x2 + 1:
            return "•"
    return str(word[4])


def _fonts(
    text_page: Any,
    turned: bool,
) -> tuple[dict[tuple[int, int], tuple[float, bool, bool]], dict[tuple[int, int], list[tuple[float, float]]]]:
    """Of every (block, line): its longest span's size, whether all is bold, whether it runs horizontally.

    Also where on it letters of symbol fonts stand that were not mapped to the symbols.
    """
    fonts: dict[tuple[int, int], tuple[float, bool, bool]] = {}
    symbols: dict[tuple[int, int], list[tuple[float, float]]] = {}
    across = 0 if turned else 1
    for block in text_page.extractDICT()["blocks"]:
        for at, line in enumerate(block.get("lines", ())):
            spans = [span for span in line["spans"] if span["text"].strip()]
            if spans:
                longest = max(spans, key=lambda span: len(span["text"]))
                bold = all(span["flags"] & 16 or _BOLD.search(span["font"]) for span in spans)
                fonts[(block["number"], at)] = (float(longest["size"]), bold, abs(line["dir"][across]) < 0.1)
                for span in spans:
                    if _SYMBOLS.search(span["font"]) and span["text"].strip().isascii():
                        symbols.setdefault((block["number"], at), []).append(
                            (span["bbox"][0], span["bbox"][2])
                        )
    return fonts, symbols


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
