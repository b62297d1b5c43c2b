"""Tables from aligned words: lines split into cells at wide gaps, cells gathered into columns."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indexes.types import TableCell, Words

_NUMBER = re.compile(
    r"^[($€£¥+\-–—~<>≈]*+(?:US\$|[A-Z]{3}\s?)?[$€£¥]?[(\-–—]*\d[\d.,:/]*\s*(?:%|x|bps|pts?|[kKmMbB]n?)?\)?[%)*†‡]*(?:\([a-z0-9]\))?$"
)
_DASH = re.compile(r"^[$€£¥]?\s*(?:[-–—]+|n/?a|nm|n/m)\s*%?$", re.IGNORECASE)
_YEAR = re.compile(r"^(?:fy|fiscal|q[1-4])?\s*'?(?:19|20)\d\d[ae]?$", re.IGNORECASE)
_UNFINISHED = frozenset("and or of the to for in on by with from at less net - – — , (".split())
_OPENERS = frozenset({"$", "€", "£", "¥", "(", "US$", "$("})
_CLOSERS = frozenset({")", "%", ")%", "%)", "pp", "pts", "bps", "x"})


def is_number(text: str) -> bool:
    """True for what stands in a number cell: `$ 1,234`, `(2.5)%`, `—`, `n/a`."""
    text = text.replace(" ", "")
    return bool(_NUMBER.match(text) or _DASH.match(text))


def split_cells(
    texts: Sequence[str], xs: Sequence[Sequence[float]], start: int, end: int, height: float
) -> list[tuple[int, int]]:
    """Splits a line's words into cells, as ranges of words.

    Args:
        texts: the page's words.
        xs: left and right of each word in points.
        start: the line's first word.
        end: one past its last.
        height: of the line's words in points; a gap of about that width parts cells.
    """
    cells: list[list[int]] = [[start, start + 1]]
    for i in range(start + 1, end):
        gap = xs[i][0] - xs[i - 1][1]
        apart = gap > height or (texts[i] in _OPENERS and gap > 0.4 * height and is_number(texts[i - 1]))
        if apart and not _belong(texts[i - 1], texts[i], gap, height):
            cells.append([i, i + 1])
        else:
            cells[-1][1] = i + 1
    return [(a, b) for a, b in cells]


def _belong(left: str, right: str, gap: float, height: float) -> bool:
    """True where a currency sign or a closing bracket stands apart from its number."""
    if left in _OPENERS:
        return gap < 11 * height and (is_number(right) or right[:1].isdigit())
    return right in _CLOSERS and gap < 2.5 * height


@dataclass(slots=True)
class _Cell:
    """A cell in the making: words `start` to `end`, its first column and how many it spans."""

    start: int
    end: int
    column: int = 0
    span: int = 1


def cells_of(
    words: Words, size: tuple[float, float], span: tuple[int, int], bounds: Sequence[float] = ()
) -> tuple[TableCell, ...]:
    """The cells of a table, row by row; none where fewer than two columns line up.

    Args:
        words: of the page.
        size: of the page in points.
        span: the table's first word and one past its last.
        bounds: normalized x of the lines between columns where known, else columns are found from the words.
    """
    xs = (words.boxes[:, [0, 2]].astype(np.float64) * size[0]).tolist()
    tall = ((words.boxes[:, 3] - words.boxes[:, 1]) * size[1]).tolist()
    rows = []
    for start, end in _lines(words, *span):
        height = sorted(tall[start:end])[(end - start) // 2]
        rows.append([_Cell(a, b) for a, b in split_cells(words.texts, xs, start, end, height)])
    if bounds:
        edges = [x * size[0] for x in bounds]
        rows = [_split_at(row, xs, edges, 0.35 * tall[row[0].start]) for row in rows]
        columns = list(zip([-math.inf, *edges], [*edges, math.inf], strict=True))
    else:
        columns = _merge_columns(words.texts, rows, xs, find_columns(_intervals(rows, xs)))
    if len(columns) < 2:
        return ()
    rows = [_place(row, xs, columns) for row in rows]
    rows = _join_wrapped(words.texts, rows)
    headers = _header_rows(words.texts, rows)
    return tuple(
        TableCell(
            number,
            cell.column,
            " ".join(words.texts[cell.start : cell.end]),
            words.bbox(cell.start, cell.end),
            cell.start,
            cell.end,
            number < headers,
            cell.span,
        )
        for number, row in enumerate(rows)
        for cell in row
    )


def _lines(words: Words, start: int, end: int) -> list[tuple[int, int]]:
    cuts = (np.flatnonzero(np.diff(words.lines[start:end])) + 1 + start).tolist()
    return list(zip([start, *cuts], [*cuts, end], strict=True)) if end > start else []


def find_columns(intervals: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Columns, left to right: narrow cells found them, wider ones widen them, cells over two columns span."""
    columns: list[tuple[float, float]] = []
    for low, high in sorted(intervals, key=lambda x: x[1] - x[0]):
        touched = [i for i, (a, b) in enumerate(columns) if min(high, b) - max(low, a) > 0]
        if not touched:
            columns.append((low, high))
        elif len(touched) == 1:
            i = touched[0]
            columns[i] = (min(columns[i][0], low), max(columns[i][1], high))
    return sorted(columns)


def _intervals(rows: Sequence[Sequence[_Cell]], xs: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    return [(xs[cell.start][0], xs[cell.end - 1][1]) for row in rows for cell in row]


def _merge_columns(
    texts: Sequence[str],
    rows: Sequence[Sequence[_Cell]],
    xs: Sequence[Sequence[float]],
    columns: list[tuple[float, float]],
) -> list[tuple[float, float]]:
    """Merges neighbours that a number spans and no row fills both: `$` and its amounts, a year above them."""
    together: set[int] = set()
    spanned: set[int] = set()
    for row in rows:
        firsts = []
        for cell in row:
            low, high = xs[cell.start][0], xs[cell.end - 1][1]
            over = [i for i, (a, b) in enumerate(columns) if min(high, b) - max(low, a) > 0]
            if not over:
                continue
            firsts.append((over[0], over[-1]))
            if len(over) == 2 and is_number("".join(texts[cell.start : cell.end])):
                spanned.add(over[0])
        together.update(a[1] for a, b in zip(firsts, firsts[1:], strict=False) if b[0] == a[1] + 1)
    merged: list[tuple[float, float]] = []
    for i, (low, high) in enumerate(columns):
        if i - 1 in spanned - together:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def _split_at(
    row: list[_Cell], xs: Sequence[Sequence[float]], edges: Sequence[float], gap: float
) -> list[_Cell]:
    """Cuts cells at column edges that fall into a gap between words that is wider than a space."""
    cut: list[_Cell] = []
    for cell in row:
        start = cell.start
        for i in range(cell.start + 1, cell.end):
            left, right = xs[i - 1][1], xs[i][0]
            if right - left > gap and any(left - gap < edge < right + gap for edge in edges):
                cut.append(_Cell(start, i))
                start = i
        cut.append(_Cell(start, cell.end))
    return cut


def _place(
    row: list[_Cell], xs: Sequence[Sequence[float]], columns: Sequence[tuple[float, float]]
) -> list[_Cell]:
    """Gives cells their columns; what falls into one column is one cell."""
    placed: list[_Cell] = []
    for cell in row:
        low, high = xs[cell.start][0], xs[cell.end - 1][1]
        slack = min(2.0, 0.2 * (high - low))
        over = [i for i, (a, b) in enumerate(columns) if min(high, b) - max(low, a) > slack]
        if not over:
            over = [min(range(len(columns)), key=lambda i: abs(columns[i][0] + columns[i][1] - low - high))]
        if placed and over[0] < placed[-1].column + placed[-1].span:
            placed[-1].end = cell.end
            placed[-1].span = max(placed[-1].span, over[-1] - placed[-1].column + 1)
        else:
            placed.append(_Cell(cell.start, cell.end, over[0], over[-1] - over[0] + 1))
    return placed


def _join_wrapped(texts: Sequence[str], rows: list[list[_Cell]]) -> list[list[_Cell]]:
    """Joins a label's first line to the row with its rest: `Net income attributable / to 3M  5,777`."""
    joined: list[list[_Cell]] = []
    for row in rows:
        before = joined[-1] if joined else []
        if (
            len(before) == 1
            and len(row) > 1
            and before[0].column == row[0].column
            and before[0].end == row[0].start
            and (texts[row[0].start][:1].islower() or texts[before[0].end - 1].casefold() in _UNFINISHED)
        ):
            joined[-1] = [_Cell(before[0].start, row[0].end, row[0].column, row[0].span), *row[1:]]
        else:
            joined.append(row)
    return joined


def _header_rows(texts: Sequence[str], rows: Sequence[Sequence[_Cell]]) -> int:
    """How many rows at the top are headers: those before the first number that is no year or date."""
    for i, row in enumerate(rows):
        for cell in row[1:] if len(row) > 1 else row:
            text = " ".join(texts[cell.start : cell.end])
            if is_number(text) and not _YEAR.match(text):
                return min(i, len(rows) - 1)
    return 1 if len(rows) > 1 else 0
