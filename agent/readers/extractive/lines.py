"""A page's visual lines, told apart: rows of numbers, headers, labels, running text."""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from indexes.types import Page

MAX_LINES = 1500  # of a page; a page with more is no text that a person reads


_VALUE = re.compile(
    r"[(\[]?[-−–~<>≈]?(?:US\$|[$€£¥])?[-−–]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:%|pp|x|bn|m|M|"
    r"K)?[)\]]?%?(?:\([\d.−–-]+\)|±[\d.]+)?[*†‡]*"
)


_FILLER = re.compile(r"[$€£¥%()*†‡|.\-−–—•…]+|\([a-z\d]\)|nm|n/m|N/?A|\*+", re.IGNORECASE)


_PERIOD = re.compile(
    r"(?:(?:19|20)\d\d|'\d\d|Q[1-4]|(?:January|February|March|April|May|June|July|August|"
    r"September|October|November|"
    r"December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?|\d{1,2},|fiscal|FY\d*|years?|"
    r"ended|ending|as|of|at|"
    r"months?|weeks?|quarter|three|six|nine|twelve|and|the|through|period|estimated|total)[,:]?(?:\(\w\))?",
    re.IGNORECASE,
)


_UNIT = re.compile(
    r"\(?(?:in|of|dollars?|euros?|u\.?s\.?|usd|[$€£¥]|thousands?|millions?|billions?|unaudited|amounts?|except|per|"
    r"shares?|data|and|percentages?|where|noted)[,;:]?\)?",
    re.IGNORECASE,
)


_SPAN = re.compile(r"fiscal|ended|ending|fy", re.IGNORECASE)


RANGE = re.compile(r"\d\s?[-–+]|[<>≥≤]\s?[$€£]?\d|\d[KkMm]\b")


YEAR_WORD = re.compile(r"(?:FY)?(?:19|20)\d\d[,*]?(?:\(\w\))?")


@dataclass(slots=True)
class Line:
    """A visual line.

    Attributes:
        start: its first word on the page.
        end: the word after its last.
        values: ranges of the words that make a number each, of a row those that close it.
        label_end: the word after the label's last.
        kind: row, header (years), text, prose, or taken (the label of a row beside it).
        aside: the label, where it is a line of its own at the same height.
    """

    start: int
    end: int
    words: tuple[str, ...]
    values: list[tuple[int, int]]
    label_end: int
    kind: str
    aside: tuple[int, int] | None = None


def is_value(word: str) -> bool:
    """True for a word that is a number as tables print them."""
    return bool(_VALUE.fullmatch(word)) and any(c.isdigit() for c in word)


def is_period(words: tuple[str, ...]) -> bool:
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


def read_line(page: Page, start: int, end: int) -> Line:
    """Reads words `start` to `end` of a page as a line: its numbers, its label, its kind."""
    words = page.words.texts[start:end]
    if is_period(words):
        return Line(start, end, words, [], start, "header")
    values = _values(words, start)
    if not values:
        return Line(start, end, words, [], end, "prose" if len(words) > 14 else "text")
    tail = _trailing(words, start, values)
    if len(tail) > 1 and _is_note_mark(page, tail[0], start):
        tail = tail[1:]
    first = tail[0][0] if tail else end
    label_words = [w for w in words[: first - start] if any(c.isalpha() for c in w)]
    if len(tail) > 1 and not label_words and tail[0] == (start, start + 1) and YEAR_WORD.fullmatch(words[0]):
        return Line(start, end, words, tail[1:], start + 1, "row")
    if not tail:
        return Line(start, end, words, values, end, "prose")
    if _heads_years(words, tail, start):
        return Line(start, end, words, [], start, "header" if len(tail) > 1 else "text")
    if len(tail) > 1 and not label_words and RANGE.search(" ".join(words[: tail[0][1] - start])):
        return Line(start, end, words, tail[1:], tail[0][1], "row")
    if len(label_words) > 22 or (len(tail) == 1 and len(label_words) > 14):
        return Line(start, end, words, values, end, "prose")
    return Line(start, end, words, tail, first, "row")


def _heads_years(words: tuple[str, ...], tail: list[tuple[int, int]], start: int) -> bool:
    """Whether a line's numbers are years in a row over columns, as in `(In millions) 2021 2020`.

    What stands before them may be a unit or a part of a date. A single year heads something only where such
    a part comes right before it: `Fiscal 2021 compared to fiscal 2020`.
    """
    shown = [words[low - start : high - start] for low, high in tail]
    if not all(len(word) == 1 and YEAR_WORD.fullmatch(word[0]) for word in shown):
        return False
    before = words[: tail[0][0] - start]
    if len(tail) == 1:
        return bool(before) and bool(_SPAN.fullmatch(before[-1]))
    years = [int(re.sub(r"\D", "", word[0])[:4]) for word in shown]
    steps = {b - a for a, b in zip(years[:-1], years[1:], strict=True)}
    if steps not in ({1}, {-1}):
        return False
    return len(years) > 2 or all(_UNIT.fullmatch(w) or _PERIOD.fullmatch(w) for w in before)


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


def join_labels(page: Page, lines: list[Line]) -> None:
    """Gives numbers that stand alone the label at their height on the left: some tables are stored so."""
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


def split_lines(page: Page) -> list[tuple[int, int]]:
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


def running_text(page: Page) -> list[tuple[int, int]]:
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


def phrases(page: Page, line: Line) -> list[tuple[int, int]]:
    """A line cut where the gap between words is wide, and between the years of a line of years."""
    boxes, width, height = page.words.boxes, *page.size
    texts = page.words.texts
    cuts = [line.start]
    for i in range(line.start + 1, line.end):
        gap = float(boxes[i, 0] - boxes[i - 1, 2]) * width
        years_apart = bool(YEAR_WORD.fullmatch(texts[i]) and YEAR_WORD.fullmatch(texts[i - 1]))
        if gap > 0.75 * float(boxes[i, 3] - boxes[i, 1]) * height or gap < -2 or years_apart:
            cuts.append(i)
    return list(zip(cuts, [*cuts[1:], line.end], strict=True))
