"""Sentences, list items, titles and captions of a page, each with its range of words."""

import re
from dataclasses import dataclass
from typing import Literal

from agent.readers.extractive.labelled import LABEL_WORDS, starts_label
from indexes.types import LayoutBlock, Page, TableCell

UnitKind = Literal["sentence", "item", "title", "caption", "line", "cells"]
MAX_UNITS = 1200  # of a page
MAX_WORDS = 90  # of a sentence; longer ones are cut

_BULLET = re.compile(r"[•●▪■◦‣▸►➢✓✔*·○–-]|\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,4})[.)]")
_END = re.compile(r".*[.?!]['\"”’)\]]*(?:\d{1,2})?")
_ABBREVIATION = re.compile(
    r"(?:[A-Z]|Mr|Mrs|Ms|Dr|St|No|Inc|Corp|Ltd|Co|vs|cf|Fig|Figs|Eq|Sec|al|e\.g|i\.e|U\.S|approx|"
    r"max|min|ca|resp|incl)\."
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of running text that can be quoted: `start` to `end` (exclusive) of the page's words.

    Attributes:
        kind: a sentence, a list item, a title, a caption, or a bare line where the layout knows no block.
        title: the title it stands under, or empty.
        block: the `order` of its block, -1 where there is none.
    """

    text: str
    kind: UnitKind
    start: int
    end: int
    title: str
    block: int


def units(page: Page) -> list[Unit]:
    """The units of a page in reading order."""
    found: list[Unit] = []
    title = ""
    blocks = [b for b in page.blocks if b.end > b.start]
    if not blocks:
        return [
            Unit(" ".join(page.words.texts[s:e]), "line", s, e, "", -1)
            for s, e in page.line_spans()[:MAX_UNITS]
        ]
    covered = 0
    for block in blocks:
        found += _bare_lines(page, covered, block.start, title)
        covered = max(covered, block.end)
        if block.kind == "title":
            title = " ".join(block.text.split())[:120]
        found += _block_units(page, block, title)
        if len(found) > MAX_UNITS:
            return found[:MAX_UNITS]
    found += _bare_lines(page, covered, len(page.words), title)
    return _announced(page, found)[:MAX_UNITS]


def _announced(page: Page, found: list[Unit]) -> list[Unit]:
    """Joins a short unit that ends with a colon and the one after it: `Produced by:` and who."""
    joined: list[Unit] = []
    for unit in found:
        last = joined[-1] if joined else None
        if last and last.text.endswith(":") and last.end == unit.start and len(last.text.split()) <= 6:
            text = " ".join(page.words.texts[last.start : unit.end])
            joined[-1] = Unit(text, "sentence", last.start, unit.end, last.title, unit.block)
        else:
            joined.append(unit)
    return joined


def _bare_lines(page: Page, start: int, end: int, title: str) -> list[Unit]:
    return [
        Unit(" ".join(page.words.texts[s:e]), "line", s, e, title, -1) for s, e in _lines(page, start, end)
    ]


def _lines(page: Page, start: int, end: int) -> list[tuple[int, int]]:
    lines = page.words.lines
    cuts = [start, *(i for i in range(start + 1, end) if lines[i] != lines[i - 1])]
    return [(s, e) for s, e in zip(cuts, [*cuts[1:], end], strict=True) if e > s]


def _block_units(page: Page, block: LayoutBlock, title: str) -> list[Unit]:
    texts = page.words.texts
    if block.kind in ("title", "caption"):
        end = min(block.end, block.start + MAX_WORDS)
        kind: UnitKind = "title" if block.kind == "title" else "caption"
        return [Unit(" ".join(texts[block.start : end]), kind, block.start, end, title, block.order)]
    if block.kind == "table" and block.cells:
        return [*_cell_units(block, title), *_line_units(page, block, title)]
    if block.kind in ("table", "picture", "header", "footer"):
        return _line_units(page, block, title)
    found = []
    for start, end in _pieces(page, block):
        kind = "item" if block.kind == "list" or _BULLET.fullmatch(texts[start]) else "sentence"
        found.append(Unit(" ".join(texts[start:end]), kind, start, end, title, block.order))
    return found


def _line_units(page: Page, block: LayoutBlock, title: str) -> list[Unit]:
    texts = page.words.texts
    return [
        Unit(" ".join(texts[s:e]), "line", s, e, title, block.order)
        for s, e in _lines(page, block.start, block.end)
    ]


def table_rows(block: LayoutBlock) -> tuple[dict[int, str], list[list[TableCell]]]:
    """A table's header by column (the first row where none is marked), and its other rows."""
    by_row: dict[int, list[TableCell]] = {}
    for cell in block.cells:
        if cell.text.strip() and cell.end > cell.start:
            by_row.setdefault(cell.row, []).append(cell)
    numbered = sorted(by_row)
    heads = [r for r in numbered if all(c.header for c in by_row[r])] or numbered[:1]
    header: dict[int, str] = {}
    for row in heads:
        for cell in by_row[row]:
            header[cell.column] = f"{header.get(cell.column, '')} {' '.join(cell.text.split())}".strip()
    return header, [by_row[r] for r in numbered if r not in heads]


def _cell_units(block: LayoutBlock, title: str) -> list[Unit]:
    """Rows of a table of words, as `header: cell; header: cell`; rows of numbers are read elsewhere."""
    header, body = table_rows(block)
    found = []
    for row in body:
        numeric = sum(any(c.isdigit() for c in cell.text) for cell in row)
        if len(row) < 2 or 2 * numeric > len(row):
            continue
        parts = []
        for cell in row:
            name = re.sub(r"[:;]", " ", header.get(cell.column, "")).strip()
            text = " ".join(cell.text.split()).replace(";", ",")
            parts.append(f"{name}: {text}" if name else text)
        start, end = min(c.start for c in row), max(c.end for c in row)
        found.append(Unit("; ".join(parts)[:600], "cells", start, end, title, block.order))
    return found


def _line_from(page: Page, start: int, end: int) -> list[str]:
    """The words of the line that begins at a word, at most a label's and one more."""
    lines = page.words.lines
    last = start
    while last < min(end, start + LABEL_WORDS + 1) and lines[last] == lines[start]:
        last += 1
    return list(page.words.texts[start:last])


def _pieces(page: Page, block: LayoutBlock) -> list[tuple[int, int]]:
    """Cuts a block's words at the ends of sentences, before bullets, and between the lines of a form."""
    texts, lines = page.words.texts, page.words.lines
    cuts = [block.start]
    for i in range(block.start + 1, block.end):
        word, before = texts[i], texts[i - 1]
        new_line = lines[i] != lines[i - 1]
        ended = bool(_END.fullmatch(before)) and not _ABBREVIATION.fullmatch(before.lstrip("(["))
        begins = word[:1].isupper() or word[:1].isdigit() or word[:1] in "\"“'(‘"
        in_form = (
            new_line
            and starts_label(_line_from(page, cuts[-1], i))
            and starts_label(_line_from(page, i, block.end))
        )
        if (
            (ended and begins)
            or in_form
            or (new_line and _BULLET.fullmatch(word))
            or i - cuts[-1] >= MAX_WORDS
        ):
            cuts.append(i)
    return [(s, e) for s, e in zip(cuts, [*cuts[1:], block.end], strict=True) if e > s]
