"""Tables from aligned words: lines split into cells at wide gaps, cells gathered into columns."""

import re
from collections.abc import Sequence

from indexes.raw import RawPage
from indexes.types import BBox, TableCell

_NUMBER = re.compile(
    r"^[($€£¥+\-–—~<>≈]*(?:US\$|[A-Z]{3}\s?)?[$€£¥]?[(\-–—]*\d[\d.,:/]*\d*\s*(?:%|x|bps|pts?|[kKmMbB]n?)?\)?[%)*†‡]*(?:\([a-z0-9]\))?$"
)
_DASH = re.compile(r"^[$€£¥]?\s*(?:[-–—]+|n/?a|nm|n/m)\s*%?$", re.IGNORECASE)
_YEAR = re.compile(r"^(?:fy|fiscal|q[1-4])?\s*'?(?:19|20)\d\d[ae]?$", re.IGNORECASE)
_OPENERS = frozenset({"$", "€", "£", "¥", "(", "US$", "$("})
_CLOSERS = frozenset({")", "%", ")%", "%)", "pp", "pts", "bps", "x"})


def is_number(text: str) -> bool:
    """True for what stands in a number cell: `$ 1,234`, `(2.5)%`, `—`, `n/a`."""
    text = text.replace(" ", "")
    return bool(_NUMBER.match(text) or _DASH.match(text))


def split_cells(
    texts: Sequence[str], xs: Sequence[Sequence[float]], start: int, end: int, size: float
) -> tuple[tuple[int, int], ...]:
    """Splits a line's words into cells.

    Args:
        texts: the page's words.
        xs: left and right of each word in points.
        start: the line's first word.
        end: one past its last.
        size: the line's font size in points; a gap of more than about one em parts cells.
    """
    cells: list[list[int]] = [[start, start + 1]]
    for i in range(start + 1, end):
        gap = xs[i][0] - xs[i - 1][1]
        apart = gap > 1.15 * size or (texts[i] in _OPENERS and gap > 0.5 * size and is_number(texts[i - 1]))
        if apart and not _belong(texts[i - 1], texts[i], gap, size):
            cells.append([i, i + 1])
        else:
            cells[-1][1] = i + 1
    return tuple((a, b) for a, b in cells)


def _belong(left: str, right: str, gap: float, size: float) -> bool:
    """True where a currency sign or a closing bracket stands apart from its number."""
    if left in _OPENERS:
        return gap < 12 * size and (is_number(right) or right[:1].isdigit())
    return right in _CLOSERS and gap < 3 * size


def cells_of(raw: RawPage, start: int, end: int) -> tuple[TableCell, ...]:
    """The cells of a table's words, row by row; none where fewer than two columns line up."""
    xs = (raw.boxes[:, [0, 2]] * raw.size[0]).tolist()
    rows: list[list[tuple[int, int]]] = []
    at = start
    while at < end:
        stop = at
        while stop < end and raw.lines[stop] == raw.lines[at]:
            stop += 1
        rows.append(list(split_cells(raw.texts, xs, at, stop, float(raw.heights[at:stop].max()))))
        at = stop
    columns = find_columns([(xs[a][0], xs[b - 1][1]) for row in rows for a, b in row])
    if len(columns) < 2:
        return ()
    header_rows = _header_rows(raw.texts, rows)
    cells = []
    for number, row in enumerate(rows):
        taken = -1
        for a, b in row:
            column = max(_column(columns, xs[a][0], xs[b - 1][1]), taken + 1)
            taken = column
            part = raw.boxes[a:b]
            low, high = part[:, :2].min(0).tolist(), part[:, 2:].max(0).tolist()
            box = BBox.clipped(low[0], low[1], high[0], high[1])
            text = " ".join(raw.texts[a:b])
            cells.append(TableCell(number, column, text, box, a, b, number < header_rows))
    return tuple(cells)


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


def _column(columns: Sequence[tuple[float, float]], low: float, high: float) -> int:
    shared = [min(high, b) - max(low, a) for a, b in columns]
    best = max(range(len(columns)), key=lambda i: shared[i])
    return next((i for i, share in enumerate(shared) if share > 0), best)


def _header_rows(texts: Sequence[str], rows: Sequence[Sequence[tuple[int, int]]]) -> int:
    """How many rows at the top are headers: those before the first number that is no year or date."""
    for i, row in enumerate(rows):
        for a, b in row[1:] if len(row) > 1 else row:
            text = " ".join(texts[a:b])
            if is_number(text) and not _YEAR.match(text):
                return min(i, len(rows) - 1)
    return 1 if len(rows) > 1 else 0
