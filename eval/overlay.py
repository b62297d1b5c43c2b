"""Pictures for region judges: pages at 144 DPI, gold regions in green and predicted boxes in red on them."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eval.benchmarks.documents import page_sizes
from indexes.document import Document
from indexes.errors import InputError
from indexes.files import content_hash, find_files
from indexes.types import BBox

if TYPE_CHECKING:
    from PIL.Image import Image

DPI = 144
GREEN, RED = (0, 160, 60), (225, 30, 30)
WIDTH = 3  # pixels of a line; green ones run outside of their box: both are seen, no text is hidden
VERSION = 1  # of the drawing: verdicts on another drawing are other verdicts
OPEN = 3  # documents kept open


class PagePictures:
    """Renders pages; documents are opened when first needed. Safe to use from several threads."""

    def __init__(self) -> None:
        self._open: OrderedDict[Path, Document] = OrderedDict()
        self._hashes: dict[Path, str] = {}
        self._sizes: dict[tuple[Path, int], tuple[int, int]] = {}
        self._lock = threading.Lock()

    def content(self, path: Path) -> str:
        """A digest of the document's content.

        Raises:
            InputError: it cannot be read.
        """
        with self._lock:
            if path not in self._hashes:
                self._hashes[path] = content_hash(find_files(path))
            return self._hashes[path]

    def size(self, path: Path, page: int) -> tuple[int, int]:
        """Width and height of a page's picture in pixels.

        Raises:
            ValueError: there is no such page, or it cannot be measured.
        """
        with self._lock:
            if (path, page) not in self._sizes:
                points = page_sizes({path: [page]}).get(path, {}).get(page)
                if points is None:
                    raise ValueError(f"page {page} of {path.name} cannot be measured")
                self._sizes[path, page] = round(points[0] * DPI / 72), round(points[1] * DPI / 72)
            return self._sizes[path, page]

    def render(self, path: Path, page: int) -> "Image":
        """A page as it is seen.

        Raises:
            ValueError: the document cannot be opened, has no such page, or it cannot be rendered.
        """
        with self._lock:
            try:
                if path not in self._open:
                    while len(self._open) >= OPEN:
                        self._open.popitem(last=False)[1].close()
                    self._open[path] = Document.open(path, ocr=False)
                self._open.move_to_end(path)
                return self._open[path].render(page, DPI)
            except InputError as error:
                raise ValueError(str(error)) from error

    def close(self) -> None:
        """Closes the documents."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()


def draw_boxes(page: "Image", gold: Sequence[BBox], predicted: Sequence[BBox]) -> "Image":
    """A copy of the page with both; gold regions are labelled `GOLD[1]`, `GOLD[2]`, ... above them."""
    from PIL import ImageDraw, ImageFont

    image = page.convert("RGB")
    if image is page:
        image = page.copy()
    draw = ImageDraw.Draw(image)
    last = image.width - 1, image.height - 1
    font = ImageFont.load_default(size=max(12, image.height // 90))
    for box in gold:
        x1, y1, x2, y2 = _pixels(box, image.size)
        around = max(0, x1 - WIDTH), max(0, y1 - WIDTH), x2 + WIDTH, y2 + WIDTH
        draw.rectangle((*around[:2], *map(min, around[2:], last)), outline=GREEN, width=WIDTH)
    for box in predicted:
        draw.rectangle(_pixels(box, image.size), outline=RED, width=WIDTH)
    for number, box in enumerate(gold, 1):
        x1, y1, _, y2 = _pixels(box, image.size)
        label = f"GOLD[{number}]"
        left, top, right, bottom = draw.textbbox((0, 0), label, font=font)
        width, height = round(right - left) + 6, round(bottom - top) + 6
        x, y = max(0, min(x1, image.width - width)), y1 - height if y1 >= height else y2
        draw.rectangle((x, y, x + width, y + height), fill=GREEN)
        draw.text((x + 3 - left, y + 3 - top), label, fill=(255, 255, 255), font=font)
    return image


def _pixels(box: BBox, size: tuple[int, int]) -> tuple[int, int, int, int]:
    width, height = size
    x1, y1 = min(round(box.x1 * width), width - 1), min(round(box.y1 * height), height - 1)
    x2, y2 = min(round(box.x2 * width), width - 1), min(round(box.y2 * height), height - 1)
    return x1, y1, max(x1, x2), max(y1, y2)
