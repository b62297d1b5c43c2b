"""Candidates on the pages read, scored against a part of the question."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from agent.readers.extractive.labelled import answers, label_value
from agent.readers.extractive.lineitems import LineItem, label_score
from agent.readers.extractive.matching import Weights, stem_set
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.sentences import Unit, units
from agent.readers.extractive.series import by_year
from agent.readers.extractive.statements import row_text, unit_text
from agent.readers.extractive.tables import Cell, Row, rows
from agent.readers.extractive.text import content, fold, numbers, years
from agent.types import FactDraft
from indexes.encoders.protocol import Encoder
from indexes.types import Page

FORM = 0.6  # weight of the other lines of a form for one of them
SEMANTIC_TOP = 8  # candidates of a part that the encoder compares with the question


@dataclass(frozen=True, slots=True)
class PageView:
    """A page taken apart once for all parts of the question."""

    page: Page
    units: tuple[Unit, ...]
    rows: tuple[Row, ...]
    unit_stems: tuple[frozenset[str], ...]
    row_stems: tuple[frozenset[str], ...]
    top: frozenset[str]
    form: frozenset[str]
    statements: frozenset[str]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit or a row with the cells that speak to the part, and its score from 0 to 1."""

    view: PageView
    score: float
    unit: Unit | None = None
    row: Row | None = None
    cells: tuple[Cell, ...] = ()

    @property
    def text(self) -> str:
        """The fact's text."""
        return row_text(self.row, self.cells) if self.row else unit_text(self.unit) if self.unit else ""

    def draft(self, part: int) -> FactDraft:
        """The fact draft: a row with its headers, or a unit, as word ranges."""
        page = self.view.page
        if self.row is None:
            start, end = (self.unit.start, self.unit.end) if self.unit else (0, 0)
            ranges: tuple[tuple[int, int], ...] = ((start, end),)
        else:
            heads = {where for cell in self.cells for where in cell.header_words}
            ranges = (*self.row.ranges, *sorted(heads))
        own = self.row.ranges if self.row else ranges
        quote = " ".join(" ".join(page.words.texts[start:end]) for start, end in own)
        return FactDraft(page.ref, self.text, quote, round(self.score, 4), part, ranges)


def view(page: Page) -> PageView:
    """Takes a page apart."""
    page_rows = tuple(rows(page))
    told = {end for row in page_rows for _, end in row.ranges}
    page_units = tuple(u for u in units(page) if u.kind != "line" or u.end not in told)
    labels = " | ".join(fold(r.label) for r in page_rows)
    return PageView(
        page,
        page_units,
        page_rows,
        tuple(stem_set(u.text) for u in page_units),
        tuple(stem_set(r.label) for r in page_rows),
        stem_set(" ".join(page.line_texts()[:3])),
        stem_set(" ".join(u.text for u in page_units if label_value(u.text))),
        _statements(labels),
    )


def without_repetitions(views: Sequence[PageView]) -> list[PageView]:
    """The views without short units that an earlier page has too: running headers and footers count once."""
    known: dict[str, set[str]] = {}  # by document: another one may say the same of something else
    found = []
    for seen in views:
        before = known.setdefault(seen.page.ref.doc_id, set())
        kept = [
            (unit, own)
            for unit, own in zip(seen.units, seen.unit_stems, strict=True)
            if len(own) > 12 or _bones(unit.text) not in before
        ]
        before |= {_bones(unit.text) for unit in seen.units}
        found.append(replace(seen, units=tuple(u for u, _ in kept), unit_stems=tuple(o for _, o in kept)))
    return found


def _bones(text: str) -> str:
    return re.sub(r"[\W\d_]+", "", fold(text))


def _statements(labels: str) -> frozenset[str]:
    """Which primary statements a page holds, by rows that each of them must have."""
    found = set()
    if re.search(r"total current assets|total assets", labels) and re.search(
        r"total (?:current )?liabilities|equity", labels
    ):
        found.add("balance")
    if (
        re.search(r"net (?:income|earnings|loss)|net \(loss\)", labels)
        and re.search(r"per share|diluted|basic", labels)
        and (re.search(r"revenue|sales", labels))
    ):
        found.add("income")
    if re.search(r"operating activities", labels) and re.search(
        r"(?:investing|financing) activities", labels
    ):
        found.add("cash")
    return frozenset(found)


# ---- line items


def item_candidates(views: Sequence[PageView], item: LineItem, wanted: Sequence[int]) -> list[Candidate]:
    """Rows that are a line item, best first; `wanted` are the years needed."""
    found = []
    for seen in views:
        for row in seen.rows:
            name = label_score(item, row.label)
            if not item.statement and row.section:
                name = max(name, label_score(item, f"{row.section} {row.label}"))
            if not name:
                continue
            cells = tuple(c for c in row.cells if c.year in wanted) if wanted else ()
            dated = len({c.year for c in cells}) / len(wanted) if wanted else 1.0
            place = 1.0 if item.statement and item.statement in seen.statements else 0.0
            score = 0.65 * name + 0.15 * place + 0.2 * dated
            found.append(Candidate(seen, score, row=row, cells=_distinct(cells) or row.cells[:4]))
        found += _told_items(seen, item, wanted)
    return sorted(found, key=lambda c: (-c.score, c.view.page.ref.page, c.row.line if c.row else 0))


def _told_items(seen: PageView, item: LineItem, wanted: Sequence[int]) -> list[Candidate]:
    """Sentences that give a line item by year: `Depreciation was $6.4 billion and $8.8 billion in ...`."""
    asked = frozenset(content(item.query))
    found = []
    for unit, own in zip(seen.units, seen.unit_stems, strict=True):
        share = len(asked & own) / max(len(asked), 1)
        if share >= 0.75 and wanted and set(wanted) <= set(by_year(unit.text)):
            found.append(Candidate(seen, 0.5 * share + 0.15, unit=unit))
    return found


def _distinct(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The first cell of each year: a table's later columns repeat years for another measure."""
    found: dict[int | None, Cell] = {}
    for cell in cells:
        found.setdefault(cell.year, cell)
    return tuple(found.values())


# ---- any other part


def part_candidates(
    views: Sequence[PageView], part: str, analysis: Analysis, encoder: Encoder | None
) -> list[Candidate]:
    """Units and rows that speak to a part, best first."""
    wanted = content(part) or list(analysis.content)
    pieces = [s for v in views for s in (*v.unit_stems, *v.row_stems)]
    weights = Weights.over(wanted, pieces)
    numeric = analysis.answer_type in ("number", "count", "difference", "comparison")
    found: list[Candidate] = []
    for seen in views:
        near = _page_factor(seen.page, analysis)
        found += _unit_candidates(seen, weights, analysis, part, numeric, near)
        found += _row_candidates(seen, weights, analysis, part, near)
    found.sort(
        key=lambda c: (
            -c.score,
            c.view.page.ref.page,
            c.unit.start if c.unit else c.row.start if c.row else 0,
        )
    )
    if encoder is None:
        return found
    return _refined(found, part, encoder)


def _page_factor(page: Page, analysis: Analysis) -> float:
    """Pages that the question names count in full, others little, where it names any."""
    if not analysis.pages:
        return 1.0
    named = {str(p) for p in analysis.pages}
    return 1.0 if str(page.ref.page) in named or (page.label or "") in named else 0.6


def _unit_candidates(
    seen: PageView, weights: Weights, analysis: Analysis, part: str, numeric: bool, near: float
) -> list[Candidate]:
    ids = asked_numbers(part)
    found = []
    for place, (unit, own) in enumerate(zip(seen.units, seen.unit_stems, strict=True)):
        if len(own) < 2:
            continue
        before = seen.unit_stems[place - 1] if place else frozenset()
        fields = [(1.0, own), (0.6, stem_set(unit.title)), (0.35, before), (0.3, seen.top)]
        line = label_value(unit.text)
        if line:
            fields.append((FORM, seen.form))
        score = weights.coverage(fields)
        if not score:
            continue
        if numeric and not numbers(unit.text):
            score *= 0.85
        if unit.kind == "line" and len(own) < 4:
            score *= 0.9
        if unit.kind == "cells" and any(re.search(rf"(?:^|: ){i}(?:;|$)", unit.text) for i in ids):
            score += 0.35
        if line and answers(line, analysis):
            score += 0.5 * (1.0 - score)
        found.append(Candidate(seen, near * score, unit=unit))
    return found


def _row_candidates(
    seen: PageView, weights: Weights, analysis: Analysis, part: str, near: float
) -> list[Candidate]:
    asked_years, ids = years(part) or analysis.years, asked_numbers(part)
    found = []
    for row, own in zip(seen.rows, seen.row_stems, strict=True):
        base = [(1.0, own), (0.8, stem_set(row.section)), (0.65, stem_set(row.title)), (0.3, seen.top)]
        scored = []
        for place, cell in enumerate(row.cells[:12]):
            score = weights.coverage([*base, (0.95, stem_set(cell.header))])
            if asked_years and cell.year and cell.year not in asked_years:
                score *= 0.7
            if analysis.percent and not cell.percent and abs(cell.value) > 100:
                score *= 0.8
            scored.append((score, place, cell))
        if not scored:
            continue
        scored.sort(key=lambda s: (-s[0], s[1]))
        numbered = _label_number(row.label)
        if ids and numbered:
            scored[0] = (scored[0][0] + 0.35 if numbered in ids else 0.5 * scored[0][0], *scored[0][1:])
        extra = len(own - set(weights.of)) / max(len(own), 1)
        score = near * scored[0][0] * (1.0 - 0.2 * extra)
        if score:
            found.append(Candidate(seen, score, row=row, cells=tuple(s[2] for s in scored[:4])))
    return found


def asked_numbers(part: str) -> frozenset[str]:
    """The numbers by which a part names rows: `rank 19`, `error 88 and 188`."""
    found: set[str] = set()
    for match in re.finditer(
        r"\b(?:rank(?:ed|s)?|numbers?|no\.?|errors?|items?|codes?)\s+#?(\d+)(?:\s+(?:and|or)\s+(\d+))?",
        fold(part),
    ):
        found |= {group for group in match.groups() if group}
    return frozenset(found)


def _label_number(label: str) -> str:
    match = re.match(r"(?:\D* )?(\d{1,4})[.)]?\s+\D", label)
    return match.group(1) if match else ""


def _refined(found: list[Candidate], part: str, encoder: Encoder) -> list[Candidate]:
    """The best candidates in the order of lexical coverage and cosine similarity together."""
    head, rest = found[:SEMANTIC_TOP], found[SEMANTIC_TOP:]
    if not head:
        return found
    asked = encoder.encode_query(part).pooled
    scored = []
    for candidate in head:
        pooled = encoder.encode_query(candidate.text[:300]).pooled
        alike = max(0.0, float(np.dot(asked, pooled)))
        scored.append(
            Candidate(
                candidate.view,
                0.7 * candidate.score + 0.3 * alike,
                candidate.unit,
                candidate.row,
                candidate.cells,
            )
        )
    scored.sort(key=lambda c: -c.score)
    floor = scored[-1].score
    return scored + [Candidate(c.view, min(c.score * 0.7, floor), c.unit, c.row, c.cells) for c in rest]
