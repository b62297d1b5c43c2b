"""Line items and what is computed from them, with the arithmetic shown."""

from collections.abc import Sequence

from agent.readers.extractive.attempts import Attempt, ordered, rounded, row_of
from agent.readers.extractive.formulas import FormulaError, Term, evaluate
from agent.readers.extractive.lineitems import LineItem, label_score, line_item
from agent.readers.extractive.matching import covered
from agent.readers.extractive.planning import part_items
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.series import by_year
from agent.readers.extractive.statements import Entry, RowFact, bare
from agent.readers.extractive.text import content, shown
from agent.types import Fact

# Printed in parentheses as often as not: what leaves the company counts by its size.
_OUTFLOWS = frozenset(
    "capex dividends buybacks cost_of_sales income_tax interest_expense depreciation research sga".split()
)
_MAY_BE_ABSENT = frozenset(("current_debt", "inventory"))
# A balance sheet without a row of its own for the first has it as the difference of the others.
DERIVED = {"total_liabilities": ("total_assets", "equity")}


def computed(analysis: Analysis, facts: Sequence[Fact]) -> Attempt | None:
    """Evaluates the question's formula over the facts; None where it has none or a term is missing."""
    formula = analysis.formula
    if formula is None:
        return None
    items = part_items(analysis)
    latest = max(analysis.years) if analysis.years else None
    used: list[Fact] = []

    def lookup(term: Term) -> tuple[float, str]:
        part = items.index(term.item) if term.item in items else None
        year = latest - term.back if latest else None
        found = _entry(ordered(facts, part), term.item, year, term.back)
        if found is None:
            pair = _derived(ordered(facts), term.item, year, term.back)
            if pair:
                used.extend(fact for fact, _ in pair if fact not in used)
                whole, less = (entry for _, entry in pair)
                return whole.value - less.value, f"({whole.shown} - {less.shown})"
            if term.item.key in _MAY_BE_ABSENT and _statement_read(facts, items):
                return 0.0, "0"
            raise FormulaError(f"{term.item.query} {year or ''} was not found")
        fact, entry = found
        if fact not in used:
            used.append(fact)
        value = abs(entry.value) if term.item.key in _OUTFLOWS else entry.value
        factor = _relative(entry, used)
        digits = entry.shown.rstrip("%").lstrip("-") if factor == 1.0 else f"{abs(value) * factor:,g}"
        return value * factor, digits if value >= 0 else f"-{digits}"

    try:
        result = evaluate(formula.tree, lookup)
    except FormulaError:
        return None
    if isinstance(formula.tree, Term):
        return _single(analysis, formula.tree, result.value, used)
    share = formula.percent and (analysis.percent or abs(result.value) < 1) and not _plain_ratio(analysis)
    value = result.value * 100 if share else result.value
    expression = f"({result.expression}) * 100" if share else result.expression
    text = rounded(value, analysis, 2)
    return Attempt(text + "%" * share, "formula", tuple(used), f"computed: {expression}", expression)


def _plain_ratio(analysis: Analysis) -> bool:
    """With three or more decimals asked for, a share of one is wanted, no percentage."""
    return analysis.places is not None and analysis.places >= 2 and "percent" not in analysis.text.lower()


def _relative(entry: Entry, used: Sequence[Fact]) -> float:
    """The factor that brings a value to the scale of the first row used."""
    rows = [row for fact in used if (row := row_of(fact)) is not None]
    scales = [e.scale for e in rows[0].entries] if rows else []
    return entry.scale / scales[0] if scales and scales[0] > 1 and entry.scale > 1 else 1.0


def _single(analysis: Analysis, term: Term, value: float, used: Sequence[Fact]) -> Attempt | None:
    row = row_of(used[0]) if used else None
    if row is None:
        return None
    scale = row.entries[0].scale
    amount = value * scale / analysis.scale if analysis.scale and scale > 1 else value
    return Attempt(shown(amount, analysis.places), "line item", tuple(used), f"the row {row.label}")


def _entry(facts: Sequence[Fact], item: LineItem, year: int | None, back: int) -> tuple[Fact, Entry] | None:
    """The entry of the year in the best fact that is a row of the item, else in a sentence that tells it."""
    for exact in (True, False):
        for fact in facts:
            found = _told(fact, item, year, back, exact=exact)
            if found is not None:
                return fact, found
    return None


def _told(fact: Fact, item: LineItem, year: int | None, back: int, *, exact: bool) -> Entry | None:
    """The item's value in a fact: a cell by its year or (not `exact`) its place, or from a sentence."""
    row = row_of(fact)
    if row is not None:
        entries = row.entries if _is_item(row, item) else ()
        for place, entry in enumerate(entries):
            if entry.year == year or (not exact and entry.year is None and place == back):
                return entry
        return None
    told = by_year(bare(fact.text)).get(year or 0, [])
    if not told or covered(content(item.query), fact.text) < 0.75:
        return None
    return Entry("", told[0].value, told[0].text, told[0].percent, told[0].scale, year)


def _derived(facts: Sequence[Fact], item: LineItem, year: int | None, back: int) -> list[tuple[Fact, Entry]]:
    """Total liabilities, where a balance sheet has no such row: total assets and total equity."""
    if item.key not in DERIVED:
        return []
    found = [_entry(facts, line_item(key), year, back) for key in DERIVED[item.key]]
    return [pair for pair in found if pair is not None] if all(found) else []


def _is_item(row: RowFact, item: LineItem) -> bool:
    """The row's own label decides, where a section stands before it by the words at its end."""
    words = row.label.split()
    return any(label_score(item, " ".join(words[i:])) for i in range(min(len(words), 24)))


def _statement_read(facts: Sequence[Fact], items: Sequence[LineItem]) -> bool:
    """True where another item of the balance sheet was found, so that an absent row means nothing there."""
    assets = line_item("long_term_debt")
    return any(
        fact.part < len(items)
        and items[fact.part] == assets
        and fact.score >= 0.7
        and row_of(fact) is not None
        for fact in facts
    )
