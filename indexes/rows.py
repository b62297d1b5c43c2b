"""Visual lines and reading order from words: table rows stored cell by cell become one line again."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from indexes.columns import Fragment, Indices, columns
from indexes.tables import is_number


@dataclass(frozen=True, slots=True)
class Arranged:
    """Words put in order: `order` `(n,)` indexes the words given; `lines` and `groups` `(n,)` follow it."""

    order: NDArray[np.int64]
    lines: NDArray[np.int32]
    groups: NDArray[np.int32]


def arrange(
    boxes: NDArray[np.float64],
    keys: NDArray[np.int64],
    level: NDArray[np.bool_],
    texts: Sequence[str],
    stored_order: bool = True,
) -> Arranged:
    """Rebuilds visual lines and puts them in reading order.

    Args:
        boxes: `(n, 4)` of the words in points, as seen.
        keys: `(n, 2)` the block and line that each word is stored in, in the order of storage.
        level: `(n,)` true for words that run horizontally.
        texts: the words.
        stored_order: the order of storage is likely the reading order (a PDF's text; not OCR's lines).
    """
    starts = np.concatenate([[0], np.flatnonzero((np.diff(keys, axis=0) != 0).any(axis=1)) + 1])
    ends = np.concatenate([starts[1:], [len(texts)]])
    low = np.minimum.reduceat(boxes[:, :2], starts).tolist()
    high = np.maximum.reduceat(boxes[:, 2:], starts).tolist()
    numeric = np.asarray([text[-1].isdigit() or is_number(text) for text in texts])
    numbers = np.add.reduceat(numeric.astype(np.int64), starts).tolist()
    fragments = [
        Fragment(low[i][0], low[i][1], high[i][0], high[i][1], int(ends[i] - starts[i]), numbers[i])
        for i in range(len(starts))
    ]
    upright = [i for i in range(len(starts)) if level[starts[i]]]
    regions = [
        [upright[m] for m in region] for region in columns([fragments[i] for i in upright], stored_order)
    ]
    rows: list[Indices] = [row for region in regions for row in _rows(fragments, region)]
    region_of = {m: at for at, region in enumerate(regions) for m in region}
    if stored_order and _is_sane(fragments, rows, region_of):
        rows = _by_storage(fragments, rows, region_of)
    rows.extend([i] for i in range(len(starts)) if not level[starts[i]])
    return _gather(rows, starts, ends, keys[starts, 0].tolist(), fragments)


def _rows(fragments: Sequence[Fragment], members: Indices) -> list[Indices]:
    """Gathers the fragments of a region that stand on one line, top to bottom, each line left to right."""
    rows: list[Indices] = []
    for m in sorted(members, key=lambda m: (fragments[m].middle, fragments[m].x1)):
        for row in rows[:-4:-1]:
            if _same_row(fragments, row, m):
                row.append(m)
                break
        else:
            rows.append([m])
    for row in rows:
        row.sort(key=lambda m: fragments[m].x1)
    rows.sort(key=lambda row: max((fragments[m] for m in row), key=lambda f: f.x2 - f.x1).middle)
    return rows


def _same_row(fragments: Sequence[Fragment], row: Indices, m: int) -> bool:
    new = fragments[m]
    tall = max((fragments[i] for i in row), key=lambda f: f.y2 - f.y1)
    shared = min(new.y2, tall.y2) - max(new.y1, tall.y1)
    least, most = sorted((new.y2 - new.y1, tall.y2 - tall.y1))
    if most > 2 * least and min(abs(new.x1 - fragments[i].x2) for i in row) > least:
        return False  # much smaller letters belong to a line only as a mark beside a word
    near = abs(new.middle - tall.middle) < 0.35 * least or shared > 0.75 * least
    if not near:
        return False
    # what stands above one another is no row: a raised mark may touch its word, a line may not cover another
    return all(min(new.x2, fragments[i].x2) - max(new.x1, fragments[i].x1) < 0.3 * least for i in row)


def _by_storage(
    fragments: Sequence[Fragment], rows: Sequence[Indices], region_of: dict[int, int]
) -> list[Indices]:
    """The order of storage, but rows of a region stored after what stands just below them go up."""
    ordered: list[Indices] = []
    for row in sorted(rows, key=min):
        first = fragments[row[0]]
        at = len(ordered)
        while at and region_of[ordered[at - 1][0]] == region_of[row[0]]:
            above = fragments[ordered[at - 1][0]]
            apart = above.middle - first.middle
            if not 0.5 * (first.y2 - first.y1) < apart < 12 * (first.y2 - first.y1):
                break
            if min(fragments[row[-1]].x2, fragments[ordered[at - 1][-1]].x2) <= max(first.x1, above.x1):
                break
            at -= 1
        ordered.insert(at, row)
    return _ends_in_place(fragments, ordered)


def _ends_in_place(fragments: Sequence[Fragment], rows: list[Indices]) -> list[Indices]:
    """Moves running lines that are stored first but stand last, or the other way round."""
    tops = [min(fragments[i].y1 for i in row) for row in rows]
    ends = [max(fragments[i].y2 for i in row) for row in rows]
    most = min(5, len(rows) - 1)
    for k in range(most, 0, -1):
        if min(tops[:k]) > max(ends[k:]) - 2:
            return [*rows[k:], *rows[:k]]
    for k in range(most, 0, -1):
        if max(ends[-k:]) < min(tops[:-k]) + 2:
            return [*rows[-k:], *rows[:-k]]
    return rows


def _is_sane(fragments: Sequence[Fragment], rows: Sequence[Indices], region_of: dict[int, int]) -> bool:
    """True where storage runs down one column after the other: few lines go back up or across."""
    stored = sorted(rows, key=min)
    across = sum(region_of[a[0]] != region_of[b[0]] for a, b in zip(stored, stored[1:], strict=False))
    if across > max(6, 3 * len(set(region_of.values()))):
        return False
    back = 0
    for before, after in zip(stored, stored[1:], strict=False):
        a, b = fragments[before[0]], fragments[after[0]]
        a2, b2 = fragments[before[-1]], fragments[after[-1]]
        overlap = min(a2.x2, b2.x2) - max(a.x1, b.x1)
        if b.y2 < a.y1 and overlap > 0:
            back += 1
    return back <= max(1, 0.06 * len(stored))


def _gather(
    rows: Sequence[Indices],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    blocks: Sequence[int],
    fragments: Sequence[Fragment],
) -> Arranged:
    """Words in the order of rows; rows that share a stored block, or follow closely, form a group."""
    order: list[int] = []
    lines: list[int] = []
    groups: list[int] = []
    group, before = 0, set[int]()
    for number, row in enumerate(rows):
        here = {blocks[i] for i in row}
        if number and not here & before:
            group += 1
        before = here
        for i in row:
            count = int(ends[i] - starts[i])
            order.extend(range(int(starts[i]), int(ends[i])))
            lines.extend([number] * count)
            groups.extend([group] * count)
    return Arranged(np.asarray(order, np.int64), np.asarray(lines, np.int32), np.asarray(groups, np.int32))
