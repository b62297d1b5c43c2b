"""Names in a fact: capitalised words that are no label, no common noun and no reference."""

import re
from collections.abc import Sequence

from agent.readers.extractive.statements import bare
from agent.readers.extractive.text import STOPWORDS, fold
from agent.types import Fact

_NAME = re.compile(
    r"(?:[A-Z][\w'’&.-]*|[A-Z]{2,})(?:\s+(?:(?:of|and|for|the|de|van|von|&)\s+)?[A-Z][\w'’&.-]*)*"
)
_PLACE = re.compile(
    r"\b(?:in|at|from|to|near|into|outside|off|around|of|on)\s+(?:the\s+)?"
    r"([A-Z][\w'’.-]*(?:,?\s+(?:of\s+|de\s+|the\s+)?[A-Z][\w'’.-]*)*)"
)
_THERE = re.compile(r"\b(?:in|at|near|off|outside)(?: the)?$", re.IGNORECASE)
_NO_NAMES = frozenset(
    """january february march april may june july august september october november december jan feb
    mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday
    sunday spring summer autumn fall winter table figure fig chart page section chapter appendix
    note exhibit annex slide step part box item total date name role title number no yes source
    notes contents continued quarter year month day"""
    "".split()
)


def names_in(fact: Fact, common: frozenset[str], *, who: bool = False) -> list[str]:
    """The names of a fact, in order; `common` are common nouns; `who` leaves out what says where."""
    cells = [part.partition(": ")[2] for part in bare(fact.text).split("; ") if ": " in part]
    pieces = cells if len(cells) >= 2 else [fact.quote]
    return [name for piece in pieces for name in _names(piece, common, who=who)]


def _names(piece: str, common: frozenset[str], *, who: bool) -> list[str]:
    found = []
    for match in _NAME.finditer(piece):
        text = match.group().strip(" .,;'’")
        words = [w for w in text.split() if w.lower() not in STOPWORDS]
        before = piece[: match.start()].rstrip()
        opens = not before or before[-1] in ".?!"
        label = piece[match.end() :].lstrip().startswith(":") or (who and bool(_THERE.search(before)))
        if not words or label or (len(words) == 1 and opens) or all(is_common(w, common) for w in words):
            continue
        found.append(text)
    return found


def is_common(word: str, common: frozenset[str]) -> bool:
    """True for a word that names nobody: a month, `Table`, one that the facts write in small letters."""
    plain = fold(word).strip(".,;:'\"()")
    return plain in _NO_NAMES or plain in common or any(c.isdigit() for c in plain)


def common_words(facts: Sequence[Fact]) -> frozenset[str]:
    """The words that facts write in small letters."""
    return frozenset(w for f in facts for w in re.findall(r"\b[a-z]{3,}\b", f"{f.text} {f.quote}"))


def places_in(fact: Fact, common: frozenset[str]) -> list[str]:
    """Capitalised phrases after a preposition of place, in order."""
    found = []
    for match in _PLACE.finditer(fact.quote):
        words = match.group(1).strip(" .,;'’").split()
        while words and is_common(words[-1], common):
            words = words[:-1]
        if words and not is_common(words[0], common):
            found.append(" ".join(words).strip(" .,;'’"))
    return found
