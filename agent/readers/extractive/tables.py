"""Rows of numbers on a page: the label, the cells, and over each cell its column's header.

Works on visual lines, so that it reads a statement, a table without rules and the labels of a bar chart alike; the
layout's blocks add titles and captions.
"""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from agent.readers.extractive.text import SCALES, fold, last_year, numbers
from indexes.types import Page

MAX_LINES = 1500  # of a page; a page with more is no text that a person reads
_VALUE = re.compile(
    r"[(\[]?[-−–~<>≈]?(?:US\$|[$€£¥])?[-−–]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:%|pp|x|bn|m|M|K)?[)\]]?%?(?:\([\d.−–-]+\)|±[\d.]+)?[*†‡]*"
)
_FILLER = re.compile(r"[$€£¥%()*†‡|.\-−–—•…]+|\([a-z\d]\)|nm|n/m|N/?A|\*+", re.IGNORECASE)
_PERIOD = re.compile(
    r"(?:(?:19|20)\d\d|'\d\d|Q[1-4]|(?:January|February|March|April|May|June|July|August|September|October|November|"
    r"December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?|\d{1,2},|fiscal|FY\d*|years?|ended|ending|as|of|at|"
    r"months?|weeks?|quarter|three|six|nine|twelve|and|the|through|period|estimated|total)[,:]?(?:\(\w\))?",
    re.IGNORECASE,
)

_RANGE = re.compile(r"\d\s?[-–+]|[<>≥≤]\s?[$€£]?\d|\d+[KkMm]\b")
_YEAR = re.compile(r"(?:FY)?(?:19|20)\d\d[,*]?(?:\(\w\))?")


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of a row.

    Attributes:
        value: as printed, sign applied.
        shown: as printed.
        percent: it is a percentage.
        header: the words over it, top first, or empty.
        year: the year its header names, or None.
        start: its first word on the page.
        end: the word after its last.
        header_words: ranges of the header's words.
    """

    value: float
    shown: str
    percent: bool
    header: str
    year: int | None
    start: int
    end: int
    header_words: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A row of numbers.

    Attributes:
        label: the words before its numbers.
        section: the label-only line it stands under, or empty.
        start: its first word on the page.
        end: the word after its last.
        title: the title, caption or introducing sentence of its table.
        scale: the factor that its table's numbers are printed in.
        line: its place among the page's lines.
        aside: the words of its label where they stand apart from `start` to `end`.
    """

    label: str
    section: str
    cells: tuple[Cell, ...]
    start: int
    end: int
    title: str
    scale: float
    currency: str
    line: int
    aside: tuple[int, int] | None = None

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The row's words as ranges: label first."""
        return (self.aside, (self.start, self.end)) if self.aside else ((self.start, self.end),)


@dataclass(slots=True)
class _Line:
    start: int
    end: int
    words: tuple[str, ...]
    values: list[tuple[int, int]]  # ranges of words
    label_end: int  # the word after the label's last
    kind: str  # row, header, text, prose, taken (its words are the label of a row beside it)
    aside: tuple[int, int] | None = None  # the label, where it is a line of its own at the same height


def is_value(word: str) -> bool:
    """True for a word that is a number as tables print them."""
    return bool(_VALUE.fullmatch(word)) and any(c.isdigit() for c in word)


def _period(words: tuple[str, ...]) -> bool:
    """True where all words belong to the header of a year or a date."""
    named = [w for w in words if not _FILLER.fullmatch(w)]
    return (
        bool(named)
        and all(_PERIOD.fullmatch(w) for w in named)
        and any(re.search(r"(?:19|20)\d\d", w) for w in named)
    )


def _values(words: tuple[str, ...], start: int) -> list[tuple[int, int]]:
    """Ranges of the words that make a value: `$ 1,234`, `( 12 )`, `5 %` are one value each."""
    found: list[tuple[int, int]] = []
    i = 0
    while i < len(words):
        if not is_value(words[i]):
            i += 1
            continue
        low = i
        while (
            low > 0
            and words[low - 1] in ("$", "€", "£", "(", "-", "–", "−", "$(")
            and (not found or start + low > found[-1][1])
        ):
            low -= 1
        high = i + 1
        while high < len(words) and words[high] in ("%", ")", ")%", "%)"):
            high += 1
        found.append((start + low, start + high))
        i = high
    return found


def _read_line(page: Page, start: int, end: int) -> _Line:
    words = page.words.texts[start:end]
    if _period(words):
        return _Line(start, end, words, [], start, "header")
    values = _values(words, start)
    if not values:
        return _Line(start, end, words, [], end, "prose" if len(words) > 14 else "text")
    tail = _trailing(words, start, values)
    if len(tail) > 1 and _is_note_mark(page, tail[0], start):
        tail = tail[1:]
    first = tail[0][0] if tail else end
    label_words = [w for w in words[: first - start] if any(c.isalpha() for c in w)]
    if len(tail) > 1 and not label_words and tail[0] == (start, start + 1) and _YEAR.fullmatch(words[0]):
        return _Line(start, end, words, tail[1:], start + 1, "row")
    if not tail:
        return _Line(start, end, words, values, end, "prose")
    if len(tail) > 1 and not label_words and _RANGE.search(" ".join(words[: tail[0][1] - start])):
        return _Line(start, end, words, tail[1:], tail[0][1], "row")
    if len(label_words) > 22 or (len(tail) == 1 and len(label_words) > 14):
        return _Line(start, end, words, values, end, "prose")
    return _Line(start, end, words, tail, first, "row")


def _is_note_mark(page: Page, value: tuple[int, int], start: int) -> bool:
    """`(2)` right behind the label is the mark of a note, no number."""
    low, high = value
    if high - low != 1 or low == start or not re.fullmatch(r"\(\d\)", page.words.texts[low]):
        return False
    boxes = page.words.boxes
    return float(boxes[low, 0] - boxes[low - 1, 2]) < 0.012


def _trailing(words: tuple[str, ...], start: int, values: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The values that close the line, fillers between them allowed."""
    at, kept = len(words), []
    for low, high in reversed(values):
        between = words[high - start : at]
        if any(not _FILLER.fullmatch(w) for w in between):
            break
        kept.append((low, high))
        at = low - start
    return kept[::-1]


def _scale(text: str) -> float | None:
    match = re.search(r"\b(?:in|\$|us\$|usd|dollars?)?\s*\(?\b(thousand|million|billion)s?\b(?: of)?", text)
    if not match or not re.search(
        r"\(.*?(?:thousand|million|billion)|\b(?:in|amounts in|dollars in) (?:thousand|million|billion)|"
        r"\$ ?(?:in )?(?:thousand|million|billion)s\b",
        text,
    ):
        return None
    return SCALES[match.group(1)]


def rows(page: Page) -> list[Row]:
    """The rows of a page, top first."""
    spans = _split_lines(page)[:MAX_LINES]
    lines = [_read_line(page, start, end) for start, end in spans]
    running = _running(page)
    for line in lines:
        if line.kind == "row" and any(a <= line.start and line.end <= b for a, b in running):
            line.kind = "prose"
    _join_labels(page, lines)
    titles = _titles(page)
    leads = _leads(page)
    titled = {i for start, end, _ in titles for i in range(start, end)}
    columns = Columns(page, lines, titled)
    found: list[Row] = []
    scale, currency = _page_scale(lines)
    section = before = ""
    for number, line in enumerate(lines):
        text = " ".join(line.words)
        if line.kind != "row":
            scale = _scale(fold(text)) or scale
            if line.start in titled:
                section = before = ""
            elif line.kind == "text" and _is_section(line, columns.header_words):
                section, before = text, section
            continue
        label, start = _label(page, lines, number)
        if start < line.start and section == " ".join(lines[number - 1].words):
            section = before
        label = label or _sum_label(lines, found, number, page)
        if not label:
            continue
        cells = tuple(_cell(page, columns, number, value) for value in line.values)
        own = "" if section and label.startswith(section) else section
        title = _lead_of(leads, line.start) or _title_of(titles, line.start)
        found.append(
            Row(label, own, cells, start, line.end, title, scale or 1.0, currency, number, line.aside)
        )
    return found


def _join_labels(page: Page, lines: list[_Line]) -> None:
    """Gives numbers that stand alone the label at their height on the left: some tables are stored by columns."""
    boxes = page.words.boxes
    middles = {i: float(boxes[line.start, 1] + boxes[line.start, 3]) / 2 for i, line in enumerate(lines)}
    labels = [i for i, line in enumerate(lines) if line.kind == "text" and len(line.words) <= 14]
    labels.sort(key=lambda i: middles[i])
    heights = [middles[i] for i in labels]
    for i, line in enumerate(lines):
        if line.kind != "row" or line.label_end > line.start:
            continue
        height = float(boxes[line.start, 3] - boxes[line.start, 1])
        near = labels[
            bisect_left(heights, middles[i] - 0.5 * height) : bisect_right(heights, middles[i] + 0.5 * height)
        ]
        left = float(boxes[line.start, 0])
        beside = [
            j for j in near if lines[j].kind == "text" and float(boxes[lines[j].end - 1, 2]) <= left + 0.005
        ]
        if beside:
            chosen = max(beside, key=lambda j: float(boxes[lines[j].end - 1, 2]))
            line.aside = (lines[chosen].start, lines[chosen].end)
            lines[chosen].kind = "taken"


def _is_section(line: _Line, header_words: set[int]) -> bool:
    """A short line without numbers, no column header and no row of dashes."""
    words = [w for w in line.words if any(c.isalpha() for c in w)]
    heads = sum(i in header_words for i in range(line.start, line.end))
    if re.search(
        r"\b(?:in|of) (?:millions|thousands|billions)|per share|unaudited", " ".join(words), re.IGNORECASE
    ):
        return False
    return 0 < len(words) <= 12 and len(words) * 2 > len(line.words) and heads * 2 < len(line.words)


def _sum_label(lines: list[_Line], found: list[Row], number: int, page: Page) -> str:
    """`Total` for a line without a label that is the sum of the rows right above it."""
    line = lines[number]
    if not found or found[-1].line != number - 1 or len(found[-1].cells) != len(line.values):
        return ""
    texts = page.words.texts
    parsed = [numbers("".join(texts[a:b])) for a, b in line.values]
    if not all(parsed):
        return ""
    total, count = 0.0, 0
    for row in reversed(found):
        if row.line != number - 1 - count or len(row.cells) != len(line.values):
            break
        total += row.cells[-1].value
        count += 1
        if count >= 2 and abs(total - parsed[-1][0].value) <= 0.006 * max(1.0, abs(total)):
            return "Total"
    return ""


def _split_lines(page: Page) -> list[tuple[int, int]]:
    """Visual lines, cut where a block with a label of its own begins beside another, as on slides."""
    texts, boxes = page.words.texts, page.words.boxes
    starts = {block.start for block in page.blocks}
    found = []
    for start, end in page.line_spans():
        cut = start
        for i in range(start + 1, end):
            apart = float(boxes[i, 0] - boxes[i - 1, 2]) > 0.02
            if i in starts and apart and any(c.isalpha() for c in texts[i]) and not is_value(texts[i]):
                found.append((cut, i))
                cut = i
        found.append((cut, end))
    return found


def _running(page: Page) -> list[tuple[int, int]]:
    """Word ranges of running text: blocks of text of two lines or more, long lines, few numbers."""
    found = []
    for block in page.blocks:
        if block.kind not in ("text", "list", "header", "footer") or block.cells:
            continue
        texts = page.words.texts[block.start : block.end]
        lines = len(set(page.words.lines[block.start : block.end].tolist()))
        numeric = sum(is_value(w) for w in texts)
        if block.kind in ("header", "footer") or (
            len(texts) >= 7 * max(lines, 1) and numeric * 6 < len(texts)
        ):
            found.append((block.start, block.end))
    return found


def _page_scale(lines: list[_Line]) -> tuple[float | None, str]:
    """The first scale that the page states, and the currency of its numbers."""
    scale, currency = None, ""
    for line in lines:
        text = " ".join(line.words)
        if scale is None and ("illion" in text or "ILLION" in text or "housand" in text or "HOUSAND" in text):
            scale = _scale(fold(text))
        if not currency:
            sign = re.search(r"[$€£¥]", text)
            currency = sign.group() if sign else ""
    return scale, currency


def _label(page: Page, lines: list[_Line], number: int) -> tuple[str, int]:
    """The words before a row's values; a label broken over lines is joined from the line above."""
    line = lines[number]
    texts = page.words.texts
    if line.aside:
        return " ".join(texts[line.aside[0] : line.aside[1]]), line.start
    words = [w for w in texts[line.start : line.label_end] if not re.fullmatch(r"[.·…$—–-]+|\(", w)]
    start = line.start
    label = " ".join(words)
    above = lines[number - 1] if number else None
    joinable = above is not None and above.kind == "text" and not above.words[-1].endswith((":", "."))
    if above is not None and joinable and len(above.words) <= 14:
        lower = bool(label) and label[0].islower()
        if (lower or not any(c.isalnum() for c in label)) and _near(page, above, line):
            label = " ".join([*above.words, label]).strip()
            start = above.start
    named = any(c.isalpha() for c in label) or _YEAR.fullmatch(label) or _RANGE.search(label)
    return (label if named else ""), start


def _near(page: Page, above: _Line, line: _Line) -> bool:
    boxes = page.words.boxes
    height = float(boxes[line.start, 3] - boxes[line.start, 1])
    return float(boxes[line.start, 1] - boxes[above.end - 1, 3]) < 1.5 * height


def _cell(page: Page, columns: "Columns", number: int, value: tuple[int, int]) -> Cell:
    start, end = value
    text = "".join(page.words.texts[start:end])
    parsed = numbers(text)
    amount = parsed[0].value if parsed else 0.0
    negative = bool(re.match(r"[$€£¥]*\(", text)) and amount > 0
    shown = parsed[0].text if parsed else text
    header, where = columns.header(number, value)
    return Cell(
        -amount if negative else amount,
        f"-{shown}" if negative else shown,
        "%" in text,
        header,
        last_year(header),
        start,
        end,
        where,
    )


Header = tuple[str, tuple[tuple[int, int], ...]]


@dataclass(slots=True)
class _Table:
    """Consecutive row lines and their columns: `left`, `right` and header of each, in the order of the page."""

    lines: list[int]
    columns: list[tuple[float, float]]
    headers: list[Header]


class Columns:
    """The columns of a page's tables. Numbers are right-aligned, so cells with close right edges are a column."""

    def __init__(self, page: Page, lines: list[_Line], titled: set[int]) -> None:
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
        """Row lines that belong together: no prose, no header line and at most four other lines between them."""
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
                if left < edge and not _period(self._page.words.texts[low:high]):
                    continue
                for place, column in enumerate(columns):
                    if (
                        min(right, column[1] + 0.012) - max(left, column[0] - 0.012) > 0
                        and len(found[place]) < 5
                    ):
                        found[place].insert(0, (low, high))
        texts = self._page.words.texts
        return [(" ".join(" ".join(texts[a:b]) for a, b in ranges), tuple(ranges)) for ranges in found]

    def _pieces(self, line: _Line, columns: list[tuple[float, float]]) -> list[tuple[int, int]]:
        """A header line's phrases; one that stands over several columns, a word or more over each, is cut."""
        found: list[tuple[int, int]] = []
        for low, high in _phrases(self._page, line):
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


def _phrases(page: Page, line: _Line) -> list[tuple[int, int]]:
    """A line cut where the gap between words is wide, and between the years of a line of years."""
    boxes, width, height = page.words.boxes, *page.size
    texts = page.words.texts
    cuts = [line.start]
    for i in range(line.start + 1, line.end):
        gap = float(boxes[i, 0] - boxes[i - 1, 2]) * width
        years_apart = bool(_YEAR.fullmatch(texts[i]) and _YEAR.fullmatch(texts[i - 1]))
        if gap > 0.75 * float(boxes[i, 3] - boxes[i, 1]) * height or gap < -2 or years_apart:
            cuts.append(i)
    return list(zip(cuts, [*cuts[1:], line.end], strict=True))


def _titles(page: Page) -> list[tuple[int, int, str]]:
    """Where titles and captions stand, with their text."""
    return [
        (block.start, block.end, " ".join(block.text.split())[:120])
        for block in page.blocks
        if block.kind in ("title", "caption") and block.end > block.start
    ]


def _leads(page: Page) -> list[tuple[int, int, str]]:
    """Sentences that introduce a table, such as `Total obligations are as follows (in millions):`."""
    found = []
    for block in page.blocks:
        text = " ".join(block.text.split())
        if block.kind in ("text", "list") and text.endswith(":") and len(text.split()) >= 5:
            sentence = re.split(r"(?<=[.;])\s+(?=[A-Z])", text)[-1]
            found.append((block.start, block.end, sentence[-160:].rstrip(":")))
    return found


def _lead_of(leads: list[tuple[int, int, str]], start: int) -> str:
    """The sentence that introduces the table at a word, where it is not far above."""
    above = [(end, text) for _, end, text in leads if end <= start]
    return above[-1][1] if above and start - above[-1][0] < 250 else ""


def _title_of(titles: list[tuple[int, int, str]], start: int) -> str:
    above = [text for at, _, text in titles if at <= start]
    return above[-1] if above else ""
