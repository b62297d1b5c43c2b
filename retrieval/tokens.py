"""Text to search terms: the same for pages and queries.

Unicode is normalized (NFKC, accents dropped, case folded), numbers lose their thousands separators, a fiscal
year loses its letters (FY2021, FY21 and F2021 -> 2021; Q2'2023 and Q22023 -> q2 2023), words broken at a
line's end are joined, and words are lightly stemmed (plurals, -ing, -ed). Scripts written
without spaces give pairs of characters.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before being
    below between both but by can could did do does doing down during each few for from further had has
    have having he her here hers him his how i if in into is it its itself just me more most my no nor
    not of off on once only or other our ours out over own same she should so some such than that the
    their theirs them then there these they this those through to too under until up upon us very was we
    were what when where which while who whom whose why will with would you your yours according answer
    question please many much give tell based using use following document shown show""".split()
)

_PIECE = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:[&'’][^\W\d_]+)*|[^\W_]+")
_FISCAL = re.compile(r"^(?:fy|f|cy)['’]?(\d{4}|\d{2})$|^(\d{4})fy$", re.IGNORECASE)
_QUARTER = re.compile(
    r"^(?:([1-4])q|q([1-4]))['’]?[-/]?(\d{4}|\d{2})?$|^q([1-4])fy['’]?(\d{4}|\d{2})$", re.IGNORECASE
)
_NO_SPACES = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_VOWEL = re.compile(r"[aeiouy]")


def words_to_terms(words: Sequence[str]) -> list[str]:
    """Terms of words in reading order; a word ending in a hyphen is joined with a next one in lower case."""
    terms: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        if len(word) > 2 and word[-1] in "-\u00ad\u2010" and word[-2].isalpha() and i + 1 < len(words):
            following = words[i + 1]
            if following[:1].islower():
                terms.extend(word_terms(word[:-1] + following))
                i += 2
                continue
        terms.extend(word_terms(word))
        i += 1
    return terms


def text_terms(text: str) -> list[str]:
    """Terms of a text, in order, stop words kept."""
    return words_to_terms(text.split())


def content_terms(terms: Iterable[str]) -> list[str]:
    """The terms without stop words, in order, each once."""
    return list(dict.fromkeys(t for t in terms if t not in STOP_TERMS))


@lru_cache(maxsize=1 << 17)
def word_terms(word: str) -> tuple[str, ...]:
    """Terms of one word as a page prints it, such as `(1,577)`, `Q2'2023`, `year-over-year`."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", word))
    plain = "".join(c for c in plain if not unicodedata.combining(c)).casefold()
    special = _period_terms(plain.strip(".,;:()[]\"'’?!"))
    if special:
        return special
    terms: list[str] = []
    for piece in _PIECE.findall(plain):
        if piece[0].isdigit() and not piece.isalpha():
            terms.extend(_number_terms(piece))
        elif _NO_SPACES.search(piece):
            terms.extend(piece[i : i + 2] for i in range(max(1, len(piece) - 1)))
        else:
            terms.append(stem(piece))
    return tuple(terms)


def _period_terms(word: str) -> tuple[str, ...]:
    fiscal = _FISCAL.match(word)
    if fiscal:
        return (_full_year(fiscal[1] or fiscal[2]),)
    quarter = _QUARTER.match(word)
    if quarter:
        number, year = quarter[1] or quarter[2] or quarter[4], quarter[3] or quarter[5]
        return (f"q{number}", _full_year(year)) if year else (f"q{number}",)
    return ()


def _full_year(year: str) -> str:
    return year if len(year) == 4 else f"20{year}"


def _number_terms(piece: str) -> list[str]:
    """A number without thousands separators; what is no number (`10k`, `4.16.2`) stays as it is."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", piece):
        piece = piece.replace(",", "")
    if "," in piece:
        return [p for p in piece.split(",") if p]
    return [piece]


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Drops a possessive, a plural ending, then -ing or -ed where a stem with a vowel is left."""
    word = re.sub(r"['’]s?$", "", word)
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        if word.endswith("ies") and len(word) > 4:
            word = word[:-3] + "y"
        elif word.endswith(("xes", "ches", "shes", "sses", "zes")):
            word = word[:-2]
        else:
            word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word[: -len(ending)]
        if word.endswith(ending) and len(rest) > 2 and _VOWEL.search(rest):
            if rest[-1] == rest[-2] and rest[-1] not in "lsz":
                return rest[:-1]
            word = rest
            break
    if len(word) > 4 and word.endswith("e"):
        word = word[:-1]
    return word


STOP_TERMS = frozenset(term for word in STOP_WORDS for term in word_terms(word)) | STOP_WORDS
