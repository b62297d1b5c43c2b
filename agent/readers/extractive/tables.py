"""Rows of numbers on a page: the label, the cells, and over each cell its column's header.

Works on visual lines, so that it reads a statement, a table without rules and the labels of a bar chart
alike; the layout's blocks add titles and captions.
"""

import re
from dataclasses import dataclass

from agent.readers.extractive.columns import Columns
from agent.readers.extractive.lines import (
    MAX_LINES,
    RANGE,
    YEAR_WORD,
    Line,
    join_labels,
    read_line,
    running_text,
    split_lines,
)
from agent.readers.extractive.text import SCALES, fold, last_year, numbers
from indexes.types import Page


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


_UNIT_NOTE = re.compile(
    r"\(.*\)|(?:in|amounts in|dollars in) (?:thousands|millions|billions).*", re.IGNORECASE
)


def _scale(text: str) -> float | None:
    match = re.search(r"\b(?:in|\$|us\$|usd|dollars?)?\s*\(?\b(thousand|million|billion)s?\b(?: of)?", text)
    if not match or not re.search(
        r"\([^(\n]*?(?:thousand|million|billion)|\b(?:in|amounts in|dollars in) (?:thousand|million|billion)|"
        r"\$ ?(?:in )?(?:thousand|million|billion)s\b",
        text,
    ):
        return None
    return SCALES[match.group(1)]


def rows(page: Page) -> list[Row]:
    """The rows of a page, top first."""
    spans = split_lines(page)[:MAX_LINES]
    lines = [read_line(page, start, end) for start, end in spans]
    running = running_text(page)
    for line in lines:
        if line.kind in ("row", "text") and any(a <= line.start and line.end <= b for a, b in running):
            line.kind = "prose"
    join_labels(page, lines)
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


def _is_section(line: Line, header_words: set[int]) -> bool:
    """A short line without numbers, no column header and no row of dashes."""
    words = [w for w in line.words if any(c.isalpha() for c in w)]
    heads = sum(i in header_words for i in range(line.start, line.end))
    if re.search(
        r"\b(?:in|of) (?:millions|thousands|billions)|per share|unaudited", " ".join(words), re.IGNORECASE
    ):
        return False
    return 0 < len(words) <= 12 and len(words) * 2 > len(line.words) and heads * 2 < len(line.words)


def _sum_label(lines: list[Line], found: list[Row], number: int, page: Page) -> str:
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


def _page_scale(lines: list[Line]) -> tuple[float | None, str]:
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


def _label(page: Page, lines: list[Line], number: int) -> tuple[str, int]:
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
    named = any(c.isalpha() for c in label) or YEAR_WORD.fullmatch(label) or RANGE.search(label)
    return (label if named else ""), start


def _near(page: Page, above: Line, line: Line) -> bool:
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
    above = [text for at, _, text in titles if at <= start and not _UNIT_NOTE.fullmatch(text)]
    return above[-1] if above else ""
