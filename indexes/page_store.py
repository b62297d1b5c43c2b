"""Finished pages on disk: batches of pages in one `.npz` each, no pickle, loaded when needed."""

import io
import json
import zipfile
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexes.errors import InputError
from indexes.types import BBox, LayoutBlock, Page, PageRef, TableCell, Words

_SCALE = 65535  # boxes are kept as 16-bit fractions of the page: 0.01 points on a letter page


def batch_name(at: int) -> str:
    """The file of the batch with pages `at * size + 1` and on."""
    return f"pages-{at:05d}.npz"


def dump_pages(pages: list[Page]) -> bytes:
    """A batch of pages without their labels; `load_pages` is the inverse, up to the precision of boxes."""
    buffer = io.BytesIO()
    heads = [
        {
            "page": page.ref.page,
            "size": page.size,
            "words": len(page.words),
            "ocr": page.ocr,
            "blocks": [block_record(block) for block in page.blocks],
        }
        for page in pages
    ]
    boxes = np.concatenate([np.zeros((0, 4), np.float32), *(page.words.boxes for page in pages)])
    np.savez(
        buffer,
        heads=_blob(json.dumps(heads, ensure_ascii=False, separators=(",", ":"))),
        texts=_blob("\n".join(text for page in pages for text in page.words.texts)),
        boxes=np.rint(boxes.astype(np.float64) * _SCALE).astype(np.uint16),
        lines=np.concatenate([np.zeros(0, np.int32), *(page.words.lines for page in pages)]),
    )
    return buffer.getvalue()


def load_pages(data: bytes, doc_id: str, labels: Sequence[str | None]) -> list[Page]:
    """Reads what `dump_pages` wrote; `labels` are those of all pages of the document."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        heads = json.loads(_text(file["heads"]))
        texts = _text(file["texts"]).split("\n")
        boxes = (file["boxes"].astype(np.float64) / _SCALE).astype(np.float32)
        lines = file["lines"]
    pages, at = [], 0
    for head in heads:
        end = at + head["words"]
        part = texts[at:end] if end > at else []
        words = Words(part, boxes[at:end], lines[at:end])
        blocks = tuple(read_block(record, words) for record in head["blocks"])
        width, height = head["size"]
        ref = PageRef(doc_id, head["page"])
        pages.append(Page(ref, labels[head["page"] - 1], (width, height), words, blocks, head["ocr"]))
        at = end
    return pages


def block_record(block: LayoutBlock) -> dict[str, Any]:
    """A block as JSON; texts are left out, they follow from the words."""
    record: dict[str, Any] = {"kind": block.kind, "at": [block.order, block.start, block.end]}
    record["box"] = _box_record(block.bbox)
    if block.cells:
        record["cells"] = [
            [
                cell.row,
                cell.column,
                cell.start,
                cell.end,
                int(cell.header),
                cell.span,
                *_box_record(cell.bbox),
            ]
            for cell in block.cells
        ]
    if block.caption_of is not None:
        record["of"] = block.caption_of
    return record


def read_block(record: dict[str, Any], words: Words) -> LayoutBlock:
    """A block from its record and the page's words."""
    order, start, end = record["at"]
    cells = tuple(
        TableCell(row, column, " ".join(words.texts[a:b]), _read_box(box), a, b, bool(header), width)
        for row, column, a, b, header, width, *box in record.get("cells", ())
    )
    text = span_text(words, start, end)
    return LayoutBlock(
        record["kind"], _read_box(record["box"]), text, order, start, end, cells, record.get("of")
    )


def span_text(words: Words, start: int, end: int) -> str:
    """Words `start` to `end`, one visual line a line."""
    if start >= end:
        return ""
    cuts = (np.flatnonzero(np.diff(words.lines[start:end])) + 1 + start).tolist()
    bounds = [start, *cuts, end]
    return "\n".join(" ".join(words.texts[a:b]) for a, b in zip(bounds, bounds[1:], strict=False))


class PageStore:
    """The finished pages of a document in a folder; a few batches are kept in memory.

    Args:
        folder: where the batches are.
        doc_id: the document's id, for the pages' refs.
        batch: pages a batch.
        labels: the pages' labels.
    """

    KEPT = 4

    def __init__(self, folder: Path, doc_id: str, batch: int, labels: Sequence[str | None]) -> None:
        self.folder, self.doc_id, self.batch, self.labels = folder, doc_id, batch, labels
        self._recent: OrderedDict[int, list[Page]] = OrderedDict()

    def page(self, number: int) -> Page:
        """One page, 1-based."""
        at, place = divmod(number - 1, self.batch)
        if at not in self._recent:
            self._recent[at] = self._load(at)
            while len(self._recent) > self.KEPT:
                self._recent.popitem(last=False)
        self._recent.move_to_end(at)
        return self._recent[at][place]

    def _load(self, at: int) -> list[Page]:
        file = self.folder / batch_name(at)
        try:
            return load_pages(file.read_bytes(), self.doc_id, self.labels)
        except (OSError, ValueError, LookupError, zipfile.BadZipFile) as error:
            raise InputError(
                f"cache entry {file}: damaged or gone; remove {self.folder} and try again"
            ) from error


def _blob(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)


def _text(blob: NDArray[np.uint8]) -> str:
    return blob.tobytes().decode("utf-8", "surrogatepass")


def _box_record(box: BBox) -> list[int]:
    return [round(value * _SCALE) for value in box.as_list()]


def _read_box(values: list[int]) -> BBox:
    return BBox(*(value / _SCALE for value in values))
