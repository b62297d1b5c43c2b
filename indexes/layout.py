"""The layout model's view of a page: PyMuPDF's model in a worker, its regions mapped onto the page's words.

The words and their order stay as they are on the fast path, so ranges of words mean the same on both. What
may differ are the blocks: their kinds and bounds, table cells, captions.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexes.blocks import CAPTION, insert_pictures, tie_captions
from indexes.cache import digest
from indexes.page_store import span_text
from indexes.tables import cells_of
from indexes.types import BBox, BlockKind, LayoutBlock, Page

REVISION = 1  # of how the model's regions are kept
KINDS: dict[str, BlockKind] = {
    "text": "text",
    "footnote": "text",
    "title": "title",
    "section-header": "title",
    "list-item": "list",
    "table": "table",
    "picture": "picture",
    "caption": "caption",
    "formula": "formula",
    "page-header": "header",
    "page-footer": "footer",
}

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Region:
    """A region that the model found, normalized; `bounds` are the x of a table's lines between columns."""

    kind: BlockKind
    bbox: BBox
    bounds: tuple[float, ...] = ()


def settings_digest() -> str:
    """Names the model, so that regions found by another are never taken for its own."""
    from importlib.metadata import version

    return digest(REVISION, version("pymupdf"), version("pymupdf_layout"))


def find_regions(page: Any) -> list[dict[str, Any]]:
    """Runs the model on an unrotated PyMuPDF page, in a worker.

    Returns:
        Regions as `{"kind", "box", "bounds"}`, normalized, in the model's reading order.
    """
    width, height = float(page.rect.width), float(page.rect.height)
    page.get_layout(return_raw=True)
    regions = []
    for group in page.layout_information or ():
        x1, y1, x2, y2 = (float(value) for value in group["group_bbox"][:4])
        box = [x1 / width, y1 / height, x2 / width, y2 / height]
        found: dict[str, Any] = {"kind": KINDS.get(group["class_name"], "text"), "box": box}
        grid = group.get("table_grid")
        if grid is not None:
            found["bounds"] = [(x1 + float(x)) / width for x in grid.v_lines]
        regions.append(found)
    return regions


def read_regions(records: Sequence[dict[str, Any]]) -> list[Region]:
    """What `find_regions` found, as `Region`s."""
    return [
        Region(record["kind"], BBox.clipped(*record["box"]), tuple(record.get("bounds", ())))
        for record in records
    ]


def with_regions(page: Page, regions: Sequence[Region]) -> Page:
    """The page with the model's blocks; what no region covers keeps the blocks it has."""
    if not regions:
        return page
    ids = _assign(page, regions)
    runs = _runs(ids)
    found: list[tuple[BlockKind, int, int, BBox]] = []
    bounds: dict[int, tuple[float, ...]] = {}
    seen: set[int] = set()
    for region, start, end in runs:
        kind, bbox = _block(page, regions, region, start, end)
        if kind == "picture" and region in seen:
            bbox = page.words.bbox(start, end)  # the rest of a picture whose words don't follow one another
        seen.add(region)
        if kind == "table" and region < len(regions):
            bounds[start] = regions[region].bounds
        found.append((kind, start, end, bbox))
    empty = [r.bbox for i, r in enumerate(regions) if r.kind == "picture" and i not in seen]
    # images that the model has nothing to say about are pictures all the same
    empty += [b.bbox for b in page.blocks if b.kind == "picture" and not _is_covered(b.bbox, regions)]
    blocks = []
    for order, (kind, start, end, bbox) in enumerate(insert_pictures(found, empty)):
        cells = (
            cells_of(page.words, page.size, (start, end), bounds.get(start, ())) if kind == "table" else ()
        )
        blocks.append(LayoutBlock(kind, bbox, span_text(page.words, start, end), order, start, end, cells))
    return dataclasses.replace(page, blocks=tie_captions(blocks))


def _block(
    page: Page, regions: Sequence[Region], region: int, start: int, end: int
) -> tuple[BlockKind, BBox]:
    """Kind and box of a run of words; numbers past the regions are the page's own blocks."""
    around = page.words.bbox(start, end)
    if region >= len(regions):
        return page.blocks[region - len(regions)].kind, around
    kind = regions[region].kind
    if kind == "picture":
        return kind, BBox.around([around, regions[region].bbox])
    if kind in ("text", "title") and CAPTION.match(" ".join(page.words.texts[start : start + 6])):
        return "caption", around
    return kind, around


def _is_covered(box: BBox, regions: Sequence[Region]) -> bool:
    return any(box.intersection(region.bbox) > 0.3 * min(box.area, region.bbox.area) for region in regions)


def _assign(page: Page, regions: Sequence[Region]) -> Ids:
    """For each word the region it stands in, or `len(regions)` + its block where there is none."""
    ids = _smallest_around(page.words.boxes, regions)
    own = np.zeros(len(ids), np.int64)
    for at, block in enumerate(page.blocks):
        own[block.start : block.end] = len(regions) + at
        if block.kind in ("header", "footer"):
            ids[block.start : block.end] = (
                len(regions) + at
            )  # repetition over pages says more than one page's look
    for start, end in page.line_spans():
        line = ids[start:end]
        covered = np.flatnonzero(line >= 0)
        if not len(covered):
            ids[start:end] = own[start:end]
        elif len(covered) < len(line):
            nearest = np.abs(np.arange(len(line))[:, None] - covered[None, :]).argmin(1)
            ids[start:end] = line[covered[nearest]]
        tables = [i for i in set(ids[start:end].tolist()) if i < len(regions) and regions[i].kind == "table"]
        for table in tables:
            if (ids[start:end] == table).mean() > 0.6:
                ids[start:end] = table
    return ids


def _smallest_around(boxes: NDArray[np.float32], regions: Sequence[Region]) -> Ids:
    """For each box the smallest region around its center, -1 where there is none."""
    x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    ids = np.full(len(boxes), -1, np.int64)
    for at in sorted(range(len(regions)), key=lambda i: -regions[i].bbox.area):
        box = regions[at].bbox
        inside = (x >= box.x1 - 0.003) & (x <= box.x2 + 0.003) & (y >= box.y1 - 0.003) & (y <= box.y2 + 0.003)
        ids[inside] = at
    return ids


def _runs(ids: Ids) -> list[tuple[int, int, int]]:
    """Consecutive words of one region, as (region, start, end)."""
    if not len(ids):
        return []
    cuts = [0, *(np.flatnonzero(np.diff(ids)) + 1).tolist(), len(ids)]
    return [(int(ids[a]), a, b) for a, b in zip(cuts, cuts[1:], strict=False)]
