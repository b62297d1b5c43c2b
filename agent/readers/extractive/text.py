"""Words, stems, numbers and years: what the extractive reader compares."""

import re
import unicodedata
from dataclasses import dataclass

STOPWORDS = frozenset(
    """a about above according across after all also am among an and any answer answered answers are as ask
    at be been being below between both but by can could describe did directly do does doing during
    each either for form format from give given gives had has have having he her here his how
    however i if in include included includes including integer into is it its list listed many me
    mention mentioned mentions most much name named neither nor not of on once only or other our out
    over paper per please provide provided question regarding respectively return same say says
    shall she should show showed shown shows since so some such tell than that the their them then
    there these they this those through to total under until up use used using very was we were what
    when where whether which while who whom whose why will with within without would write writh you
    your document report slide slides brochure guidebook present presented based s t number float
    string example eg ie etc directly value exact""".split()
)

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*%?|[^\W\d_]+(?:[’'][^\W\d_]+)?", re.UNICODE)
_YEAR = re.compile(r"(?<![\d.,$])(?:(?:19|20)\d\d)(?![\d,]|\.\d|%)")
_FISCAL = re.compile(
    r"\b(?:FY|fiscal(?: year)?|F|Q[1-4](?: of)?)\s*['’]?((?:19|20)\d\d|\d\d)\b", re.IGNORECASE
)
_NUMBER = re.compile(
    r"(?:(?P<open>\()\s*+)?(?:(?P<sign>[-−–])\s*+)?(?:(?P<currency>US\$|[$€£¥])\s*+)?(?P<minus>[-−–])?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:\s*+(?P<percent>%))?"
)
_GOES_ON = re.compile(r"[^\W\d_]|[-/.]\d|,\d")
_CLOSED = re.compile(r"\s*\)")
_SCALE = re.compile(r"\s*(thousand|million|billion|trillion)s?\b", re.IGNORECASE)
_PERCENT = re.compile(r"\s*(?:percent|per cent)\b")
SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
NUMBER_WORDS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen".split()
    )
}


def fold(text: str) -> str:
    """Lower case, compatibility forms resolved (ligatures, wide letters), dashes and quotes made plain."""
    text = unicodedata.normalize("NFKC", text).translate(_PLAIN)
    return text.lower()


_PLAIN = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "‐": "-", "‑": "-"}
)


def tokens(text: str) -> list[str]:
    """The words and numbers of a text, folded; thousands separators and `'s` dropped."""
    found = []
    for match in _TOKEN.finditer(fold(text)):
        token = match.group()
        if token[0].isdigit():
            token = token.replace(",", "").rstrip("%")
        elif token.endswith("'s"):
            token = token[:-2]
        found.append(token.replace("'", ""))
    return found


def stem(token: str) -> str:
    """A light English stemmer: plurals, -ing, -ed, -ly; good enough to match a word with its inflections."""
    if len(token) <= 3 or token[0].isdigit():
        return token
    if token.endswith("ies") and len(token) > 4:
        return token[:-3] + "y"
    if token.endswith(("sses", "shes", "ches", "xes", "zes")):
        token = token[:-2]
    elif token.endswith("s") and not token.endswith(("ss", "us", "is")):
        token = token[:-1]
    for ending in ("ing", "ed", "ly"):
        if token.endswith(ending) and len(token) - len(ending) >= 4:
            token = token[: -len(ending)]
            if token[-1] == token[-2] and token[-1] not in "lsz":
                token = token[:-1]
            break
    return token[:-1] if token.endswith("e") and len(token) > 4 else token


def stems(text: str) -> list[str]:
    """The stems of a text's words, in order, stop words kept."""
    return [stem(t) for t in tokens(text)]


def content(text: str) -> list[str]:
    """The stems of a text's content words, in order and without repetition."""
    found = (t for t in tokens(text) if t not in STOPWORDS and t not in ("fy", "fiscal"))
    return list(dict.fromkeys(stem(t) for t in found))


def years(text: str) -> tuple[int, ...]:
    """The years a text names, in order, without repetition; `FY19` is 2019."""
    found: list[tuple[int, int]] = [(m.start(), int(m.group())) for m in _YEAR.finditer(text)]
    for match in _FISCAL.finditer(text):
        digits = match.group(1)
        found.append((match.start(), int(digits) if len(digits) == 4 else 2000 + int(digits)))
    return tuple(dict.fromkeys(year for _, year in sorted(found) if 1900 <= year <= 2099))


def last_year(text: str) -> int | None:
    """The year that a text names last; the lowest line of a column's header is the nearest to the cell."""
    found = [int(m.group()) for m in _YEAR.finditer(text)]
    return found[-1] if found else (years(text) or (None,))[-1]


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it stands in a text.

    Attributes:
        value: as printed, sign applied (a number in parentheses is negative), scale words not applied.
        text: as printed, without the parentheses of a negative.
        percent: True where a percent sign follows.
        currency: the sign before it, or empty.
        scale: the factor of a scale word after it (`3.0 billion`: 1e9), else 1.
        start: its first character.
        end: the character after its last.
    """

    value: float
    text: str
    percent: bool
    currency: str
    scale: float
    start: int
    end: int


def numbers(text: str) -> list[Number]:
    """The numbers of a text in order; digits inside a word (`10K`, `Q3`, `iOS9`) are none."""
    found = []
    for match in _NUMBER.finditer(text):
        start, end = match.span("digits")
        before = text[max(0, start - 2) : start]
        if before[-1:].isalpha() or _GOES_ON.match(text, end):
            continue
        if before.endswith(("/", ".")) or re.fullmatch(r"\w-", before):
            continue
        negative = bool(match["sign"] or match["minus"])
        if match["open"] and not match["percent"] and _CLOSED.match(text, end):
            negative = True
        value = float(match["digits"].replace(",", ""))
        scale = _SCALE.match(text, end)
        percent = bool(match["percent"]) or bool(_PERCENT.match(text, end))
        shown = ("-" if negative else "") + match["digits"] + ("%" if match["percent"] else "")
        found.append(
            Number(
                -value if negative else value,
                shown,
                percent,
                match["currency"] or "",
                SCALES[scale.group(1).lower()] if scale else 1.0,
                start,
                match.end("percent") if match["percent"] else end,
            )
        )
    return found


_REFERENCE = re.compile(
    r"\b(?:tables?|tab|figures?|figs?|charts?|graphs?|exhibits?|sections?|sec|chapters?|appendix|annex|pages?|pp?|"
    r"slides?|notes?|steps?|items?|parts?|articles?|box|volume|vol|no|eq|equation)\b\.? ?[(#]?"
    r"\d+(?:[.-]\d+)*\b(?!%|,\d)",
    re.IGNORECASE,
)
_MARKER = re.compile(r"^\s*(?:\(?\d{1,2}[.)]|\d{1,2}(?:\.\d{1,2})+\.?)(?=\s+\D)")


def without_references(text: str) -> str:
    """The text with blanks for the digits that only name a place: `Table 2`, `page 14`, a list marker `3.`.

    Every other character keeps its place.
    """

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"\d", " ", match.group())

    return _MARKER.sub(blank, _REFERENCE.sub(blank, text))


def shown(value: float, places: int | None = None) -> str:
    """A number as short as it can be: `places` decimals where asked, else no trailing zeros."""
    if places is not None:
        return f"{value:.{places}f}"
    if abs(value - round(value)) < 1e-9:
        return str(round(value))
    digits = 2 if abs(value) >= 10 else 4
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")
