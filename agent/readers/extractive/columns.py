"""The columns of a page's tables, and the header over each."""

from dataclasses import dataclass

from agent.readers.extractive.lines import Line, is_period, phrases
from indexes.types import Page

Header = tuple[str, tuple[tuple[int, int], ...]]


@dataclass(slots=True)
class _Table:
    """Consecutive row lines and their columns: `left`, `right` and header of each, from left to right."""

    lines: list[int]
    columns: list[tuple[float, float]]
    headers: list[Header]


class Columns:
    """The columns of a page's tables: numbers are right-aligned, so close right edges make a column."""

    def __init__(self, page: Page, lines: list[Line], titled: set[int]) -> None:
        self._page, self._lines, self._titled = page, lines, titled
        self._of: dict[int, _Table] = {}
        self.header_words: set[int] = set()
        before: _Table | None = None
        for group in self._groups():
            table = self._table(group)
            if any(text for text, _ in table.headers):
                before = table
            elif before:
                self._inherit(table, before)
            for number in group:
                self._of[number] = table
            for _, ranges in table.headers:
                self.header_words.update(i for a, b in ranges for i in range(a, b))

    def header(self, number: int, value: tuple[int, int]) -> Header:
        """The header over a value of a row line: its words, top first, and where they stand."""
        table = self._of[number]
        left, right = self._extent(value)
        best = min(range(len(table.columns)), key=lambda i: _gap(table.columns[i], left, right))
        return table.headers[best]

    def _extent(self, value: tuple[int, int]) -> tuple[float, float]:
        boxes = self._page.words.boxes
        return float(boxes[value[0], 0]), float(boxes[value[1] - 1, 2])

    def _groups(self) -> list[list[int]]:
        """Row lines that belong together: no prose, no header and at most four other lines in between."""
        groups: list[list[int]] = []
        broken = True
        for number, line in enumerate(self._lines):
            if line.kind != "row":
                between = number - groups[-1][-1] if groups else 0
                broken = broken or line.kind in ("prose", "header") or between > 4
                continue
            if broken:
                groups.append([])
            groups[-1].append(number)
            broken = False
        return groups

    def _table(self, group: list[int]) -> _Table:
        extents = sorted(
            (self._extent(value) for number in group for value in self._lines[number].values),
            key=lambda e: e[1],
        )
        near = self._near(group)
        columns: list[tuple[float, float]] = []
        for left, right in extents:
            if columns and right - columns[-1][1] < near:
                columns[-1] = (min(columns[-1][0], left), right)
            else:
                columns.append((left, right))
        return _Table(group, columns, self._headers(group[0], columns))

    def _near(self, group: list[int]) -> float:
        """How close right edges of one column are: a third of the usual distance between columns."""
        widest = max(group, key=lambda number: len(self._lines[number].values))
        rights = sorted(self._extent(value)[1] for value in self._lines[widest].values)
        steps = sorted(b - a for a, b in zip(rights[:-1], rights[1:], strict=True))
        return min(0.022, steps[len(steps) // 2] / 3) if steps else 0.022

    def _headers(self, first: int, columns: list[tuple[float, float]]) -> list[Header]:
        """Collects, upwards from a table's first row, the phrases that stand over each column."""
        found: list[list[tuple[int, int]]] = [[] for _ in columns]
        edge = columns[0][0] - 0.08
        for line in reversed(self._lines[max(0, first - 9) : first]):
            if line.kind in ("row", "prose") or line.start in self._titled:
                break
            for low, high in self._pieces(line, columns):
                left, right = self._extent((low, high))
                if left < edge and not is_period(self._page.words.texts[low:high]):
                    continue
                for place, column in enumerate(columns):
                    if (
                        min(right, column[1] + 0.012) - max(left, column[0] - 0.012) > 0
                        and len(found[place]) < 5
                    ):
                        found[place].insert(0, (low, high))
        texts = self._page.words.texts
        return [(" ".join(" ".join(texts[a:b]) for a, b in ranges), tuple(ranges)) for ranges in found]

    def _pieces(self, line: Line, columns: list[tuple[float, float]]) -> list[tuple[int, int]]:
        """A header line's phrases; one that stands over several columns, a word or more over each, is cut."""
        found: list[tuple[int, int]] = []
        for low, high in phrases(self._page, line):
            over = {self._column(columns, (i, i + 1)) for i in range(low, high)}
            if None in over or len(over) < 2 or high - low > 2 * len(over):
                found.append((low, high))
                continue
            start = low
            for i in range(low + 1, high):
                if self._column(columns, (i, i + 1)) != self._column(columns, (i - 1, i)) and self._apart(i):
                    found.append((start, i))
                    start = i
            found.append((start, high))
        return found

    def _apart(self, i: int) -> bool:
        """Whether a word stands further from the one before it than words of one phrase do."""
        boxes, (width, height) = self._page.words.boxes, self._page.size
        gap = float(boxes[i, 0] - boxes[i - 1, 2]) * width
        return gap > 0.38 * float(boxes[i, 3] - boxes[i, 1]) * height

    def _column(self, columns: list[tuple[float, float]], words: tuple[int, int]) -> int | None:
        """The column that words stand over, None where it is none."""
        left, right = self._extent(words)
        for place, column in enumerate(columns):
            if min(right, column[1] + 0.01) - max(left, column[0] - 0.01) > 0:
                return place
        return None

    @staticmethod
    def _inherit(table: _Table, before: _Table) -> None:
        """A table without headers whose columns continue those above has theirs."""
        for place, column in enumerate(table.columns):
            distances = [abs(known[1] - column[1]) for known in before.columns]
            if min(distances) < 0.03:
                table.headers[place] = before.headers[distances.index(min(distances))]


def _gap(column: tuple[float, float], left: float, right: float) -> float:
    return abs(column[1] - right) if column[0] <= right and left <= column[1] else 1 + abs(column[1] - right)
