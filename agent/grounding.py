"""Grounding: what a reader says becomes regions on the page and a word on how the page bears it out."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.arithmetic import agrees, find_numbers, values
from agent.citations import round_outward
from agent.matching import MIN_SHARE, Match, PageText, is_number, token, tokens
from agent.types import EvidenceRegion, FactDraft, Support
from indexes.plain import plain
from indexes.types import BBox, LayoutBlock, Page

MAX_REGIONS = 12
MAX_TEXT = 1500
STRAY = 0.1  # other words that a joined box may cover, as a share of its own
WHOLE_PAGE = 0.85  # share of the page from which a box is taken for "the whole page"
_FEW = 0.8  # share of a statement's words that the page must hold where no quote was found


@dataclass(frozen=True, slots=True)
class Grounded:
    """A draft that stands on the page; `notes` say what of it did not."""

    draft: FactDraft
    text: str
    quote: str
    regions: tuple[EvidenceRegion, ...]
    support: Support
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """A draft that stands nowhere, and why."""

    draft: FactDraft
    reason: str


@dataclass
class _Place:
    """What a draft's pointers come to: words, boxes without words, and what was wrong with them."""

    words: set[int]
    boxes: list[BBox]
    visual: bool
    notes: list[str]


def ground(draft: FactDraft, page: PageText) -> Grounded | Dropped:
    """Turns a draft's word ranges, block ids, quote or box into tight regions of its page.

    Word ranges are trusted most, then the quote (in the named blocks or box, or word by word anywhere on the
    page), then the blocks, then the box, snapped to the words it covers. A box over the whole page is not
    taken unless one block fills the page.
    """
    text, quote = plain(draft.text, MAX_TEXT), plain(draft.quote, MAX_TEXT)
    if not text and not quote:
        return Dropped(draft, f"page {draft.ref.page}: a fact without words")
    place = _pointed_at(draft, page.page)
    match = page.find(quote, place.words) if quote else None
    ranged = bool(draft.words) and bool(place.words)
    if match is not None and not ranged:
        inside = {i for span in match.ranges for i in range(*span)}
        if not place.words or inside & place.words or match.exact:
            place.words, place.boxes, place.visual = inside, [], False
    words = _told(draft, quote, page, place.words) if ranged else place.words
    boxes = place.boxes + word_regions(page.page, words)
    if not boxes:
        reason = "; ".join(place.notes) or "its quote is not on the page"
        return Dropped(draft, f"page {draft.ref.page}: {reason}: {text[:80]!r}")
    regions = tuple(EvidenceRegion(draft.ref, round_outward(box)) for box in boxes[:MAX_REGIONS])
    if len(boxes) > MAX_REGIONS:
        place.notes.append(f"{len(boxes) - MAX_REGIONS} regions beyond {MAX_REGIONS}")
    if match is None and quote:
        match = _pieced_together(quote, page, place.words)
    # What a reader counted follows from how much it pointed at: places, or a heading and what is under it.
    pointed = {len(draft.words), len(draft.words) - 1, len(draft.blocks), draft.ref.page}
    counted = {float(number) for number in pointed}
    support = _support(text or quote, quote, page, match, place.visual, counted)
    return Grounded(draft, text or quote, quote, regions, support, tuple(place.notes))


def _told(draft: FactDraft, quote: str, page: PageText, words: set[int]) -> set[int]:
    """The words of the ranges that the quote tells; ranges of column headers beside a quoted row are not."""
    told = set(tokens(quote))
    kept: set[int] = set()
    for start, end in draft.words:
        inside = [i for i in range(max(0, start), min(end, len(page.tokens))) if page.tokens[i]]
        if sum(page.tokens[i] in told for i in inside) * 2 > len(inside):
            kept.update(range(max(0, start), min(end, len(page.tokens))))
    return kept or words


def _pointed_at(draft: FactDraft, page: Page) -> _Place:
    place = _Place(set(), [], visual=False, notes=[])
    total = len(page.words)
    for start, end in draft.words:
        low, high = max(0, int(start)), min(total, int(end))
        if low >= high:
            place.notes.append(f"words {start} to {end}: the page has {total}")
        place.words.update(range(low, high))
    if place.words:
        return place
    by_order = {block.order: block for block in page.blocks}
    for order in draft.blocks:
        block = by_order.get(order)
        if block is None:
            place.notes.append(f"block {order}: the page has no such block")
        elif block.end > block.start:
            place.words.update(range(block.start, block.end))
        else:
            place.boxes.append(block.bbox)
            place.visual = True
    if draft.bbox is not None and not place.words and not place.boxes:
        _snap(draft.bbox, page, place)
    return place


def _snap(bbox: BBox, page: Page, place: _Place) -> None:
    """Takes the words whose middle a box covers, or the picture it shows, or the box itself."""
    if bbox.area == 0:
        place.notes.append("a box without an area")
        return
    if bbox.area >= WHOLE_PAGE:
        filling = [block for block in page.blocks if block.bbox.area >= WHOLE_PAGE]
        if not filling:
            place.notes.append("a box over the whole page")
            return
    covered = _inside((page.words.boxes[:, :2] + page.words.boxes[:, 2:]) / 2, bbox)
    pictures = [block.bbox for block in page.blocks if block.kind == "picture" and _covers(bbox, block.bbox)]
    place.visual = bool(pictures) or not covered
    if place.visual:
        place.boxes.append(BBox.around(pictures) if pictures else bbox)
    else:
        place.words.update(covered)


def _covers(bbox: BBox, other: BBox) -> bool:
    shared = bbox.intersection(other)
    return shared > 0.5 * min(bbox.area, other.area) > 0


def word_regions(page: Page, words: Iterable[int]) -> list[BBox]:
    """Tight boxes around words: one where they stand together, whole rows in tables.

    Args:
        page: the page.
        words: indices of its words, in any order.
    """
    wanted = sorted(set(words))
    groups: list[list[int]] = []
    blocks = sorted(
        (block for block in page.blocks if block.end > block.start), key=lambda block: block.start
    )
    at = 0
    for block in blocks:
        loose = _until(wanted, at, block.start)
        at += len(loose)
        inside = _until(wanted, at, block.end)
        at += len(inside)
        for group in (loose, _rows(page, block, inside) if block.kind == "table" else inside):
            groups += _runs(page, group)
    return [_around(page, group) for group in _joined(page, [*groups, *_runs(page, wanted[at:])])]


def _joined(page: Page, groups: Sequence[list[int]]) -> list[list[int]]:
    """Groups in reading order, neighbours made one where hardly another word stands in their common box."""
    middle = (page.words.boxes[:, :2] + page.words.boxes[:, 2:]) / 2
    wanted = {i for group in groups for i in group}
    out: list[list[int]] = []
    for group in groups:
        if out:
            both = [*out[-1], *group]
            box = _around(page, both)
            inside = _inside(middle, box)
            if sum(i not in wanted for i in inside) <= STRAY * len(both):
                out[-1] = both
                continue
        out.append(group)
    return out


def _inside(middle: NDArray[Any], box: BBox) -> list[int]:
    """The words whose middle a box covers."""
    (x, y) = middle.T
    found = np.flatnonzero((x >= box.x1) & (x <= box.x2) & (y >= box.y1) & (y <= box.y2))
    return [int(i) for i in found]


def _until(wanted: Sequence[int], at: int, end: int) -> list[int]:
    """The wanted words from position `at` on that stand before word `end`."""
    stop = at
    while stop < len(wanted) and wanted[stop] < end:
        stop += 1
    return list(wanted[at:stop])


def _around(page: Page, words: Sequence[int]) -> BBox:
    part = page.words.boxes[list(words)]
    low, high = part[:, :2].min(axis=0).tolist(), part[:, 2:].max(axis=0).tolist()
    return BBox.clipped(low[0], low[1], high[0], high[1])


def _rows(page: Page, table: LayoutBlock, words: Sequence[int]) -> list[int]:
    """The words of the table's rows that hold any of `words`, labels and all."""
    if not words:
        return []
    rows = {cell.row for cell in table.cells if any(cell.start <= i < cell.end for i in words)}
    taken = {i for cell in table.cells if cell.row in rows for i in range(cell.start, cell.end)}
    lines = page.words.lines
    on = {int(lines[i]) for i in words}
    if not rows:
        taken = {i for i in range(table.start, table.end) if int(lines[i]) in on}
    return sorted(taken | set(words))


def _runs(page: Page, words: Sequence[int]) -> list[list[int]]:
    """Words split where more than a line lies between them."""
    runs: list[list[int]] = []
    lines = page.words.lines
    for i in words:
        if runs and int(lines[i]) - int(lines[runs[-1][-1]]) <= 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def _pieced_together(quote: str, page: PageText, words: Iterable[int]) -> Match | None:
    """A quote put together from the words that a reader pointed at, which stand apart on the page."""
    inside = [page.tokens[i] for i in sorted(words)]
    told = tokens(quote)
    if told and "".join(told) in "".join(inside):
        return Match((), exact=True)
    left = Counter(told) - Counter(inside)
    few = sum(left.values()) <= (1 - MIN_SHARE) * len(told)
    return Match((), exact=False) if told and few and not any(map(is_number, left)) else None


def _support(
    text: str, quote: str, page: PageText, match: Match | None, visual: bool, counted: set[float]
) -> Support:
    """How the page's words bear a statement out.

    `exact`: its quote stands there word by word, and so does every number and name of the statement.
    `approximate`: the quote is there but for slips, or a name is worded otherwise, or a number is rescaled or
    counted.
    `visual`: it rests on a picture, which words can't confirm. `none`: nothing on the page says so.
    """
    numbers, names = _numbers_stand(text, page, counted), _names_stand(text, page)
    if match is not None and numbers:
        return "exact" if match.exact and numbers == 2 and names else "approximate"
    if match is None and visual:
        return "visual"
    content = [t for t in tokens(text) if len(t) > 3]
    share = sum(t in page.vocabulary for t in content) / len(content) if content else 0.0
    return "approximate" if not quote and numbers and names and share >= _FEW else "none"


def _numbers_stand(text: str, page: PageText, counted: set[float]) -> int:
    """2 where every number of a statement is printed on the page, 1 where rescaled or counted, else 0."""
    printed = [word for word in text.split() if is_number(word)]
    if all(token(word) in page.vocabulary for word in printed):
        return 2
    known = values([page.page.text]) | counted
    return 1 if all(agrees(number, known) for number in find_numbers(text)) else 0


def _names_stand(text: str, page: PageText) -> bool:
    """Whether every capitalized word of a statement but its first is on the page."""
    words = [word for word in text.split()[1:] if word[:1].isupper()]
    return all(token(word) in page.vocabulary for word in words)
