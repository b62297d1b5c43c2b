"""Fact texts: how a row becomes a sentence that is understood alone, and how that sentence is read again.

The ledger keeps facts as text, and an answer is drawn from the ledger only; so what a row says must survive
being written down: `Net sales, 2022: $34,229 million; 2021: $35,355 million (Statement of Income)`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.readers.extractive.sentences import Unit
from agent.readers.extractive.tables import Cell, Row
from agent.readers.extractive.text import SCALES, last_year

_SCALE_WORDS = {factor: word for word, factor in SCALES.items()}
_ENTRY = re.compile(
    r"(?P<head>[^:;]*?): (?P<currency>[$€£¥]?)(?P<digits>-?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?)"
    r"(?P<percent>%?)"
    r"(?: (?P<scale>thousand|million|billion|trillion))?"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A cell read back from a fact: its header, its value as printed, its scale factor."""

    header: str
    value: float
    shown: str
    percent: bool
    scale: float
    year: int | None


@dataclass(frozen=True, slots=True)
class RowFact:
    """A row read back from a fact's text."""

    label: str
    entries: tuple[Entry, ...]
    title: str


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[:;]+", " ", text)).strip(" ,")


def cell_text(row: Row, cell: Cell) -> str:
    """A cell's value with its unit: `$34,229 million`."""
    text = (
        cell.shown
        if cell.percent and cell.shown.endswith("%")
        else cell.shown + ("%" if cell.percent else "")
    )
    if cell.percent:
        return text
    per_share = re.search(r"per (?:\w+ )?share|%|percent|ratio|number of|shares\b", row.label, re.I)
    if row.scale == 1.0 or per_share:
        return text
    return f"{row.currency}{text} {_SCALE_WORDS[row.scale]}"


def row_text(row: Row, cells: Sequence[Cell]) -> str:
    """A row's fact: label, then header and value of each of the cells, then the table's title."""
    label = _plain(f"{row.section} – {row.label}" if row.section and len(row.section) < 60 else row.label)
    parts = []
    for place, cell in enumerate(cells):
        header = _plain(cell.header).replace(",", "")
        head = f"{label}, {header}" if place == 0 and header else label if place == 0 else header or "next"
        parts.append(f"{head}: {cell_text(row, cell)}")
    title = f" ({_plain(row.title)})" if row.title and row.title != row.section else ""
    return "; ".join(parts) + title


def parse_row(text: str) -> RowFact | None:
    """Reads a row's fact back; None where the text is no row."""
    title = ""
    body = text
    match = re.search(r"((?:\d|%|thousand|million|billion)) \(((?:[^()]|\([^()]*\))*)\)$", text)
    if match:
        title, body = match.group(2), text[: match.end(1)]
    entries: list[Entry] = []
    label = ""
    for place, piece in enumerate(body.split("; ")):
        found = _ENTRY.fullmatch(piece)
        if not found or not found["digits"].strip("-"):
            return None
        head = found["head"]
        if place == 0:
            label, _, header = head.rpartition(", ") if ", " in head else (head, "", "")
        else:
            header = "" if head == "next" else head
        digits, scale = found["digits"], found["scale"]
        entries.append(
            Entry(
                header,
                float(digits.replace(",", "")),
                digits + found["percent"],
                bool(found["percent"]),
                SCALES[scale] if scale else 1.0,
                last_year(header),
            )
        )
    return RowFact(label, tuple(entries), title)


def unit_text(unit: Unit) -> str:
    """A unit's fact: its own words, with the title it stands under where it is not the title itself."""
    if unit.title and unit.kind != "title" and unit.title not in unit.text and len(unit.text) < 400:
        return f"{unit.text} (under: {_plain(unit.title)})"
    return unit.text


def bare(text: str) -> str:
    """A unit's fact without the title added to it."""
    return re.sub(r" \(under: [^()]*(?:\([^()]*\)[^()]*)*\)$", "", text)
