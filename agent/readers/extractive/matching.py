"""How well a piece of a page covers a question: weighted lexical coverage, refined by the encoder."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent.readers.extractive.text import stem, tokens

_SYNONYMS: tuple[frozenset[str], ...] = tuple(
    frozenset(stem(word) for word in group.split())
    for group in (
        "percentage percent proportion share rate",
        "increase rise grow growth gain higher",
        "decrease decline fall drop reduce lower reduction",
        "revenue revenues sales",
        "income profit earnings",
        "company corporation firm",
        "author authors we our",
        "purchase buy acquire acquisition",
        "phone telephone tel mobile",
        "picture figure image photo photograph",
        "chart graph figure",
        "highest largest biggest most top",
        "lowest smallest least",
        "student students undergraduate",
        "worker employee staff personnel",
        "male men man",
        "female women woman",
        "older elder senior",
        "young youth",
        "republican republicans rep gop",
        "democrat democrats dem democratic",
        "repurchase repurchased buyback",
        "usd dollar dollars",
        "location city place venue",
        "start begin commence",
        "component consist comprise compose part element",
        "geography geographic region country",
        "end finish",
    )
)
_ALIKE: dict[str, frozenset[str]] = {}
for _group in _SYNONYMS:
    for _word in _group:
        _ALIKE[_word] = _ALIKE.get(_word, frozenset()) | _group


def stem_set(text: str) -> frozenset[str]:
    """The stems of a text as a set; a hyphenated or possessive word counts by its parts."""
    return frozenset(stem(t) for t in tokens(text))


def present(wanted: str, got: frozenset[str]) -> float:
    """1 where the stem occurs, 0.7 where a synonym does, 0.6 where six letters are the same."""
    if wanted in got:
        return 1.0
    if not _ALIKE.get(wanted, frozenset()).isdisjoint(got):
        return 0.7
    if len(wanted) >= 6 and any(g[:6] == wanted[:6] for g in got):
        return 0.6
    return 0.0


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each stem of a question counts: rarer ones on the pages read count more."""

    of: Mapping[str, float]

    @classmethod
    def over(cls, wanted: Iterable[str], pieces: Sequence[frozenset[str]]) -> "Weights":
        """Inverse document frequency over pieces of pages; a stem that occurs nowhere is the rarest."""
        counts: Counter[str] = Counter()
        asked = set(wanted)
        for piece in pieces:
            counts.update(asked & piece)
        total = len(pieces)
        return cls({s: math.log(1 + (total + 1) / (counts[s] + 1)) for s in asked})

    def coverage(self, fields: Sequence[tuple[float, frozenset[str]]]) -> float:
        """Share of the question's weight found in `(weight, stems)` fields, each stem by its best field."""
        whole = sum(self.of.values())
        if not whole:
            return 0.0
        got = 0.0
        for wanted, weight in self.of.items():
            got += weight * max((w * present(wanted, stems) for w, stems in fields), default=0.0)
        return got / whole


def covered(wanted: Iterable[str], text: str) -> float:
    """Plain share of stems that a text covers, 0 to 1; 1 where nothing is wanted."""
    asked = list(wanted)
    if not asked:
        return 1.0
    got = stem_set(text)
    return sum(present(w, got) for w in asked) / len(asked)
