"""Finds what a query names outright: a page, a numbered table or section, a title, quoted words."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from indexes.types import BBox, OutlineEntry
from retrieval.references import (
    NamedReference,
    SheetReference,
    named_references,
    quotations,
    sheet_references,
)
from retrieval.tokens import STOP_TERMS, text_terms
from retrieval.units import HEADING_KINDS, DocumentText, Unit

MENTION = 0.3  # strength of a page that only speaks of "Table 4" against the one that holds it
SENTENCE = 0.5  # of a line that begins "Table 4 shows", which may be a caption
BARE_NUMBER = 0.9  # of a heading "3.2 Results" for "Section 3.2"
QUOTED = 0.5
OTHER_NUMBERING = 0.9  # of physical page 12 where another page is labelled 12: authors mean either
CONTENTS = 0.3  # of a caption or heading that stands in a table of contents
TITLE_LINE_TERMS = 18
SHORTEST_QUOTATION = 4  # letters
MANY_PAGES = 4  # words or a title on more pages than this (or a tenth of the document) single out none

_SECTIONS = frozenset(
    {"Section", "Chapter", "Part", "Item", "Note", "Article", "Appendix", "Annex", "Schedule"}
)
_WRITTEN = {"Figure": ("figure", "fig.", "fig"), "Table": ("table", "tab.")}
_TITLE_NUMBER = re.compile(r"[\d.]+|[ivx]+|[a-z]")
_PART_WORD = re.compile(r"(?:section|chapter|slid|pag|part|heading|appendix) ")


@dataclass(frozen=True, slots=True)
class Lookup:
    """A page that a query names.

    Attributes:
        row: the page, 0-based.
        strength: 0 to 1, how surely this is the page that was meant.
        name: what was looked up, such as `Table 4.16`.
        regions: where it stands on the page; empty where the whole page is meant.
    """

    row: int
    strength: float
    name: str
    regions: tuple[BBox, ...] = ()


class LookupTable:
    """A document's labels, captions, headings and lines, ready to be looked up."""

    def __init__(
        self, text: DocumentText, outline: Sequence[OutlineEntry], labels: Sequence[str | None]
    ) -> None:
        self._text = text
        self._labels: dict[str, list[int]] = defaultdict(list)
        for i, label in enumerate(labels):
            if label:
                self._labels[label.strip().lower()].append(i)
        self._terms = [f" {' '.join(line.terms)} " for line in text.lines]
        self._titles = _collect_titles(text, outline)

    def find(self, query: str) -> list[Lookup]:
        """Everything the query names that the document has, strongest first."""
        found: list[Lookup] = []
        for sheet in sheet_references(query, len(self._text)):
            found.extend(self._sheet(sheet))
        for reference in named_references(query):
            found.extend(self._named(reference))
        for words in quotations(query):
            found.extend(self._quoted(words))
        found.extend(self._titled(query))
        return sorted(found, key=lambda f: (-f.strength, f.row))

    def _sheet(self, sheet: SheetReference) -> list[Lookup]:
        found: list[Lookup] = []
        for number in sheet.numbers:
            labelled = self._labels.get(number.lower(), [])
            physical = [int(number) - 1] if number.isdigit() and 1 <= int(number) <= len(self._text) else []
            if sheet.first == "place":
                labelled = []
            first, second = (labelled, physical) if sheet.first == "label" else (physical, labelled)
            if not first:
                first, second = second, []
            found.extend(Lookup(i, 1.0, sheet.name) for i in first)
            found.extend(Lookup(i, OTHER_NUMBERING, sheet.name) for i in second if i not in first)
        return found

    def _named(self, reference: NamedReference) -> list[Lookup]:
        number = re.escape(reference.number)
        kinds = "|".join(re.escape(k) for k in _WRITTEN.get(reference.kind, (reference.kind.lower(),)))
        mention = re.compile(rf"\b(?:{kinds})\s*{number}(?![\w]|[.-]\d)", re.IGNORECASE)
        heading = re.compile(rf"\W*{number}[.):]?\s+[A-Z]") if reference.kind in _SECTIONS else None
        best: dict[int, Lookup] = {}
        for line, printed in self._lines_with(text_terms(reference.number)[:1]):
            spoken = mention.search(printed)
            if spoken:
                begins = not any(c.isalnum() for c in printed[: spoken.start()])
                runs_on = printed[spoken.end() :].lstrip()[:1].islower()  # "Table 4 shows ..."
                strength = MENTION if not begins else SENTENCE if runs_on else 1.0
            elif heading and heading.match(printed) and len(line.terms) <= TITLE_LINE_TERMS:
                strength = BARE_NUMBER
            else:
                continue
            strength *= CONTENTS if line.contents else 1.0
            if line.row not in best or best[line.row].strength < strength:
                region = self._text.region(line.row, line.block)
                best[line.row] = Lookup(line.row, strength, reference.name, region)
        return list(best.values())

    def _quoted(self, words: str) -> list[Lookup]:
        terms = text_terms(words)
        if sum(len(t) for t in terms if t not in STOP_TERMS) < SHORTEST_QUOTATION:
            return []
        best: dict[int, Lookup] = {}
        for line, _ in self._lines_with(terms):
            if line.row not in best:
                region = self._text.region(line.row, line.block)
                best[line.row] = Lookup(line.row, QUOTED, f'"{words}"', region)
        return list(best.values()) if self._singles_out(len(best)) else []

    def _titled(self, query: str) -> list[Lookup]:
        terms = f" {' '.join(text_terms(query))} "
        best: dict[tuple[int, str], Lookup] = {}
        for title, places in self._titles.items():
            place = terms.find(f" {title} ")
            if place < 0 or not self._singles_out(len(places)):
                continue
            content = [t for t in title.split() if t not in STOP_TERMS]
            if len(content) < 2 and not _PART_WORD.match(terms[place + len(title) + 2 :]):
                continue
            strength = min(0.8, 0.2 + 0.2 * len(content))
            for row, name, boxes in places:
                best[row, name] = Lookup(row, strength, name, boxes)
        return list(best.values())

    def _lines_with(self, terms: Sequence[str]) -> Iterator[tuple[Unit, str]]:
        """The lines that hold these terms one after the other, as units and as printed."""
        wanted = f" {' '.join(terms)} "
        return (
            (line, self._text.line_text(line))
            for line, held in zip(self._text.lines, self._terms, strict=True)
            if wanted in held
        )

    def _singles_out(self, pages: int) -> bool:
        return pages <= max(MANY_PAGES, len(self._text) // 10)


def _collect_titles(
    text: DocumentText, outline: Sequence[OutlineEntry]
) -> dict[str, list[tuple[int, str, tuple[BBox, ...]]]]:
    """Titles, as terms without their number, to the pages that bear them: row, title as printed, place."""
    titles: dict[str, dict[int, tuple[str, tuple[BBox, ...]]]] = defaultdict(dict)
    for entry in outline:
        titles[_title_key(text_terms(entry.title))].setdefault(entry.page - 1, (entry.title, ()))
    for row, page in enumerate(text.pages):
        for block in page.blocks:
            if text.kinds[row][block.block] in HEADING_KINDS:
                printed = " ".join(text.texts[row][block.start : block.end])
                titles[_title_key(block.terms)][row] = (printed, text.region(row, block.block))
    titles.pop("", None)
    return {key: [(row, *what) for row, what in rows.items()] for key, rows in titles.items()}


def _title_key(terms: Sequence[str]) -> str:
    """A title's terms without its number; empty where it says too little or too much to be looked up."""
    terms = list(terms)
    while terms and _TITLE_NUMBER.fullmatch(terms[0]):
        terms = terms[1:]
    wordy = any(t not in STOP_TERMS and not t[0].isdigit() and len(t) > 2 for t in terms)
    return " ".join(terms) if wordy and len(terms) <= TITLE_LINE_TERMS else ""
