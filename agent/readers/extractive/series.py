"""Series in a sentence: `was $2.4 billion and $3.0 billion as of December 31, 2016 and 2017`."""

import re
from collections.abc import Sequence

from agent.readers.extractive.text import Number, numbers

_YEARS = re.compile(
    r"(?:19|20)\d\d(?:\s*+(?:,\s*+)?(?:and|or|to|,)\s*+(?:(?:fiscal|in|\w+ \d{1,2},?)\s*+)?(?:19|20)\d\d)+"
)
_BETWEEN = re.compile(
    r"\s*+(?:(?:thousand|million|billion|percent|shares|%)\s*+)?(?:\([^()]*\)\s*+)?(?:,\s*+)?"
    r"(?:(?:and|or|to|compared (?:to|with)|from)\s*+)?(?:(?:approximately|about)\s*+)?(?:US)?[$€£¥]?\s*+"
)


def by_year(text: str) -> dict[int, list[Number]]:
    """The numbers of a sentence by year, where a series of numbers goes with a series of years as long."""
    found: dict[int, list[Number]] = {}
    named = [[int(y) for y in re.findall(r"(?:19|20)\d\d", m.group())] for m in _YEARS.finditer(text)]
    if not named:
        return found
    for run in _runs(text, [n for n in numbers(text) if not is_year(n) and not _is_day(text, n)]):
        for series in named:
            if len(series) == len(run):
                for year, number in zip(series, run, strict=True):
                    found.setdefault(year, []).append(number)
                break
    return found


def is_year(number: Number) -> bool:
    """True for a number that is printed as years are."""
    whole = number.value == int(number.value) and 1900 <= number.value <= 2099
    return whole and "," not in number.text and not number.percent and not number.currency


def _is_day(text: str, number: Number) -> bool:
    return number.value <= 31 and bool(
        re.search(r"\b[A-Z][a-z]{2,8}\.? $", text[max(0, number.start - 12) : number.start])
    )


def _runs(text: str, found: Sequence[Number]) -> list[list[Number]]:
    """Numbers that follow each other with nothing but commas, `and` and units between them; two or more."""
    runs: list[list[Number]] = []
    for number in found:
        last = runs[-1][-1] if runs else None
        if (
            last is not None
            and _BETWEEN.fullmatch(text[last.end : number.start])
            and last.percent == number.percent
        ):
            runs[-1].append(number)
        else:
            runs.append([number])
    return [run for run in runs if len(run) >= 2]
