"""Verification of a fact: every number, date, name and quoted phrase of it is looked for on its page."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.forms import CURRENCIES, Day, Printed, dates, folded, printed_numbers
from agent.matching import MIN_SHARE, Match, PageText, is_number, runs, token, tokens
from agent.types import Support
from indexes.plain import plain

FEW = 0.8  # share of a statement's words that the page must hold where no quote was found
HALF = 0.5  # the same for a statement with a number of more than three digits, which stands there

_FACTORS = (1e3, 1e6, 1e9)
_WORD = re.compile(r"\S+")
_PHRASE = re.compile(r"[“„«\"]([^“”„«»\"]{1,300})[”“»\"]|[「『]([^「」『』]{1,300})[」』]")
_LOSS = re.compile(
    r"\b(?:loss|decreas|declin|fell|fall|drop|lower|reduc|down|negative|deficit|less|minus|outflow|used|paid|pay|"
    r"purchas|repurchas|repa[iy]|expen[sd]|cost|charge|spen[dt]|depreciat|amorti[sz]|impair|dividend|accumulated)",
    re.IGNORECASE,
)
"""Words that say in letters what parentheses or a minus sign say in a table."""
_FUNCTION_WORDS = frozenset(
    "a an the in on at of for from by with as to and or but if is are was were be been it its this that "
    "these those there here he she they we our his her their total during after before between under over "
    "both all each every no not when while where which who according".split()
)
_SAID_ANYWHERE = _FUNCTION_WORDS | frozenset(
    "were been than from with this that have about than approximately roughly thousand million billion "
    "trillion percent dollars".split()
)
_UNITS = (
    {"kg", "kilogram", "kilograms"},
    {"lb", "lbs", "pound", "pounds"},
    {"t", "ton", "tons", "tonne", "tonnes", "mt"},
    {"km", "kilometer", "kilometers", "kilometre", "kilometres"},
    {"mi", "mile", "miles"},
    {"m", "meter", "meters", "metre", "metres"},
    {"ft", "foot", "feet"},
    {"kwh"},
    {"mwh"},
    {"gwh"},
    {"kw"},
    {"mw"},
    {"gw"},
    {"day", "days"},
    {"week", "weeks"},
    {"month", "months"},
    {"year", "years", "yr", "yrs"},
    {"hour", "hours", "hr", "hrs"},
    {"share", "shares"},
    {"employee", "employees"},
    {"basis", "bps", "bp"},
)
_UNIT = {word: names for names in _UNITS for word in names}


@dataclass(frozen=True, slots=True)
class Verified:
    """How a page bears a fact out, and what of the fact it does not say."""

    support: Support
    missing: tuple[str, ...] = ()


def verify_fact(
    text: str,
    quote: str,
    page: PageText,
    match: Match | None,
    *,
    visual: bool = False,
    counted: Iterable[float] = (),
) -> Verified:
    """How the page's words bear a statement out.

    `exact`: its quote stands there word by word, and so does every number, date, name and quoted phrase of
    the statement, in whatever form; a number may be in the scale that the page states.
    `approximate`: the quote is there but for slips or in another order, or a name is worded otherwise, or a
    number is rounded, rescaled without the page saying so, of another sign or unit, or counted.
    `visual`: it rests on a picture, which words can't confirm. `none`: nothing on the page says so.

    Args:
        text: the statement.
        quote: the page's words that are said to bear it out; empty where none were given.
        page: the page.
        match: where the quote was found.
        visual: whether the fact points at a picture.
        counted: numbers that follow from what the fact points at.
    """
    missing: list[str] = []
    level = 2
    plain_text, counted = folded(text), frozenset(counted)
    days, telling = dates(plain_text), False
    for day in days:
        found = _date_stands(day, plain_text, page)
        if not found:
            missing.append(plain_text[day.start : day.end])
        level = min(level, found)
    known: dict[tuple[object, ...], int] = {}
    for number in printed_numbers(plain_text):
        if any(day.start < number.end and number.start < day.end for day in days):
            continue
        key = number.text, number.negative, number.scale, plain_text[number.end : number.end + 14]
        if key not in known:
            known[key] = _number_stands(number, plain_text, page, counted)
            if not known[key]:
                missing.append(number.text)
        telling = telling or len(number.text.strip("0")) > 3
        level = min(level, known[key])
    for phrase in dict.fromkeys(map("".join, _PHRASE.findall(text))):
        found = _phrase_stands(phrase, quote, page, match)
        if not found:
            missing.append(f"“{plain(phrase, 60)}”")
        level = min(level, found)
    names = _absent_names(plain_text, page, days)
    support = _support((text, quote), page, match, visual, (level, not names, telling))
    return Verified(support, tuple(missing) + (tuple(names) if support != "exact" else ()))


def _support(
    said: tuple[str, str], page: PageText, match: Match | None, visual: bool, stands: tuple[int, bool, bool]
) -> Support:
    (text, quote), (level, names, telling) = said, stands
    if match is not None and level:
        return "exact" if match.exact and level == 2 and names else "approximate"
    if match is None and visual:
        return "visual"
    told = ((token(word), runs(word)) for word in text.split())
    content = [t for t in told if len(t[0]) > 3 and not is_number(t[0]) and t[0] not in _SAID_ANYWHERE]
    stand = sum(t in page.known or page.known.issuperset(parts) for t, parts in content)
    share = stand / len(content) if content else float(telling)
    enough = FEW if not telling else HALF
    return "approximate" if not quote and level and names and share >= enough else "none"


def _phrase_stands(phrase: str, quote: str, page: PageText, match: Match | None) -> int:
    """2 where a quoted phrase stands on the page word by word or within words, 1 where nearly, else 0.

    What stands in the fact's own quote stands on the page where the quote does. A phrase that is a number
    stands where the number does, such as one of two in `=X(1,42)`.
    """
    if not tokens(phrase):
        return 2
    near = page.find(phrase)
    if near is not None and near.exact:
        return 2
    told, said = runs(quote), runs(phrase)
    if match is not None and match.exact and not any(map(is_number, said)):
        if any(told[i : i + len(said)] == said for i in range(len(told) - len(said) + 1)):
            return 2
    bare = folded(phrase).strip()
    numbers = printed_numbers(bare)
    if (
        len(numbers) == 1
        and numbers[0].text == bare
        and _number_stands(numbers[0], bare, page, frozenset()) == 2
    ):
        return 2
    return int(near is not None)


def _number_stands(number: Printed, text: str, page: PageText, counted: frozenset[float]) -> int:
    """2 where a number is printed on the page in any form, 1 where it is rounded or counted, else 0."""
    best = max((_same(number, seen, text, page) for seen in candidates(number, page)), default=0)
    if best == 2 or (number.parts and all(part in page.numbers for part in _pieces(number))):
        return 2
    if best or any(value in counted or value in page.spoken for value in number.values):
        return 1
    if number.scale == 1.0 and "," not in number.text and token(number.text) in page.vocabulary:
        return 2
    return int(_near(number, page))


def _near(number: Printed, page: PageText) -> bool:
    """Whether a number of the page rounds to the fact's, or is it in a scale that one leaves out."""
    value = number.values[0]
    half = 0.5 * 10.0**-number.places if number.places or number.scale != 1.0 else 0.0
    ours = (number.scale,) if number.scale != 1.0 else (1.0, *_FACTORS)
    for other, printed in page.numbers.items():
        for scale in {seen.scale for seen in printed}:
            theirs = (scale,) if scale != 1.0 else (1.0, *(page.scales or _FACTORS))
            for mine in ours:
                slack = half * mine * (1 + 1e-9) + 1e-9 * abs(value * mine)
                if any(abs(value * mine - other * factor) <= slack for factor in theirs):
                    return True
    return False


def _pieces(number: Printed) -> list[float]:
    """The numbers that a space or a comma may divide."""
    return [float(piece) for piece in re.split("[ ,]", number.text)]


def candidates(number: Printed, page: PageText) -> list[tuple[Printed, float]]:
    """The page's numbers that may mean the same, with the factor by which they do."""
    found = []
    # With a scale named after it, `1.577` is no thousand and more.
    for value in number.values[: 1 if number.scale != 1.0 else None]:
        wanted = value * number.scale
        for factor in {1.0, number.scale, *page.scales, *_FACTORS}:
            key = round(wanted / factor, 9)
            found += [(seen, factor) for seen in page.numbers.get(key, ())]
    return found


def _same(number: Printed, candidate: tuple[Printed, float], text: str, page: PageText) -> int:
    """How far a number of the page is the fact's: scale, sign, percent, currency and unit."""
    seen, factor = candidate
    scaled = seen.scale == factor if seen.scale != 1.0 else factor == 1.0 or factor in page.scales
    # A fact that names no scale may repeat the digits alone.
    bare = number.scale == 1.0 and factor == 1.0
    if not scaled and not bare:
        # The digits are there; the scale is not, or another one is.
        return int(seen.scale == 1.0 and not page.scales)
    level = 2
    if number.negative and not seen.negative:
        level = 1
    if seen.negative and not number.negative and not _LOSS.search(text):
        level = 1
    if number.percent and not seen.percent and "%" not in page.plain and "percent" not in page.vocabulary:
        level = 1
    if number.currency and page.currencies and number.currency not in page.currencies:
        level = 1
    after = text[number.end : number.end + 14]
    unit = None if after[:1] != " " else _UNIT.get(after.strip().split(" ")[0].strip(".,;:)").lower())
    if unit is not None and not unit & page.known:
        level = 1
    return level


def _date_stands(day: Day, text: str, page: PageText) -> int:
    """2 where the page says a date in any form, 1 where it says its parts, else 0."""
    seen = {reading for other in page.days for reading in other.readings}
    printed = {reading for reading in seen if reading[0] == 0}
    best = 0
    dated = {reading for reading in day.readings if reading[0]} or day.readings
    for year, month, date in dated:
        if (year, month, date) in seen:
            return 2
        if not year:  # a day of any year
            best = max(best, 2 * any(r[1:] == (month, date) for r in seen))
        elif not date:  # a month
            best = max(best, 2 * any(r[:2] == (year, month) for r in seen))
            best = max(best, int(float(year) in page.numbers and any(r[1] == month for r in seen)))
        elif (0, month, date) in printed and float(year) in page.numbers:
            best = 2  # "At December 31," over the years of a table
    return 2 if page.holds("".join(tokens(text[day.start : day.end]))) else best


def _absent_names(text: str, page: PageText, days: Sequence[Day]) -> list[str]:
    """The capitalized words of a statement that are not on the page, but a first word that is no name."""
    absent = []
    for match in _WORD.finditer(text):
        word = match[0].lstrip("([\"'“‘")
        name, bare = token(word), token(re.sub(r"'s?\W*$", "", word))
        if not word[:1].isupper() or is_number(name) or any(d.start <= match.start() < d.end for d in days):
            continue
        if match.start() == 0 and name in _FUNCTION_WORDS:
            continue
        if CURRENCIES.get(name) in page.currencies:
            continue
        stands = {name, bare} & page.known or (len(bare) > 3 and page.holds(bare))
        if not stands and not page.known.issuperset(runs(word)):
            absent.append(word.strip("()[].,;:'\""))
    return absent


def pieced_together(quote: str, page: PageText, words: Iterable[int]) -> Match | None:
    """A quote put together from the words that a reader pointed at, which stand apart on the page."""
    inside = [page.tokens[i] for i in sorted(words)]
    told = tokens(quote)
    if told and "".join(told) in "".join(inside):
        return Match((), exact=True)
    left = Counter(told) - Counter(inside)
    few = sum(left.values()) <= (1 - MIN_SHARE) * len(told)
    return Match((), exact=False) if told and few and not any(map(is_number, left)) else None
