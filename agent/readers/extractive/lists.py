"""Lists on a page: items under a title or behind a sentence that introduces them, and enumerations."""

import re
from collections.abc import Sequence

from agent.readers.extractive.evidence import PageView
from agent.readers.extractive.matching import covered
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.sentences import Unit, table_rows
from agent.types import FactDraft

MAX_ITEMS = 40
_MARK = re.compile(r"^(?:[•●▪■◦‣▸►➢✓✔*·○–-]|\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,4})[.)])\s+")


def list_drafts(views: Sequence[PageView], analysis: Analysis) -> list[FactDraft]:
    """Facts `The list "..." has n items: a; b; c`, the best two, for questions that count or list."""
    if analysis.answer_type not in ("list", "count"):
        return []
    wanted = analysis.content
    found: list[tuple[float, FactDraft]] = []
    for seen in views:
        for head, items in _lists(seen):
            score = covered(wanted, f"{head.text} {head.title}")
            if score < 0.34:
                continue
            target = covered(analysis.target, f"{head.text} {head.title}") if analysis.target else 0.0
            text = f'The list "{head.text[:150]}" has {len(items)} items: ' + "; ".join(
                _bare(i.text) for i in items
            )
            ranges = ((head.start, head.end), *((i.start, i.end) for i in items))
            quote = " ".join(i.text for i in (head, *items))
            draft = FactDraft(
                seen.page.ref, text[:1500], quote[:1500], round(0.7 * score + 0.3 * target, 4), 0, ranges
            )
            found.append((draft.score, draft))
    found.sort(key=lambda pair: -pair[0])
    return [draft for _, draft in found[:2]]


def _lists(seen: PageView) -> list[tuple[Unit, list[Unit]]]:
    """Runs of items, each with the unit before it."""
    found: list[tuple[Unit, list[Unit]]] = []
    run: list[Unit] = []
    head: Unit | None = None
    for unit in (*seen.units, None):
        marked = unit is not None and (unit.kind == "item" or bool(_MARK.match(unit.text)))
        if marked and unit is not None and len(run) < MAX_ITEMS:
            run.append(unit)
            continue
        if head is not None and len(run) >= 2:
            found.append((head, run))
        run, head = [], unit
    return found + _numbered(seen) + _table_lists(seen)


def _table_lists(seen: PageView) -> list[tuple[Unit, list[Unit]]]:
    """The first cells of the rows of a table of words, under the title or the caption before it."""
    found: list[tuple[Unit, list[Unit]]] = []
    for block in seen.page.blocks:
        if block.kind != "table" or not block.cells:
            continue
        header, body = table_rows(block)
        heads = [u for u in seen.units if u.kind in ("title", "caption") and u.end <= block.start]
        firsts = [row[0] for row in body if any(c.isalpha() for c in row[0].text)]
        if not heads or len(firsts) < 2:
            continue
        head = heads[-1]
        named = Unit(head.text, "title", head.start, head.end, " ".join(header.values())[:80], head.block)
        found.append(
            (
                named,
                [Unit(" ".join(c.text.split()), "cells", c.start, c.end, "", block.order) for c in firsts],
            )
        )
    return found


def _numbered(seen: PageView) -> list[tuple[Unit, list[Unit]]]:
    """Steps: units that begin with 1, 2, 3 and so on, whatever stands between them, under one title."""
    found: list[tuple[Unit, list[Unit]]] = []
    run: list[Unit] = []
    title: Unit | None = None
    head: Unit | None = None
    for unit in (*seen.units, None):
        match = re.match(r"(\d{1,2})[.)]?\s+[A-Z]", unit.text) if unit else None
        number = int(match.group(1)) if match else 0
        if unit is not None and number > 1 and number == len(run) + 1:
            run.append(unit)
        elif unit is None or number == 1:
            if head is not None and len(run) >= 2:
                found.append((head, run))
            run, head = ([unit] if unit else []), title
        title = unit if unit is not None and unit.kind == "title" else title
    return found


def _bare(text: str) -> str:
    return _MARK.sub("", text).rstrip(";,. ").replace(";", ",")[:120]


def read_list(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Head and items of a fact made here; None for other facts."""
    match = re.match(r'The list "(.*?)" has \d+ items: (.*)', text, re.DOTALL)
    return (match.group(1), tuple(match.group(2).split("; "))) if match else None


_LEAD = re.compile(r"\b(?:such as|consists? (?:\w+ )?of|includes?|comprises?|namely|are|is|following)\b:?|:")


def enumerated(sentence: str) -> tuple[str, ...]:
    """The members of `A, B and C` in a sentence, the longest enumeration; empty where there is none."""
    best: tuple[str, ...] = ()
    clean = re.sub(r"\([^()]*\)", " ", sentence)
    starts = [0, *(m.end() for m in _LEAD.finditer(clean))]
    for start in starts:
        clause = re.split(r"[;.]\s|[;.]$", clean[start:])[0]
        parts = _members(clause)
        if len(parts) >= max(len(best), 2):
            best = parts
    return best


def _members(clause: str) -> tuple[str, ...]:
    """The parts of a clause; a comma before the last `and` parts, then the other `and`s do not."""
    serial = bool(re.search(r",\s+(?:and|or)\s", clause))
    pieces = re.split(r",\s+(?:(?:and|or)\s+)?" if serial else r",\s+|(?<!\s)\s+(?:and|or)\s+", clause)
    parts = []
    for piece in pieces:
        text = re.split(r"\s(?:where|which|who|that|when|because)\s", f" {piece.strip(' .,:;')} ")[0].strip()
        if text and not text.lower().startswith(("including", "such as", "respectively")):
            parts.append(text)
    if not parts or any(len(part.split()) > 10 for part in parts):
        return ()
    return tuple(parts)
