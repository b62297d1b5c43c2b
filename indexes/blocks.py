"""Layout blocks by rules: titles, tables, lists, captions and running lines from words alone."""

import re
import unicodedata
from collections.abc import Sequence

from indexes.lines import DocStats, Line, edge_lines, page_lines, signature
from indexes.raw import RawPage
from indexes.tables import cells_of
from indexes.types import BBox, BlockKind, LayoutBlock, Words

CAPTION = re.compile(
    r"^(?:table|figure|fig\.|chart|exhibit|graph|diagram|map|box|scheme|algorithm|listing|illustration|plate)"
    r"\s*(?:[A-Z]{1,2}[-.]?)?\d+(?:[-.–]\d+)*[a-z]?\s*(?:[:.|–—-]|$|\([a-z]\)|(?-i:[A-Z]))",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^\d{1,2}(?:\.\d{1,2}){1,3}\.?\s+[A-Z]")
ENUMERATOR = re.compile(r"^(?:\(?[0-9]{1,2}[.)]|\(?[a-zA-Z][.)]|\(?[ivxIVX]{1,4}[.)])$")


def build_blocks(raw: RawPage, stats: DocStats) -> tuple[LayoutBlock, ...]:
    """Divides a page's words into blocks, in reading order; pictures get blocks of their own."""
    lines = page_lines(raw)
    kinds = _line_kinds(lines, stats)
    runs = _runs(lines, kinds)
    found: list[tuple[BlockKind, int, int, BBox]] = []
    for kind, first, last in runs:
        start, end = lines[first].start, lines[last].end
        found.append((kind, start, end, _around(raw, start, end)))
    pictures = _pictures(raw, bool(lines))
    ordered = insert_pictures(found, pictures)
    blocks = []
    words = Words(raw.texts, raw.boxes, raw.lines)
    for order, (kind, start, end, box) in enumerate(ordered):
        cells = cells_of(words, raw.size, (start, end)) if kind == "table" else ()
        text = block_text(raw, start, end)
        blocks.append(LayoutBlock(kind, box, text, order, start, end, cells))
    return tie_captions(blocks)


def block_text(raw: RawPage, start: int, end: int) -> str:
    """The words of a block, one visual line a line."""
    parts: list[str] = []
    for i in range(start, end):
        parts.append("" if i == start else "\n" if raw.lines[i] != raw.lines[i - 1] else " ")
        parts.append(raw.texts[i])
    return "".join(parts)


def tie_captions(blocks: Sequence[LayoutBlock]) -> tuple[LayoutBlock, ...]:
    """Sets `caption_of` of every caption: the nearest table or picture above or below it."""
    import dataclasses

    targets = [block for block in blocks if block.kind in ("table", "picture")]
    tied = []
    for block in blocks:
        of = _captioned(block, targets) if block.kind == "caption" else None
        tied.append(dataclasses.replace(block, caption_of=of) if of is not None else block)
    return tuple(tied)


def _captioned(caption: LayoutBlock, targets: Sequence[LayoutBlock]) -> int | None:
    table_first = caption.text.casefold().startswith("table")
    best: tuple[float, int] | None = None
    for block in targets:
        shared = min(caption.bbox.x2, block.bbox.x2) - max(caption.bbox.x1, block.bbox.x1)
        if shared <= 0:
            continue
        apart = max(block.bbox.y1 - caption.bbox.y2, caption.bbox.y1 - block.bbox.y2, 0.0)
        wrong_kind = (block.kind == "table") != table_first
        cost = apart + (0.1 if wrong_kind else 0.0)
        if apart < 0.15 and (best is None or cost < best[0]):
            best = (cost, block.order)
    return best[1] if best else None


def _line_kinds(lines: Sequence[Line], stats: DocStats) -> list[BlockKind]:
    edge = {id(line) for line in edge_lines(lines)}
    kinds: list[BlockKind] = []
    for at, line in enumerate(lines):
        if id(line) in edge and _is_running(line, stats):
            kinds.append("header" if line.box[1] < 0.5 else "footer")
        elif line.tabular:
            kinds.append("table")
        elif CAPTION.match(line.text) and not (at and _same_paragraph(lines[at - 1], line)):
            kinds.append("caption")
        elif _is_title(line, stats):
            kinds.append("title")
        elif _is_item(line):
            kinds.append("list")
        else:
            kinds.append("text")
    for at in range(len(lines) - 1, 0, -1):
        above, line = lines[at - 1], lines[at]
        if kinds[at] == "title" and kinds[at - 1] == "text" and above.bold and _same_look(above, line):
            kinds[at - 1] = "title"
    _grow_tables(lines, kinds)
    return kinds


def _is_running(line: Line, stats: DocStats) -> bool:
    lone_number = bool(
        re.fullmatch(r"[\s\-–—|]*(?:page\s*)?(?:\d{1,4}|[ivxl]{1,6})[\s\-–—|]*", line.text, re.IGNORECASE)
    )
    if lone_number or line.tabular or line.size >= 1.3 * stats.body:
        return lone_number
    return signature(line.text) in stats.running


def _is_title(line: Line, stats: DocStats) -> bool:
    words = line.end - line.start
    if words > 16 or not any(c.isalpha() for c in line.text) or len(line.cells) > 2:
        return False
    if line.size >= 1.18 * stats.body:
        return True
    if _NUMBERED.match(line.text) and words <= 12 and line.size >= stats.body:
        return True
    return (
        line.bold
        and line.size >= 0.95 * stats.body
        and words <= 12
        and not line.text.endswith((".", ",", ";"))
    )


def _is_item(line: Line) -> bool:
    first, _, rest = line.text.partition(" ")
    if not rest:
        return False
    mark = len(first) == 1 and (first in "*•·‣⁃∙o" or unicodedata.category(first) in ("So", "Sm", "Pd"))
    return mark or bool(ENUMERATOR.match(first))


def _grow_tables(lines: Sequence[Line], kinds: list[BlockKind]) -> None:
    """Joins table rows over short label lines between them; a single row without company is text."""
    rows = [i for i, kind in enumerate(kinds) if kind == "table"]
    for a, b in zip(rows, rows[1:], strict=False):
        between = range(a + 1, b)
        if 0 < len(between) <= 3 and all(_may_stand_in_table(lines[i], kinds[i]) for i in between):
            near = all(_near(lines[i], lines[i + 1]) for i in range(a, b))
            if near:
                for i in between:
                    kinds[i] = "table"
    _take_headers(lines, kinds)
    at = 0
    while at < len(kinds):
        end = at
        while end < len(kinds) and kinds[end] == "table":
            end += 1
        if end - at == 1 and lines[at].numbers < 3:
            kinds[at] = "text"
        at = max(end, at + 1)


def _take_headers(lines: Sequence[Line], kinds: list[BlockKind]) -> None:
    """Lines just above a table that stand over its columns are its header."""
    for i in range(1, len(lines)):
        if kinds[i] != "table" or kinds[i - 1] == "table":
            continue
        left, right = lines[i].box[0], lines[i].box[2]
        at = i - 1
        while at >= max(0, i - 4) and kinds[at] in ("text", "title") and _near(lines[at], lines[at + 1]):
            line = lines[at]
            wide = line.box[2] - line.box[0]
            over = line.box[0] > left + 0.25 * (right - left) and wide < 0.7 * (right - left)
            apart = len(line.cells) >= 2 and wide > 0.3 * (right - left) and line.end - line.start <= 16
            small = wide < 0.12  # a mark of a group of rows; only part of a header if more of it stands above
            if not (over or apart or small):
                break
            if not small or over:
                kinds[at:i] = ["table"] * (i - at)
            at -= 1


def _may_stand_in_table(line: Line, kind: BlockKind) -> bool:
    return kind in ("text", "title", "list") and line.box[2] - line.box[0] < 0.62


def _near(a: Line, b: Line) -> bool:
    """True where `b` follows `a` at a line's distance or two."""
    tall = max(a.height, b.height)
    return -2.2 * tall <= b.box[1] - a.box[3] <= 2.5 * tall


def _runs(lines: Sequence[Line], kinds: Sequence[BlockKind]) -> list[tuple[BlockKind, int, int]]:
    """Consecutive lines that make a block, as (kind, first line, last line)."""
    runs: list[tuple[BlockKind, int, int]] = []
    for i, kind in enumerate(kinds):
        if runs and _continues(lines, kinds, runs[-1], i):
            runs[-1] = (runs[-1][0], runs[-1][1], i)
        else:
            runs.append((kind, i, i))
    return runs


def _continues(
    lines: Sequence[Line], kinds: Sequence[BlockKind], run: tuple[BlockKind, int, int], i: int
) -> bool:
    before, line, kind = lines[i - 1], lines[i], kinds[i]
    if kind == "table" or run[0] == "table":
        return kind == run[0] == "table" and _near(before, line)
    if kind in ("header", "footer"):
        return kind == run[0]
    same_group = line.group == before.group and _near(before, line)
    if kind == "text" and run[0] == "list":
        inside = line.box[0] > lines[run[1]].box[0] + 0.005 and _same_look(before, line)
        return inside or (same_group and abs(line.size - before.size) < 0.6)
    if kind == "text" and run[0] == "caption":
        return same_group and abs(line.size - before.size) < 0.6
    if kind != run[0] or kind == "caption":
        return False
    below = _near(before, line) and min(line.box[2], before.box[2]) > max(line.box[0], before.box[0])
    if kind == "title":
        return below and abs(line.size - before.size) < 0.6 and line.box[1] > before.box[1]
    if kind == "list":
        return below
    return same_group or _same_paragraph(before, line)


def _same_paragraph(a: Line, b: Line) -> bool:
    """True where `b` goes on below a full line `a`: some PDFs store a paragraph's first line apart."""
    return (
        abs(a.size - b.size) < 0.3
        and a.bold == b.bold
        and abs(a.box[0] - b.box[0]) < 0.03
        and a.box[2] >= b.box[2] - 0.02
        and -0.5 * a.height < b.box[1] - a.box[3] < 0.6 * a.height
    )


def _same_look(a: Line, b: Line) -> bool:
    """True where `b` follows `a` at a line's distance in letters of one size."""
    return abs(a.size - b.size) < 0.6 and -0.5 * a.height < b.box[1] - a.box[3] < 0.6 * a.height


def _around(raw: RawPage, start: int, end: int) -> BBox:
    part = raw.boxes[start:end]
    low, high = part[:, :2].min(0).tolist(), part[:, 2:].max(0).tolist()
    return BBox.clipped(low[0], low[1], high[0], high[1])


def _pictures(raw: RawPage, has_text: bool) -> list[BBox]:
    """Images worth a block: no backgrounds behind text, no picture inside another."""
    boxes = [BBox.clipped(*box) for box in raw.images.tolist()]
    boxes = [box for box in boxes if box.area > 0.004 and not (has_text and box.area > 0.8)]
    boxes.sort(key=lambda box: -box.area)
    kept: list[BBox] = []
    for box in boxes[:200]:
        if not any(box.intersection(other) > 0.7 * box.area for other in kept):
            kept.append(box)
    return kept


def insert_pictures(
    found: list[tuple[BlockKind, int, int, BBox]], pictures: list[BBox]
) -> list[tuple[BlockKind, int, int, BBox]]:
    """Puts each picture before the first block that stands below its top, in its column."""
    ordered = list(found)
    for picture in sorted(pictures, key=lambda box: (box.y1, box.x1)):
        at = next(
            (
                i
                for i, (_, _, _, box) in enumerate(ordered)
                if box.y1 >= picture.y1 and min(box.x2, picture.x2) > max(box.x1, picture.x1)
            ),
            len(ordered),
        )
        start = ordered[at][1] if at < len(ordered) else (ordered[-1][2] if ordered else 0)
        ordered.insert(at, ("picture", start, start, picture))
    return ordered
