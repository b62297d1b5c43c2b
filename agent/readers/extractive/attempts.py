"""An answer before it is decided whether to give it, and the small tools that all kinds of answers share."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.readers.extractive.extremes import unwrapped
from agent.readers.extractive.matching import covered, stem_set
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.series import by_year, is_year
from agent.readers.extractive.statements import Entry, RowFact, bare, parse_row
from agent.readers.extractive.text import numbers, shown, stem, tokens, without_references, years
from agent.types import Fact

_MONEY = re.compile(
    r"\b(?:spend|spent|cost|costs|pay|paid|price|fee|fees|usd|dollars?|budget|funding|revenue|salary)\b|[$€£]"
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What would be answered.

    Attributes:
        kind: how it was found, such as `formula`, `cell`, `stated count`: a feature of the calibration.
        facts: the facts it rests on, the most important first.
        reason: how it follows from them.
    """

    text: str
    kind: str
    facts: tuple[Fact, ...]
    reason: str
    expression: str | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """A number that a fact states.

    Attributes:
        shown: as printed, without currency and scale words.
        scale: the factor of its scale word, or of its table.
        fit: how well it fits the question within its fact; comparable between numbers of one fact.
    """

    value: float
    shown: str
    percent: bool
    scale: float
    fit: float
    year: int | None


def ordered(facts: Sequence[Fact], part: int | None = None) -> list[Fact]:
    """Facts of a part (of all where None), the highest score first."""
    kept = [f for f in facts if part is None or f.part == part]
    return sorted(kept, key=lambda f: (-f.score, len(f.text), f.id))


OTHER_YEAR = 0.6  # factor of the score of a fact that names years, but none that is asked for


def of_year(facts: Sequence[Fact], analysis: Analysis) -> list[Fact]:
    """Facts, the highest score first, where one that tells of other years only counts less."""
    weight = {f.id: f.score * (OTHER_YEAR if tells_other_year(f, analysis) else 1.0) for f in facts}
    return sorted(ordered(facts), key=lambda f: -weight[f.id])


def tells_other_year(fact: Fact, analysis: Analysis) -> bool:
    """True where the fact names years and the question names others."""
    return names_other_year(fact.text, analysis)


def names_other_year(text: str, analysis: Analysis) -> bool:
    """The same of a fact's text."""
    row = parse_row(unwrapped(text))
    told = {e.year for e in row.entries if e.year} if row else set(years(bare(text)))
    return bool(analysis.years and told and told.isdisjoint(analysis.years))


def row_of(fact: Fact) -> RowFact | None:
    """The row that a fact states, or None."""
    return parse_row(unwrapped(fact.text))


def values(fact: Fact, analysis: Analysis, phrase: str = "") -> list[Value]:
    """The numbers that a fact states, the best fitting first."""
    row = row_of(fact)
    if row is not None:
        found = [_entry_value(e, place, analysis, phrase) for place, e in enumerate(row.entries)]
    else:
        found = _sentence_values(without_references(bare(fact.text)), analysis, phrase)
    return sorted(found, key=lambda v: -v.fit)


def _entry_value(entry: Entry, place: int, analysis: Analysis, phrase: str) -> Value:
    asked = years(phrase) or analysis.years
    fit = 1.0 - 0.05 * place
    if asked and entry.year:
        fit += 0.5 if entry.year in asked else -0.5
    if analysis.percent != entry.percent:
        fit -= 0.1
    return Value(entry.value, entry.shown, entry.percent, entry.scale, fit, entry.year)


def _sentence_values(text: str, analysis: Analysis, phrase: str) -> list[Value]:
    wanted = {stem(t) for t in tokens(phrase)} if phrase else set(analysis.content)
    words = [(stem(t), text.lower().find(t)) for t in tokens(text)]
    asked_year = "year" in analysis.target or "when" in analysis.text.lower().split()[:1]
    found = []
    asked = years(phrase) or analysis.years
    wants_money = bool(_MONEY.search(analysis.text.lower())) or bool(analysis.scale)
    dated = {(n.start, n.end): year for year, ns in by_year(text).items() for n in ns}
    for number in numbers(text):
        if is_year(number) and not asked_year:
            continue
        if stem(number.text.replace(",", "")) in wanted:
            continue
        near = sum(1 / (8 + abs(at - number.start)) for s, at in words if s in wanted and at >= 0)
        fit = 10 * near + (0.5 if analysis.percent == number.percent else 0.0)
        fit += 0.3 if wants_money == bool(number.currency) else 0.0
        year = dated.get((number.start, number.end))
        if year and asked:
            fit += 2.0 if year in asked else -2.0
        found.append(Value(number.value, number.text, number.percent, number.scale, fit, year))
    return found


def written(value: Value, analysis: Analysis) -> str:
    """A value as the question wants it: in its unit, with its decimals, a percentage with its sign."""
    amount = abs(value.value) if _MONEY.search(analysis.text.lower()) else value.value
    if analysis.scale and not value.percent and (value.scale > 1 or abs(amount) >= analysis.scale):
        amount = amount * value.scale / analysis.scale
        return shown(amount, analysis.places)
    if value.percent or (analysis.percent and abs(amount) <= 100 and analysis.form != "int"):
        return f"{shown(amount, analysis.places)}%" if analysis.form != "int" else shown(amount)
    return shown(amount, analysis.places)


def rounded(value: float, analysis: Analysis, places: int) -> str:
    """A computed number with the decimals asked for, else with `places`, and without them where all are 0."""
    if analysis.places is not None:
        return shown(value, analysis.places)
    text = shown(value, places)
    whole, _, decimals = text.partition(".")
    return text if decimals.strip("0") or analysis.form == "float" else whole


__all__ = [
    "Attempt",
    "Value",
    "covered",
    "of_year",
    "ordered",
    "rounded",
    "row_of",
    "stem_set",
    "tells_other_year",
    "values",
    "written",
]
