"""Numbers and dates as they are printed: one value, many forms.

`1,577`, `1 577`, `1.577`, `1'577` and `1577` are one number, `(1,577)` and `−1,577` another, and in a table
"in millions" it is 1.577 billion. 31 December 2022, December 31st, 2022, 2022-12-31 and 12/31/2022 are one
day.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_GROUPED = r"\d{1,3}(?P<sep>[,.' ])\d{3}(?:(?P=sep)\d{3}){0,6}(?:(?!(?P=sep))[.,]\d{1,12})?(?![\d']|[.,]\d)"
_NUMBER = re.compile(
    rf"(?<![\d.])(?:{_GROUPED}|\d{{1,3}}(?:,\d{{2}}){{1,6}},\d{{3}}(?!\d)|\d{{1,30}}(?:[.,]\d{{1,30}})?|\.\d{{1,30}})"
)
_SIGNS = str.maketrans(dict.fromkeys("−‒–﹣－", "-") | dict.fromkeys("’‘ʼ´`", "'"))
_BEFORE = re.compile(r"(?P<sign>-|\( ?)?(?P<currency>US\$|[$€£¥₹]|\b[A-Z]{3}(?= ))? ?(?P<inner>-|\( ?)?$")
_CLOSED = re.compile(r" ?(?:%|percent)? ?\)")
_AFTER = re.compile(
    r"\s?(?:(?P<scale>thousand|million|billion|trillion|mn\b|bn\b|[mkMK](?![\w²³]))s?)?\s?"
    r"(?P<percent>%|percent\b|per cent\b|pct\b)?",
    re.IGNORECASE,
)
SCALES = {
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "mn": 1e6,
    "bn": 1e9,
    "m": 1e6,
    "k": 1e3,
}
_STATED = re.compile(
    r"\b(?P<word>thousand|million|billion|trillion)s\b(?! of\b)|"
    r"\b(?:in|of) (?P<of>thousand|million|billion|trillion)\b|"
    r"(?:[$€£¥]|\b(?:USD|EUR|GBP|JPY|CHF|CNY|INR|RMB)) ?(?P<money>million|billion|thousand|mn|bn|m|k)\b|"
    r"(?P<zeros>\b000s\b|'000)",
    re.IGNORECASE,
)
CURRENCIES = {"us$": "$", "usd": "$", "eur": "€", "gbp": "£", "jpy": "¥", "cny": "¥", "rmb": "¥", "inr": "₹"}
_CURRENCY = re.compile(r"[$€£¥₹]|\b(?:USD|EUR|GBP|JPY|CNY|RMB|INR)\b")

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH_NUMBER = {name[:n]: i for i, name in enumerate(_MONTHS, 1) for n in (3, len(name))} | {"sept": 9}
_MONTH = (
    r"(?P<month>(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?|May\b|"
    + "|".join(rf"{name.capitalize()}\b" for name in _MONTHS)
    + "|"
    + "|".join(rf"{name.upper()}\b" for name in _MONTHS)
    + ")"
)
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:1[5-9]|20)\d\d)(?![\d,.]\d|\d)"
_ANOTHER = re.compile(r",? (?:and |or )?(?:1[5-9]|20)\d\d(?![\d,.]\d|\d)")
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<![\d.,]){_DAY}[ /-]?(?:of )?{_MONTH},?[ /-]?{_YEAR}",
        rf"\b{_MONTH}[ /-]?{_DAY}(?!\d),?[ /-]?{_YEAR}",
        rf"\b{_MONTH},?[ /-](?:of )?{_YEAR}",
        rf"(?<![\d.,]){_DAY} (?:of )?{_MONTH}",
        rf"\b{_MONTH} {_DAY}(?![\d%]|[.,]\d)",
    )
)
_DIGITS = re.compile(
    r"(?<![\d./-])(?:(?P<iso>(?:1[5-9]|20)\d\d)(?P<s1>[-/.])(?P<m>\d\d?)(?P=s1)(?P<d>\d\d?)|"
    r"(?P<a>\d\d?)(?P<s2>[-/.])(?P<b>\d\d?)(?P=s2)(?P<y>(?:1[5-9]|20)\d\d|\d\d))(?!\d|[/-]\d)"
)


def folded(text: str) -> str:
    """The text with compatibility forms, minus signs and apostrophes made plain: `１，２` is `1,2`."""
    return unicodedata.normalize("NFKC", text).translate(_SIGNS)


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as it is printed.

    Attributes:
        values: what its digits may mean (`1.577` is 1.577 or 1577), the likeliest first, without signs.
        parts: where spaces divide it, the numbers that it may be instead.
        places: printed decimals of the first value.
        negative: whether a minus sign or a parenthesis stands before it.
        scale: the factor of a word after it, else 1.
        percent: whether a percent sign or word follows.
        currency: the sign of the currency before it, empty without one.
        text: its digits and separators; it stands at `start` to `end` of the folded text.
    """

    values: tuple[float, ...]
    parts: tuple[float, ...]
    places: int
    negative: bool
    scale: float
    percent: bool
    currency: str
    text: str
    start: int
    end: int


def printed_numbers(text: str) -> list[Printed]:
    """The numbers of a folded text, in order."""
    found = []
    for match in _NUMBER.finditer(text):
        before = _BEFORE.search(text, max(0, match.start() - 8), match.start())
        after = _AFTER.match(text, match.end())
        currency = (before["currency"] or "") if before else ""
        values, places, parts = _read(match[0], match["sep"])
        scale = SCALES[after["scale"].lower()] if after and after["scale"] else 1.0
        if after and after["scale"] and after["scale"].lower() == "m" and len(match[0]) == 1 and not currency:
            scale = 1.0  # the company 3M, five metres
        found.append(
            Printed(
                values=values,
                parts=parts,
                places=places,
                negative=_is_negative(text, match, before),
                scale=scale,
                percent=bool(after and after["percent"]),
                currency=CURRENCIES.get(currency.lower(), currency if len(currency) == 1 else ""),
                text=match[0],
                start=match.start(),
                end=match.end(),
            )
        )
    return found


def _is_negative(text: str, number: re.Match[str], before: re.Match[str] | None) -> bool:
    """Whether a number has a minus sign or stands alone in parentheses; a year or a footnote has none."""
    sign = ((before["sign"] or "") + (before["inner"] or "")) if before else ""
    if not sign or before is None:
        return False
    if "(" in sign:
        closed = _CLOSED.match(text, number.end()) is not None
        return closed and not re.fullmatch(r"(?:19|20)\d\d|\d", number[0])
    at = before.start("inner") if before["inner"] else before.start("sign")
    return not text[at - 1 : at].isalnum()  # a hyphen: 2020-2022, COVID-19


def _read(text: str, sep: str | None) -> tuple[tuple[float, ...], int, tuple[float, ...]]:
    """What printed digits may mean, the decimals of the first meaning, and the parts that spaces make."""
    if sep is None:
        left, comma, right = text.partition(",")
        if not comma:
            return (float(text),), len(text.partition(".")[2]), ()
        if "," in right or len(right) == 3:  # 12,34,567
            return (float(text.replace(",", "")),), 0, ()
        return (float(f"{left}.{right}"),), len(right), (float(left), float(right))  # or a list of two
    tail = re.search(rf"[.,](?<!{re.escape(sep)})(\d+)$", text)
    whole = text[: tail.start()] if tail else text
    decimals = tail[1] if tail else ""
    value = float(whole.replace(sep, "") + "." + (decimals or "0"))
    if sep == " ":
        pieces = whole.split(" ")
        spans = [pieces[i:j] for i in range(len(pieces)) for j in range(i + 1, len(pieces) + 1)]
        ends = "." + decimals if decimals else ""
        parts = [float("".join(span) + (ends if span[-1] is pieces[-1] else "")) for span in spans]
        return (value,), len(decimals), tuple(parts)
    if sep == "." and not decimals and text.count(".") == 1:
        return (float(text), value)[: 1 + (text[0] != "0")], 3, ()  # 1.577 may be either
    return (value,), len(decimals), ()


def stated_scales(text: str) -> frozenset[float]:
    """The factors that a page says its numbers are in: `in millions`, `(Thousands)`, `$ bn`, `'000`."""
    found = set()
    for match in _STATED.finditer(text):
        word = match["word"] or match["of"] or match["money"]
        found.add(SCALES[word.lower()] if word else 1e3)
    return frozenset(found)


def currencies(text: str) -> frozenset[str]:
    """The currencies that a text names, as signs."""
    return frozenset(CURRENCIES.get(match[0].lower(), match[0]) for match in _CURRENCY.finditer(text))


@dataclass(frozen=True, slots=True)
class Day:
    """A date in a text: its possible `(year, month, day)`, a part that is not said being 0."""

    readings: frozenset[tuple[int, int, int]]
    start: int
    end: int


def dates(text: str) -> list[Day]:
    """The dates of a folded text, in order: days, months of a year, days without a year."""
    taken = bytearray(len(text))
    found = []
    for day in [*_written(text), *_numeric(text)]:
        if not any(taken[day.start : day.end]):
            taken[day.start : day.end] = b"\1" * (day.end - day.start)
            found.append(day)
    return sorted(found, key=lambda day: day.start)


def _written(text: str) -> Iterator[Day]:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            reading = (
                int(parts.get("year") or 0),
                _MONTH_NUMBER[match["month"].rstrip(".").lower()],
                int(parts.get("day") or 0),
            )
            if reading[2] > 31 or (not reading[2] and parts.get("day")):
                continue
            # "December 31, 2022 2021": the day stands over the years of a table's columns.
            more = {(0, *reading[1:])} if reading[2] and _ANOTHER.match(text, match.end()) else set()
            yield Day(frozenset({reading, *more}), match.start(), match.end())


def _numeric(text: str) -> Iterator[Day]:
    for match in _DIGITS.finditer(text):
        if match["iso"]:
            readings = {(int(match["iso"]), int(match["m"]), int(match["d"]))}
        else:
            a, b, year = int(match["a"]), int(match["b"]), int(match["y"])
            years = (year,) if year > 99 else (2000 + year, 1900 + year)
            readings = {(y, *pair) for y in years for pair in ((a, b), (b, a))}
        real = frozenset(r for r in readings if 1 <= r[1] <= 12 and 1 <= r[2] <= 31)
        if real:
            yield Day(real, match.start(), match.end())
