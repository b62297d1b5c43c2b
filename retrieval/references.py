"""What a query names outright: pages, slides, numbered tables, figures and sections, quoted words.

Pure text work; `lookups` finds the named things in a document. Patterns want a number (or first, last,
cover), so "on which page" or "covers the cost" name nothing.
"""

import re
from dataclasses import dataclass
from typing import Literal

Numbering = Literal["label", "physical", "place"]

ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5, "6th": 6, "7th": 7, "8th": 8,
    "9th": 9, "10th": 10,
}  # fmt: skip
NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
LONGEST_RANGE = 40

_END = r"(?!\w|[.,]\d|\s*%)"
_NUMBER = rf"(?:\d{{1,4}}{_END}|[ivxl]{{2,}}\b|[vx]\b|(?:{'|'.join(NUMBERS)})\b)"
_SHEETS = re.compile(
    rf"\b(pages?|pp?\.|slides?)\s*(?:numbers?\s*|no\.\s*|#\s*)?\(?({_NUMBER}"
    rf"(?:\s*(?:(?:-|–|—|to|through|and|&|or|,)\s*)+{_NUMBER})*)",
    re.IGNORECASE,
)
_ORDINAL_SHEET = re.compile(rf"\b({'|'.join(ORDINALS)}|last|final)\s+(page|slide)s?\b", re.IGNORECASE)
_COVER = re.compile(
    r"\b(?:front\s+)?(?:cover|title)\s+(?:page|slide)\b|\bfront\s+cover\b|\bthe\s+cover\b",
    re.IGNORECASE,
)
_KINDS = {
    "table": "Table", "tab.": "Table", "figure": "Figure", "fig.": "Figure", "fig": "Figure",
    "chart": "Chart", "graph": "Graph", "diagram": "Diagram", "exhibit": "Exhibit", "box": "Box",
    "algorithm": "Algorithm", "listing": "Listing", "map": "Map", "appendix": "Appendix", "annex": "Annex",
    "section": "Section", "sec.": "Section", "chapter": "Chapter", "part": "Part", "item": "Item",
    "note": "Note", "schedule": "Schedule", "attachment": "Attachment", "article": "Article",
}  # fmt: skip
_PART = r"(?:[A-Z][.-]?)?\d{1,3}(?:[.-]\d{1,3}){0,3}(?:[A-Za-z])?(?!\w)"
_NAMED = re.compile(
    rf"\b((?i:{'|'.join(re.escape(k) for k in _KINDS)}))(?i:s)?\s*"
    rf"({_PART}|[A-Z](?![\w'’])|[IVX]{{1,5}}(?!\w))"
    rf"(?:\s*(?:,|and|&|or|to|-|–)+\s*({_PART}))?"
)
_PRONOUN = ("Table", "Figure", "Chart", "Graph", "Diagram", "Map", "Box", "Note", "Item")
_ORDINAL_NAMED = re.compile(rf"\b({'|'.join(ORDINALS)})\s+(table|figure|chart|diagram)\b", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“”«‘`]([^\"“”«»‘’`]{3,120})[\"“”»’`]|(?<!\w)'([^']{3,120})'(?!\w)")


@dataclass(frozen=True, slots=True)
class SheetReference:
    """A page or slide by number: `numbers` as written, looked up first as `first` says, then the other way.

    `place` (first page, last page, cover) means the physical page only.
    """

    numbers: tuple[str, ...]
    first: Numbering
    name: str


@dataclass(frozen=True, slots=True)
class NamedReference:
    """A numbered part: `kind` such as `Table` or `Section`, `number` such as `4.16` or `B`."""

    kind: str
    number: str

    @property
    def name(self) -> str:
        """As a person writes it, such as `Table 4.16`."""
        return f"{self.kind} {self.number}"


def sheet_references(query: str, pages: int) -> list[SheetReference]:
    """Pages and slides that the query names; `pages` is how many the document has (for `last page`)."""
    found = []
    for match in _SHEETS.finditer(query):
        first: Numbering = "physical" if match[1].lower().startswith("slide") else "label"
        for numbers, name in _numbers(match[2]):
            found.append(
                SheetReference(numbers, first, f"{'slide' if first == 'physical' else 'page'} {name}")
            )
    for match in _ORDINAL_SHEET.finditer(query):
        word = match[1].lower()
        number = pages if word in ("last", "final") else ORDINALS[word]
        found.append(SheetReference((str(number),), "place", f"{word} {match[2].lower()}"))
    if _COVER.search(query):
        found.append(SheetReference(("1",), "place", "cover"))
    return found


def _numbers(text: str) -> list[tuple[tuple[str, ...], str]]:
    """`3-5 and 9` -> `[(("3", "4", "5"), "3-5"), (("9",), "9")]`."""
    found = []
    for part in re.split(r"(?:(?<!\s)\s+)?(?:,|\band\b|&|\bor\b)\s*", text):
        ends = [
            str(NUMBERS.get(e.lower(), e))
            for e in re.split(r"(?:(?<!\s)\s+)?(?:-|–|—|\bto\b|\bthrough\b)\s*", part)
            if e
        ]
        if len(ends) == 2 and all(e.isdigit() for e in ends):
            low, high = int(ends[0]), int(ends[1])
            if low < high <= low + LONGEST_RANGE:
                found.append((tuple(str(n) for n in range(low, high + 1)), f"{low}-{high}"))
                continue
        found.extend(((end,), end) for end in ends)
    return found


def named_references(query: str) -> list[NamedReference]:
    """Tables, figures, sections and the like that the query names by number, in order, each once."""
    found: list[NamedReference] = []
    for match in _NAMED.finditer(query):
        kind = _KINDS[match[1].lower()]
        if match[2] == "I" and kind in _PRONOUN:  # "in the figure I see"
            continue
        found.extend(NamedReference(kind, n.rstrip(".-")) for n in (match[2], match[3]) if n)
    for match in _ORDINAL_NAMED.finditer(query):
        found.append(NamedReference(_KINDS[match[2].lower()], str(ORDINALS[match[1].lower()])))
    return list(dict.fromkeys(found))


def quotations(query: str) -> list[str]:
    """Words in quotation marks, in order, each once."""
    return list(dict.fromkeys((m[1] or m[2]).strip() for m in _QUOTED.finditer(query)))
