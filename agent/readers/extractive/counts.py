"""Answers to `how many`: counted on pages, stated in a sentence, the items of a list."""

from collections.abc import Sequence

from agent.readers.extractive.attempts import Attempt, of_year, ordered, row_of, tells_other_year, values
from agent.readers.extractive.counting import counted_kind, counted_names, read_count
from agent.readers.extractive.lists import read_list
from agent.readers.extractive.matching import covered
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.series import by_year
from agent.readers.extractive.statements import Entry, RowFact, bare
from agent.readers.extractive.text import (
    NUMBER_WORDS,
    STOPWORDS,
    fold,
    numbers,
    stem,
    tokens,
    without_references,
    years,
)
from agent.types import Fact, Plan


def counted(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """Things counted page by page while reading, added up; a thing that several pages name counts once."""
    if not counted_kind(analysis):
        return None
    counts = [(fact, count) for fact in facts if (count := read_count(fact.text)) is not None]
    if analysis.pages:
        counts = [(f, c) for f, c in counts if c[0] in _page_range(analysis)]
    if not counts:
        return None
    kept: list[tuple[Fact, int]] = []
    names: set[str] = set()
    for fact, (_, stated) in counts:
        fresh = set(counted_names(fact.text)) - names
        names |= fresh
        number = len(fresh) if counted_names(fact.text) else stated
        if number:
            kept.append((fact, number))
    total = sum(number for _, number in kept)
    expression = " + ".join(str(number) for _, number in kept) if len(kept) > 1 else None
    used = tuple(fact for fact, _ in kept)
    return Attempt(
        str(total), f"count {counted_kind(analysis)}", used, "counted on the pages read", expression
    )


def _page_range(analysis: Analysis) -> range | tuple[int, ...]:
    return range(min(analysis.pages), max(analysis.pages) + 1) if len(analysis.pages) == 2 else analysis.pages


def stated_count(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """`seven quality levels`: a number before the thing that is counted."""
    if not analysis.target:
        return None
    head = analysis.target[-1]
    for fact in of_year(facts, analysis)[:8]:
        if read_list(fact.text) or read_count(fact.text) or tells_other_year(fact, analysis):
            continue
        words = fold(without_references(bare(fact.text))).replace("-", " ").split()
        other = _of_other_years(bare(fact.text), analysis)
        for place, word in enumerate(words):
            number = _small_number(word)
            if number is None or number in other:
                continue
            after = [stem(t) for w in words[place + 1 : place + 2 + len(analysis.target)] for t in tokens(w)]
            unit = _UNITS.get(analysis.target[0], ())
            named = sum(t in after for t in analysis.target) / len(analysis.target)
            if (head in after and named > 0.5) or any(a in unit for a in after[:1]):
                return Attempt(number, "stated count", (fact,), "the fact states the number")
    return None


_UNITS: dict[str, tuple[str, ...]] = {
    stem(word): tuple(names.split())
    for word, names in (
        ("grams", "g gr"),
        ("kilograms", "kg"),
        ("meters", "m"),
        ("kilometers", "km"),
        ("centimeters", "cm"),
        ("millimeters", "mm"),
        ("liters", "l"),
        ("milliliters", "ml"),
        ("hours", "h hr hrs"),
        ("minutes", "min mins"),
        ("seconds", "s sec"),
        ("degrees", "c f"),
        ("watts", "w"),
        ("volts", "v"),
        ("gigabytes", "gb"),
    )
}


def _of_other_years(text: str, analysis: Analysis) -> set[str]:
    """Numbers that a sentence gives for years that are not asked for."""
    dated = by_year(text)
    if not analysis.years or not set(analysis.years) & set(dated):
        return set()
    return {str(int(n.value)) for year, ns in dated.items() if year not in analysis.years for n in ns}


def _small_number(word: str) -> str | None:
    plain = word.strip("()[],.;:")
    if plain in NUMBER_WORDS:
        return str(NUMBER_WORDS[plain])
    found = numbers(plain)
    if len(found) == 1 and found[0].text == plain and found[0].value == int(found[0].value):
        return str(int(found[0].value)) if not 1900 <= found[0].value <= 2099 else None
    return None


def dated_row(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """The cell of the asked year in a row whose whole label the question holds: `Employees 118 109`."""
    asked = set(analysis.content)
    for fact in ordered(facts):
        row = row_of(fact)
        if row is None or not analysis.target:
            continue
        label = {stem(t) for t in tokens(row.label) if t not in STOPWORDS}
        if not label or not label <= asked or covered(analysis.target, row.label) < 1:
            continue
        for entry in row.entries:
            whole = entry.value == int(entry.value) >= 0 and not entry.percent
            if whole and entry.year in analysis.years and _speaks_to(analysis, row, entry):
                text = str(int(entry.value * entry.scale))
                return Attempt(text, "dated cell", (fact,), f"the row {row.label} in {entry.year}")
    return None


def _speaks_to(analysis: Analysis, row: RowFact, entry: Entry) -> bool:
    return covered(analysis.content, f"{row.label} {entry.header} {row.title}") >= 0.6


def _of_other_year(fact: Fact, analysis: Analysis) -> bool:
    """True for a list whose head names years that are not asked for."""
    found = read_list(fact.text)
    told = set(years(found[0])) if found else set()
    return bool(analysis.years and told and told.isdisjoint(analysis.years))


def named_list(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """A list whose own head names what is counted."""
    for fact in ordered(facts):
        found = None if _of_other_year(fact, analysis) else read_list(fact.text)
        if found and analysis.target and covered(analysis.target, found[0]) >= 0.6 and fact.score >= 0.5:
            return Attempt(str(len(found[1])), "named list", (fact,), "counted the items of the list")
    return None


def list_count(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """The number of items of the best list."""
    for fact in ordered(facts):
        found = None if _of_other_year(fact, analysis) else read_list(fact.text)
        if found:
            return Attempt(str(len(found[1])), "list count", (fact,), "counted the items of the list")
    return None


def number_cell(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """A whole number in a row or sentence that speaks to the question."""
    for fact in of_year(facts, analysis)[:4]:
        if read_list(fact.text) or read_count(fact.text):
            continue
        for value in values(fact, analysis):
            like_year = 1900 <= value.value <= 2099 and "," not in value.shown
            if value.value == int(value.value) >= 0 and not value.percent and not like_year:
                kind = "count cell" if row_of(fact) else "count number"
                return Attempt(str(int(value.value)), kind, (fact,), "stated in the fact")
    return None
