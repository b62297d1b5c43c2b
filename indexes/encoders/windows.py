"""Cuts a page into windows of text along its layout, each with the context that it needs to be understood.

A window's own words become vectors; its context (the page's first lines, the heading above it, a table's
caption and header rows) is read before them and leaves no vectors of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from indexes.types import LayoutBlock, Page

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Window:
    """Words `start` to `end` (exclusive) of a page, read after the words of the `context` spans."""

    start: int
    end: int
    context: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowRules:
    """How windows are cut, in words unless said otherwise.

    Attributes:
        words: about the length of a window.
        tokens: the most model tokens of a window's own words; context comes on top.
        least: a heading starts a new window once the one before it has this many words.
        opening: how much of the page's first lines is context.
        heading: how much of the heading above, of a caption and of a table's header rows is context, each.
    """

    words: int = 90
    tokens: int = 256
    least: int = 24
    opening: int = 24
    heading: int = 24


def cut_windows(page: Page, lengths: Sequence[int], rules: WindowRules) -> list[Window]:
    """Cuts a page into windows that together hold each of its words once.

    Args:
        page: the page.
        lengths: `(n_words,)`, how many model tokens each word has.
        rules: how to cut.
    """
    windows: list[Window] = []
    start = end = tokens = 0
    for block, (first, last), opens in _pieces(page, lengths, rules):
        size = sum(lengths[first:last])
        full = last - start > rules.words or tokens + size > rules.tokens
        heading = opens and block is not None and block.kind == "title" and first - start >= rules.least
        if first > start and (full or heading):
            windows.append(Window(start, first))
            start, tokens = first, 0
        tokens += size
        end = last
    if end > start:
        windows.append(Window(start, end))
    return [Window(w.start, w.end, _context(page, w, rules)) for w in windows]


def _pieces(
    page: Page, lengths: Sequence[int], rules: WindowRules
) -> list[tuple[LayoutBlock | None, Span, bool]]:
    """The smallest units that windows are made of: a line's words within one block, long ones cut.

    Each comes with its block and whether it is the block's first.
    """
    starts = {block.start: block for block in page.blocks if block.end > block.start}
    pieces: list[tuple[LayoutBlock | None, Span, bool]] = []
    block: LayoutBlock | None = None
    for line_start, line_end in page.line_spans():
        cuts = [line_start, *(i for i in range(line_start + 1, line_end) if i in starts), line_end]
        for first, last in zip(cuts[:-1], cuts[1:], strict=True):
            opens = first in starts
            block = starts.get(first, block)
            for i, span in enumerate(_short_spans(first, last, lengths, rules)):
                pieces.append((block, span, opens and i == 0))
    return pieces


def _short_spans(first: int, last: int, lengths: Sequence[int], rules: WindowRules) -> list[Span]:
    spans: list[Span] = []
    start = first
    tokens = 0
    for i in range(first, last):
        if i > start and (i - start >= rules.words or tokens + lengths[i] > rules.tokens):
            spans.append((start, i))
            start, tokens = i, 0
        tokens += lengths[i]
    spans.append((start, last))
    return spans


def _context(page: Page, window: Window, rules: WindowRules) -> tuple[Span, ...]:
    spans: list[Span] = [(0, min(rules.opening, window.start))]
    above = [b for b in page.blocks if b.start < b.end and b.start < window.start]
    headings = [b for b in above if b.kind == "title"]
    if headings:
        spans.append(_clip((headings[-1].start, headings[-1].end), rules.heading))
    if above and above[-1].kind == "table" and above[-1].end > window.start:
        spans += _table_context(page, above[-1], rules)
    return _without_overlap(spans, window.start)


def _table_context(page: Page, table: LayoutBlock, rules: WindowRules) -> list[Span]:
    """The caption of a table and its header rows: the cells marked so, else its first two lines."""
    spans = [
        _clip((b.start, b.end), rules.heading)
        for b in page.blocks
        if b.kind == "caption" and b.caption_of == table.order
    ]
    end = max((cell.end for cell in table.cells if cell.header), default=table.start)
    if end == table.start:
        lines = page.words.lines
        end = next((i for i in range(table.start, table.end) if lines[i] > lines[table.start] + 1), table.end)
    return [*spans, _clip((table.start, end), rules.heading)]


def _clip(span: Span, words: int) -> Span:
    return span[0], min(span[1], span[0] + words)


def _without_overlap(spans: Sequence[Span], limit: int) -> tuple[Span, ...]:
    """The spans in reading order, none of their words twice, none of the window's own (from `limit` on)."""
    result: list[Span] = []
    done = 0
    for start, end in sorted(spans):
        start, end = max(start, done), min(end, limit)
        if end > start:
            result.append((start, end))
            done = end
    return tuple(result)
