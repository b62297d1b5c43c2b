"""What a model sees of a page: its words in numbered blocks, tables as Markdown, and a picture that fits."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.models import Model, Picture
from agent.readers.generative.marks import draw_blocks
from agent.readers.generative.safe import attribute, between, safe
from agent.types import PageImages
from indexes.types import BBox, LayoutBlock, Page

if TYPE_CHECKING:
    from PIL.Image import Image

PAGE_DPI = 200  # of a page's picture at most
ZOOM_DPI = 300  # of a region's
CUT = "(cut here to fit)"
_OMITTED = re.compile("…(?: …)+")
SEAM = 8  # tokens that joining two pieces of a prompt may add

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Shown:
    """A page, or a region of it, as a model sees it.

    Attributes:
        text: its words between delimiters.
        picture: None where there is none to see.
        region: what of the page the picture shows; None for all.
        tokens: that both cost at most.
    """

    page: Page
    text: str
    picture: Picture | None
    tokens: int
    region: BBox | None = None


def markdown(block: LayoutBlock) -> str:
    """A table's cells as Markdown, each row's number first; a cell over several columns is in the first."""
    rows = sorted({cell.row for cell in block.cells})
    columns = max(cell.column + cell.span for cell in block.cells)
    texts = {(cell.row, cell.column): safe(cell.text).replace("|", "/") for cell in block.cells}
    headers = {cell.row for cell in block.cells if cell.header}
    lines = []
    for place, row in enumerate(rows):
        lines.append(" | ".join([f"| {row}", *(texts.get((row, c), "") for c in range(columns))]) + " |")
        after = rows[place + 1] if place + 1 < len(rows) else None
        if place == _last_header(rows, headers) and after is not None:
            lines.append("|" + "---|" * (columns + 1))
    return "\n".join(lines)


def _last_header(rows: Sequence[int], headers: Collection[int]) -> int:
    """The place of the last of the header rows at the top; the first row where none is marked."""
    last = 0
    while last + 1 < len(rows) and rows[last + 1] in headers:
        last += 1
    return last


def block_text(block: LayoutBlock, page: Page) -> str:
    """A block as it is shown: its number, its kind, its lines."""
    kind = "" if block.kind == "text" else f" ({block.kind})"
    if block.cells:
        return f"[{block.order}]{kind}\n{markdown(block)}"
    lines = [
        _OMITTED.sub("…", safe(" ".join(page.words.texts[max(start, block.start) : min(end, block.end)])))
        for start, end in page.line_spans()
        if start < block.end and end > block.start
    ]
    return f"[{block.order}]{kind} " + "\n".join(lines)


def page_text(
    page: Page, count: Count, budget: int, first: Collection[int] = (), *, several: bool = False
) -> str:
    """A page's words between delimiters, within a budget.

    Args:
        page: with its layout.
        count: counts tokens.
        budget: tokens; what is longer is cut, and says so.
        first: orders of the blocks to keep before others where not all fit.
        several: say which document it is of.
    """
    named: dict[str, str | int] = {"number": page.ref.page, "label": attribute(page.label or "none")}
    if several:
        named["document"] = attribute(page.ref.doc_id)
    blocks = [block_text(block, page) for block in page.blocks]
    if not blocks:
        lines = "\n".join(safe(line) for line in page.line_texts())
        blocks = [lines or "(there are no words on this page)"]
    whole = between("page", "\n".join(blocks), **named)
    if count(whole) <= budget:
        return whole
    empty = count(between("page", "", **named)) + count(_notice(len(blocks), len(blocks))) + 1
    return between("page", _cut(page, blocks, count, budget - empty, first), **named)


def _cut(page: Page, blocks: Sequence[str], count: Count, budget: int, first: Collection[int]) -> str:
    places = sorted(range(len(blocks)), key=lambda i: (not _is_first(page, i, first), i))
    kept: dict[int, str] = {}
    for place in places:
        cost = count(blocks[place]) + 1
        if cost <= budget:
            kept[place] = blocks[place]
            budget -= cost
        elif budget > 64:
            lines = _lines_within(blocks[place], count, budget - count(CUT) - 1)
            kept[place] = f"{lines}\n{CUT}"
            budget = 0
    left = len(blocks) - len(kept)
    notice = [_notice(left, len(blocks))] if left else []
    return "\n".join([*(kept[i] for i in sorted(kept)), *notice])


def _notice(left_out: int, blocks: int) -> str:
    return f"({left_out} of the page's {blocks} blocks are left out to fit)"


def _is_first(page: Page, place: int, first: Collection[int]) -> bool:
    return place < len(page.blocks) and page.blocks[place].order in first


def _lines_within(text: str, count: Count, budget: int) -> str:
    kept: list[str] = []
    for line in text.split("\n"):
        cost = count(line) + 1
        if cost > budget:
            words = line.split(" ")
            while words and count(" ".join(words)) + 1 > budget:
                words = words[: len(words) // 2]
            return "\n".join([*kept, " ".join(words)])
        kept.append(line)
        budget -= cost
    return "\n".join(kept)


def picture_of(
    page: Page, images: PageImages, model: Model, most: int, *, marks: bool, region: BBox | None = None
) -> Picture | None:
    """A picture of a page or a region, at the highest resolution that costs at most `most` tokens.

    Returns:
        It, or None where not even a small one fits.

    Raises:
        ValueError: the page cannot be rendered.
    """
    seen = region or BBox(0, 0, 1, 1)
    dpi = ZOOM_DPI if region else PAGE_DPI
    points = page.size[0] * (seen.x2 - seen.x1), page.size[1] * (seen.y2 - seen.y1)
    width, height = (max(1, round(side * dpi / 72)) for side in points)
    size = model.picture_size(width, height, most)
    if model.picture_tokens(*size) > most:
        return None
    fit = max(size[0] / width, size[1] / height)
    image = images.render(page.ref, min(dpi, max(18.0, dpi * fit)), region)
    image = _sized(image, size)
    if marks:
        image = draw_blocks(image, page.blocks, region)
    name = f"page {page.ref.page}" if region is None else f"a region of page {page.ref.page}"
    return Picture(image, name)


def _sized(image: "Image", size: tuple[int, int]) -> "Image":
    from PIL.Image import Resampling

    return image if image.size == size else image.convert("RGB").resize(size, Resampling.LANCZOS)


def matched_blocks(page: Page, regions: Sequence[BBox]) -> set[int]:
    """Orders of the blocks that the retriever's regions touch."""
    return {b.order for b in page.blocks if any(b.bbox.intersection(region) > 0 for region in regions)}


def batches(shown: Sequence[Shown], room: int) -> list[list[Shown]]:
    """Pages in calls that each fit into `room` tokens, in order; a call holds pages of one document."""
    out: list[list[Shown]] = []
    left = 0
    for item in shown:
        cost = item.tokens + SEAM
        same = out and out[-1][0].page.ref.doc_id == item.page.ref.doc_id
        if not same or cost > left:
            out.append([])
            left = room
        out[-1].append(item)
        left -= cost
    return out
