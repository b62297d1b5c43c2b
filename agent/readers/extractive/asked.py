"""The formula that a question asks for, its parts and the queries for them."""

import re

from agent.readers.extractive.definitions import known_formula, parse_definition, taken
from agent.readers.extractive.formulas import Formula, Operation, Term, change, mean, shifted
from agent.readers.extractive.lineitems import LineItem, resolve
from agent.readers.extractive.text import NUMBER_WORDS, STOPWORDS, stem


def asking_clause(folded: str) -> str:
    """The clause that asks: from the last interrogative on."""
    match = list(re.finditer(r"\b(?:what|which|who|whose|when|where|how (?:many|much|steps)|how)\b", folded))
    return folded[match[-1].start() :] if match else folded


def asked_formula(whole: str, folded: str, named: tuple[int, ...]) -> Formula | None:
    """What is to be computed: a definition given, a known ratio, two line items or one line item."""
    year = max(named) if named else None
    if re.search(
        r"\b(?:what|which \w+) (?:drove|caused|led|explains?)\b|\bwhy\b(?! is)|components of", folded
    ):
        return None
    defined = re.search(
        r"\b(?:is defined as|define ([\w\s%&()-]+?) as|defined as):?\s*(.+?)(?:\.\s|\.?$)", whole
    )
    if defined and "ebitda" not in (defined.group(1) or ""):
        tree = parse_definition(defined.group(2), year)
        if tree is not None:
            return Formula("as defined", tree, "%" in whole or "percent" in whole)
    if not named and not re.search(
        r"\b(?:fy|fiscal|balance sheet|income statement|statement of|10-?k)\b", whole
    ):
        return None
    base = _base_formula(folded, whole, year)
    if base is None:
        return None
    return _over_years(base, folded, named)


def _base_formula(folded: str, whole: str, year: int | None) -> Formula | None:
    known = known_formula(whole, year)
    pair = _ratio_items(re.sub(r",? (?:taking|adding|including) .*", "", folded))
    if known is not None and (
        pair is None or known[0].percent or "turnover" in known[1] or "debt" in known[1]
    ):
        return known[0]
    if pair:
        tree = Operation("/", Term(pair[0]), Term(pair[1]))
        return Formula(f"{pair[0].key} to {pair[1].key}", taken(tree, whole, year), True)
    if known is not None:
        return known[0]
    item = asked_item(folded)
    return Formula(item.key, taken(Term(item), whole, year)) if item else None


def _ratio_items(folded: str) -> tuple[LineItem, LineItem] | None:
    for match in re.finditer(r"\bto\b|\bas (?:a )?(?:%|percent(?:age)?|share) of\b|\bdivided by\b|/", folded):
        left = _item_before(folded[: match.start()])
        right = _item_after(folded[match.end() :])
        if left and right and left != right and not re.match(r"\s*(?:fy|20\d\d)", folded[match.end() :]):
            return left, right
    return None


def _item_before(text: str) -> LineItem | None:
    words = text.split()
    for size in range(min(6, len(words)), 0, -1):
        item = resolve(" ".join(words[-size:]))
        if item:
            return item
    return None


def _item_after(text: str) -> LineItem | None:
    words = re.sub(r"[?,.]", " ", text).split()
    for size in range(min(6, len(words)), 0, -1):
        item = resolve(re.sub(r" ratio$", "", " ".join(words[:size])))
        if item:
            return item
    return None


_FILLERS = frozenset(
    "what how much year end total amount value number of usd million billion thousand dollar be "
    "have at did do report "
    "fy fiscal for in the its their company worth balance record spend s chang growth increas "
    "decreas year-over-year "
    "over percent averag unadjust net much many".split()
)


def asked_item(folded: str) -> LineItem | None:
    """The longest line item that the asking clause names, if nothing else there narrows it."""
    clause = re.sub(
        r"(?:(?<![\w&.-])|(?<='s))(?:[\w&.-]+ ){0,2}?[\w&.-]+'s\b|[?,.;:]", " ", asking_clause(folded)
    )
    words = clause.split()
    for size in range(min(7, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            item = resolve(" ".join(words[start : start + size]))
            if item is None:
                continue
            rest = [*words[max(0, start - 4) : start], *words[start + size : start + size + 1]]
            narrowing = [
                w
                for w in rest
                if stem(w) not in _FILLERS
                and w not in STOPWORDS
                and not re.match(r"(?:fy)?\d|in$|for$|at$|as$|of$", w)
            ]
            return None if len(narrowing) > (1 if item.statement == "balance" else 0) else item
    return None


def _over_years(base: Formula, folded: str, named: tuple[int, ...]) -> Formula:
    tree = base.tree
    years_mean = re.search(r"\b(\w+)[- ]year average\b", folded)
    if years_mean and len(named) <= 2:
        word = years_mean.group(1)
        count = int(word) if word.isdigit() else NUMBER_WORDS.get(word, 0)
        if 2 <= count <= 10:
            return Formula(
                f"{count} year average", mean([shifted(tree, i) for i in range(count)]), base.percent
            )
    span = max(named) - min(named) if len(named) >= 2 else 1
    span = min(max(span, 1), 10)
    growing = (
        r"year[- ]over[- ]year|\byoy\b|growth rate|\bgrowth\b|percent(?:age)? (?:change|increase|decrease)|"
        r"(?:change|increase|decrease) in .*percent|% (?:change|increase|growth)"
    )
    if re.search(growing, folded):
        return Formula(f"change of {base.name}", change(tree, span), True)
    if len(named) >= 2 and re.search(
        r"\b(?:change[ds]?|difference|increase[ds]?|decrease[ds]?|grow|grew)\b", folded
    ):
        return Formula(f"difference of {base.name}", Operation("-", tree, shifted(tree, span)), base.percent)
    if len(named) >= 2 and re.search(r"\baverage\b", folded):
        return Formula(f"average of {base.name}", mean([tree, shifted(tree, span)]), base.percent)
    return base


def formula_parts(formula: Formula, year: int | None) -> tuple[str, ...]:
    """A part for each line item of a formula: its words and the years it is needed in."""
    needed: dict[LineItem, set[int]] = {}
    for term in formula.terms():
        needed.setdefault(term.item, set()).add(term.back)
    parts = []
    for item, backs in needed.items():
        named = ", ".join(str(year - back) for back in sorted(backs)) if year else ""
        parts.append(f"{item.query}, {named}" if named else item.query)
    return tuple(parts)


_STATEMENT_QUERY = {
    "balance": "consolidated balance sheets",
    "income": "consolidated statements of operations income",
    "cash": "consolidated statements of cash flows",
}


def formula_queries(formula: Formula, year: int | None) -> tuple[str, ...]:
    """A query for each statement that a formula draws on, with its line items and the year."""
    grouped: dict[str, list[str]] = {}
    for term in formula.terms():
        words = grouped.setdefault(term.item.statement, [])
        if term.item.query not in words:
            words.append(term.item.query)
    suffix = f" {year}" if year else ""
    queries = []
    for statement, words in grouped.items():
        head = _STATEMENT_QUERY.get(statement, "")
        queries.append(f"{head} {' '.join(words)}{suffix}".strip())
    return tuple(queries)
