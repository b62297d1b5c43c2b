"""Columns of running text, by recursive cuts: which pieces of text stand in one column, in reading order.

A page is cut along white strips, as in Nagy and Seth (1984), "Hierarchical representation of optically
scanned documents" (the XY-cut). It is cut along a vertical strip only where that parts columns of text:
between the columns of a table it is not, so that a table's rows stay whole.
"""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

Indices = list[int]

_GRID = 600  # x positions on which white strips are looked for


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a line as it is stored: box in points, number of words, how many of them are numbers."""

    x1: float
    y1: float
    x2: float
    y2: float
    words: int
    numbers: int

    @property
    def middle(self) -> float:
        """Its vertical center."""
        return (self.y1 + self.y2) / 2


def columns(fragments: Sequence[Fragment], stored_order: bool = True) -> list[Indices]:
    """Divides fragments into columns (or regions without columns), in reading order.

    Args:
        fragments: of a page.
        stored_order: their order is that of a file, which says something, not that of a detector.
    """
    if not fragments:
        return []
    return _Cutter(fragments, stored_order).cut(list(range(len(fragments))))


class _Cutter:
    def __init__(self, fragments: Sequence[Fragment], stored_order: bool) -> None:
        self.all = fragments
        self.stored_order = stored_order
        low, high = min(f.x1 for f in fragments), max(f.x2 for f in fragments)
        self.unit = max(1e-6, (high - low) / _GRID)
        heights = sorted(f.y2 - f.y1 for f in fragments)
        self.height = max(1e-6, heights[len(heights) // 2])
        self.gap = max(2, round(0.75 * self.height / self.unit))
        self.masks = []
        for f in fragments:
            a, b = (
                int((f.x1 - low) / self.unit),
                max(int((f.x1 - low) / self.unit) + 1, int((f.x2 - low) / self.unit)),
            )
            self.masks.append(((1 << b) - 1) & ~((1 << a) - 1))
        self.low = low

    def cut(self, members: Indices) -> list[Indices]:
        """Cuts a region into columns, top to bottom, left to right."""
        bands = self._bands(members)
        regions: list[Indices] = []
        plain: Indices = []
        i = 0
        while i < len(bands):
            end = self._reach(bands, i)
            parts = self._split([m for band in bands[i:end] for m in band]) if end > i else None
            if parts is None:
                step = max(1, (end - i) // 3)  # of a table not every row is tried as a beginning
                plain.extend(m for band in bands[i : i + step] for m in band)
                i += step
                continue
            if plain:
                regions.append(plain)
                plain = []
            for part in parts:
                regions.extend(self.cut(part))
            i = end
        if plain:
            regions.append(plain)
        return regions

    def _bands(self, members: Indices) -> list[Indices]:
        """Groups of fragments that overlap vertically, from top to bottom."""
        bands: list[Indices] = []
        bottom = float("-inf")
        for m in sorted(members, key=lambda m: self.all[m].y1):
            f = self.all[m]
            slack = 0.25 * (f.y2 - f.y1)
            if bands and f.y1 + slack < bottom:
                bands[-1].append(m)
                bottom = max(bottom, f.y2)
            else:
                bands.append([m])
                bottom = f.y2
        return bands

    def _reach(self, bands: list[Indices], i: int) -> int:
        """How many bands from `i` on share a white strip inside them; `i` where there are none."""
        mask, best = 0, i
        for end in range(i, len(bands)):
            for m in bands[end]:
                mask |= self.masks[m]
            if self._has_strip(mask):
                best = end + 1
            elif best > i or _width(mask) > 0.6 * _GRID:
                break
        return best

    def _has_strip(self, mask: int) -> bool:
        white = ~mask & ((1 << mask.bit_length()) - 1) & ~((mask & -mask) - 1)
        for _ in range(self.gap - 1):
            white &= white >> 1
            if not white:
                return False
        return bool(white)

    def _strips(self, mask: int) -> list[tuple[int, int]]:
        """White strips inside a mask that are wide enough, as ranges of the grid."""
        strips, at = [], 0
        for run in bin(mask)[:1:-1].split("1"):
            # the digits run from the left of the page; a run of zeros before the first one is its margin
            if at and len(run) >= self.gap:
                strips.append((at, at + len(run)))
            at += len(run) + 1
        return strips

    def _split(self, members: Indices) -> list[Indices] | None:
        """The columns of a region, left to right; None where its strips part no columns of text."""
        mask = 0
        for m in members:
            mask |= self.masks[m]
        parts: list[Indices] = []
        rest = members
        for a, b in self._strips(mask):
            middle = self.low + (a + b) / 2 * self.unit
            left = [m for m in rest if self.all[m].x1 < middle]
            right = [m for m in rest if self.all[m].x1 >= middle]
            if left and right and self._are_columns(left, right):
                parts.append(left)
                rest = right
        return [*parts, rest] if parts else None

    def _are_columns(self, left: Indices, right: Indices) -> bool:
        if len(left) < 3 or len(right) < 3:
            return False
        small, large = sorted((self._size(left), self._size(right)))
        if large > 1.5 * small:
            return True  # a table's columns are set in one size
        running = self._is_running(left), self._is_running(right)
        if all(running):
            return True
        level = self._share_level(left, right)
        if any(running):
            return level < 0.8 and self._numbers(right) < 0.5
        if self._numbers(right) >= 0.3 or self._numbers(left) >= 0.5:
            return False
        return level < 0.5 or self._are_lists(left, right)

    def _are_lists(self, left: Indices, right: Indices) -> bool:
        """True for short lines side by side that are no rows: each side is stored by itself."""
        if self.stored_order:
            sides = sorted([(m, 0) for m in left] + [(m, 1) for m in right])
            switches = sum(a[1] != b[1] for a, b in zip(sides, sides[1:], strict=False))
            return switches <= max(1, 0.3 * min(len(left), len(right)))
        counts = ([self.all[m].words for m in side] for side in (left, right))
        return all(sum(words) >= 3 * len(words) for words in counts)

    def _is_running(self, members: Indices) -> bool:
        """True for lines of text that mostly fill their column."""
        boxes = [self.all[m] for m in members]
        width = max(f.x2 for f in boxes) - min(f.x1 for f in boxes)
        full = [f for f in boxes if f.words - f.numbers >= 3 and f.x2 - f.x1 > 0.6 * width]
        return len(full) >= 3 and len(full) >= 0.45 * len(boxes)

    def _size(self, members: Indices) -> float:
        heights = sorted(self.all[m].y2 - self.all[m].y1 for m in members)
        return heights[len(heights) // 2]

    def _numbers(self, members: Indices) -> float:
        words = sum(self.all[m].words for m in members)
        return sum(self.all[m].numbers for m in members) / max(1, words)

    def _share_level(self, left: Indices, right: Indices) -> float:
        """Share of the shorter side's lines that stand on a line of the other side."""
        few, many = sorted((left, right), key=len)
        middles = sorted(self.all[m].middle for m in many)
        near = 0.2 * self.height
        level = 0
        for m in few:
            y = self.all[m].middle
            at = bisect.bisect_left(middles, y - near)
            level += at < len(middles) and middles[at] <= y + near
        return level / len(few)


def _width(mask: int) -> int:
    return mask.bit_length() - (mask & -mask).bit_length()
