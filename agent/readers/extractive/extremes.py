"""The highest or lowest row of a table, for questions such as `which age group has the highest share`."""

import re
from collections.abc import Sequence

from agent.readers.extractive.evidence import Candidate, PageView
from agent.readers.extractive.matching import Weights, stem_set
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.statements import row_text
from agent.readers.extractive.tables import Cell, Row
from agent.readers.extractive.text import stem
from agent.types import FactDraft

_ORDER_WORDS = frozenset(
    stem(w)
    for w in "highest largest most biggest greatest maximum longest best top lowest smallest "
    "least fewest minimum "
    "shortest worst latest earliest".split()
)
MIN_FIT = 0.3
_PREFIX = re.compile(r"^The (?:highest|lowest) of \d+ rows is ")


def extreme_drafts(views: Sequence[PageView], analysis: Analysis) -> list[FactDraft]:
    """The winning row of the table that fits the question best, and the runner-up, if there is one."""
    if not analysis.extreme:
        return []
    wanted = [c for c in analysis.content if c not in _ORDER_WORDS]
    weights = Weights.over(wanted, [s for v in views for s in (*v.unit_stems, *v.row_stems)])
    best: tuple[float, PageView, list[tuple[Row, Cell]]] | None = None
    for seen in views:
        for table in _tables(seen.rows):
            ranked = _ranked(table, weights, analysis)
            if len(ranked) < 2:
                continue
            labels = stem_set(" ".join(row.label for row, _ in ranked))
            row, cell = ranked[0]
            fields = [
                (1.0, stem_set(f"{row.title} {cell.header} {row.section}")),
                (0.6, labels),
                (0.4, seen.top),
            ]
            score = weights.coverage(fields)
            if best is None or score > best[0]:
                best = (score, seen, ranked)
    if best is None or best[0] < MIN_FIT:
        return []
    score, seen, ranked = best
    word = "highest" if analysis.extreme == "max" else "lowest"
    drafts = []
    for place, (row, cell) in enumerate(ranked[:2]):
        draft = Candidate(seen, score * (1 - 0.2 * place), row=row, cells=(cell,)).draft(0)
        text = f"The {word} of {len(ranked)} rows is {row_text(row, (cell,))}" if place == 0 else draft.text
        drafts.append(FactDraft(draft.ref, text, draft.quote, draft.score, 0, draft.words))
    return drafts


def unwrapped(text: str) -> str:
    """The row's own fact within the fact of a winning row; the text itself for others."""
    return _PREFIX.sub("", text)


def is_winner(text: str) -> bool:
    """True for the fact of a winning row."""
    return bool(_PREFIX.match(text))


def _tables(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows that follow each other under one title."""
    found: list[list[Row]] = []
    for row in rows:
        if found and found[-1][-1].title == row.title and row.line - found[-1][-1].line <= 5:
            found[-1].append(row)
        else:
            found.append([row])
    return found


def _ranked(table: list[Row], weights: Weights, analysis: Analysis) -> list[tuple[Row, Cell]]:
    """A table's rows by the column that fits the question best, the winner first; totals left out."""
    columns: dict[str, list[tuple[Row, Cell]]] = {}
    for row in table:
        if re.match(r"(?:sub)?total\b|all\b|average\b|u\.s\. adults", row.label.lower()):
            continue
        seen: set[str] = set()
        for place, cell in enumerate(row.cells):
            name = cell.header or f"#{place}"
            if name not in seen:
                seen.add(name)
                columns.setdefault(name, []).append((row, cell))
    if not columns:
        return []
    asked = analysis.years

    def fits(name: str) -> tuple[float, int]:
        cells = columns[name]
        dated = 0.3 if asked and cells[0][1].year in asked else 0.0
        return weights.coverage([(1.0, stem_set(name))]) + dated, len(cells)

    chosen = max(columns, key=fits)
    return sorted(columns[chosen], key=lambda pair: pair[1].value, reverse=analysis.extreme == "max")
