"""Known ratios, and definitions in the words of a question."""

import re

from agent.readers.extractive.formulas import (
    Formula,
    FormulaError,
    Node,
    Operation,
    Term,
    mean,
    parse_formula,
    shifted,
)
from agent.readers.extractive.lineitems import line_item, resolve

# Pattern over the folded question -> formula; the first that matches is taken. Averages where the usual
# definition sets a flow against a stock over the year; year-end balances elsewhere. `%` marks a percentage.
KNOWN: tuple[tuple[str, str], ...] = (
    (r"cash conversion cycle", "365 * avg(inventory) / cost_of_sales + 365 * avg(receivables) / revenue"
     " - 365 * avg(accounts_payable) / cost_of_sales"),
    (r"days payables? outstanding|\bdpo\b", "365 * avg(accounts_payable) / cost_of_sales"),
    (r"days sales outstanding|\bdso\b", "365 * avg(receivables) / revenue"),
    (r"days (?:inventory outstanding|of inventory|sales in inventory)|\bdio\b",
     "365 * avg(inventory) / cost_of_sales"),
    (r"(?:fixed assets?|pp ?& ?e) turnover", "revenue / avg(ppe)"),
    (r"inventory turnover", "cost_of_sales / avg(inventory)"),
    (r"(?:accounts )?receivables? turnover", "revenue / avg(receivables)"),
    (r"(?:total )?asset turnover", "revenue / avg(total_assets)"),
    (r"debt[- ]to[- ]ebitda", "total_debt / ebitda"),
    (r"interest expense to average long[- ]term debt", "interest_expense / avg(long_term_debt)"),
    (r"interest coverage|times interest earned", "operating_income / interest_expense"),
    (r"ebitda (?:% )?margin|operating profit margin before depreciation",
     "% ebitda / revenue"),
    (r"ebitda(?:,)? less cap(?:ex|ital expenditures?)", "ebitda - capex"),
    (r"\bebitda\b", "ebitda"),
    (r"return on (?:average )?assets?|\broa\b", "% net_income / total_assets"),
    (r"return on (?:average |shareholders'? |stockholders'? )?equity|\broe\b", "% net_income / equity"),
    (r"effective (?:income )?tax rate", "% income_tax / pretax_income"),
    (r"working capital ratio|current ratio", "current_assets / current_liabilities"),
    (r"quick ratio|acid[- ]test", "(current_assets - inventory) / current_liabilities"),
    (r"working capital", "current_assets - current_liabilities"),
    (r"gross (?:profit )?margin(?! change)", "% (revenue - cost_of_sales) / revenue"),
    (r"operating (?:profit |income )?margin", "% operating_income / revenue"),
    (r"net (?:profit|income) margin|profit margin", "% net_income / revenue"),
    (r"(?:total )?(?:long[- ]term|non-?current) liabilities", "total_liabilities - current_liabilities"),
    (r"free cash flow", "operating_cash_flow - capex"),
    (r"dividend payout|payout ratio", "% dividends / net_income"),
    (r"retention ratio", "1 - dividends / net_income"),
    (r"debt[- ]to[- ]equity", "total_debt / equity"),
    (r"total debt to total (?:assets|capital)", "total_debt / total_assets"),
    (r"total debt\b", "total_debt"),
)  # fmt: skip


# Names that stand for sums, unless the question says what it takes them for.
SUMS: dict[str, str] = {
    "total_debt": "long_term_debt + current_debt",
    "ebitda": "operating_income + depreciation",
}


def known_formula(question: str, year: int | None = None) -> tuple[Formula, str] | None:
    """The first known ratio that a folded question asks for, and the words it is asked by."""
    for pattern, text in KNOWN:
        match = re.search(pattern, question)
        if match:
            tree = _substitute(parse_formula(text.lstrip("% ")), _meanings(question, year))
            return Formula(match.group(), tree, text.startswith("%")), match.group()
    return None


def taken(node: Node, question: str, year: int | None) -> Node:
    """A tree in which the names that a folded question defines stand for what it takes them for."""
    usual = {name: tree for name, tree in _meanings(question, year).items() if name not in SUMS}
    return _substitute(node, usual)


_TAKEN = re.compile(
    r"(?:taking|,? and|where|using) ((?:[\w-]+ ){0,3}?[\w-]+) as (.+?)(?=,? and (?:[\w-]+ )"
    r"{1,3}as |[?]|\.\s|$)"
)


_NAMES = (
    ("total debt", "total_debt"),
    ("debt", "total_debt"),
    ("ebitda", "ebitda"),
    ("long-term debt", "long_term_debt"),
)


def _meanings(question: str, year: int | None) -> dict[str, Node]:
    """What names stand for: the question's own words (`taking total debt as ...`), else the usual sum."""
    found = {name: parse_formula(text) for name, text in SUMS.items()}
    for match in _TAKEN.finditer(question):
        name = dict(_NAMES).get(match.group(1).strip())
        tree = parse_definition(match.group(2).strip(" ,."), year)
        if name and tree is not None:
            found[name] = tree
    for match in re.finditer(r"\bdefine (?:unadjusted )?([\w -]+?) as (.+?)(?:\.\s|\.?$)", question):
        name = dict(_NAMES).get(match.group(1).strip())
        tree = parse_definition(match.group(2).strip(" ,."), year)
        if name and tree is not None:
            found[name] = tree
    leases = re.search(r"long-term debt\b.*?, including ([\w -]*lease liabilities)", question)
    if leases and "long_term_debt" not in found:
        tree = parse_definition(f"long-term debt plus {leases.group(1)}", year)
        if tree is not None:
            found["long_term_debt"] = tree
    back = re.search(r"adding back ([\w ,&-]+?)(?: only| rather|[?.]|$)", question)
    if back:
        found["depreciation"] = Term(line_item(back.group(1).strip()))
        found["ebitda"] = Operation("+", Term(line_item("operating_income")), found["depreciation"])
    return found


_ALIASES = (
    (r"(?:,? as reported on the balance sheet|,? (?:only )?rather than [\w ]+)", " "),
    (r",? including (?:its|the) current portion", " plus current portion of long-term debt"),
    (
        r"(?:all |its |total )*long[- ]term operating and finance lease liabilities",
        "long-term operating lease liabilities plus long-term finance lease liabilities",
    ),
    (r"(?:all |its |total )+(?:operating and finance )?lease liabilities", "total lease liabilities"),
)


_WORD_OPERATORS = (
    (r"\b(?:divided by|over|as a (?:percent(?:age)?|share|proportion) of)\b", " / "),
    (r"\b(?:less|minus)\b", " - "),
    (r"\bplus\b", " + "),
    (r"\b(?:times|multiplied by)\b|×", " * "),
    (r"÷", " / "),
)


def parse_definition(text: str, year: int | None) -> Node | None:
    """Parses a definition in a question's own words (folded), or returns None where it is no formula.

    Terms are `[FY2019] X`, `average X between A and B`, `change in X between A and B`; operators are signs or
    words (less, plus, divided by). `year` is the year that terms without one stand for.
    """
    text = re.sub(r"\[[^\]]*\]", " ", text)
    for pattern, sign in (*_ALIASES, *_WORD_OPERATORS):
        text = re.sub(pattern, sign, text)
    parts = [p.strip() for p in re.split(r"(\s[-+*/]\s|[()*/])", text) if p and p.strip()]
    if len(parts) < 3 or not any(p in "+-*/" for p in parts):
        return None
    names: dict[str, Node] = {}
    words = []
    for part in parts:
        if part in "+-*/()" or re.fullmatch(r"\d+(?:\.\d+)?", part):
            words.append(part)
            continue
        node = _definition_term(part, year)
        if node is None:
            return None
        key = f"t{'x' * len(names)}"
        names[key] = node
        words.append(key)
    try:
        return _substitute(parse_formula(" ".join(words)), names)
    except FormulaError:
        return None


def _substitute(node: Node, names: dict[str, Node]) -> Node:
    if isinstance(node, Term):
        return names.get(node.item.key, node)
    if isinstance(node, Operation):
        return Operation(node.operator, _substitute(node.left, names), _substitute(node.right, names))
    return node


def _definition_term(text: str, year: int | None) -> Node | None:
    found = [
        int(y) if len(y) == 4 else 2000 + int(y) for y in re.findall(r"(?:fy|\b)((?:20|19)\d\d|\d\d)\b", text)
    ]
    phrase = re.sub(
        r"\b(?:between|from|in|for|at|during)?\s*(?:fy)?\s*(?:20|19)\d\d\b(?: (?:and|to)\b)?", " ", text
    )
    phrase = re.sub(r"\bfrom (?:the )?(?:statement|balance|cash|income|p&l).*", " ", phrase)
    phrase = re.sub(r"\[.*?\]|\b(?:between|and|from|to)\s*$", " ", phrase)
    average = re.search(r"\baverage\b", phrase)
    moved = re.search(r"\b(?:change|increase) in\b", phrase)
    phrase = re.sub(r"\b(?:the|average|change in|increase in|total of)\b", " ", phrase)
    phrase = re.sub(r"\s+", " ", phrase).strip(" ,.;:")
    phrase = re.sub(r"\s(?:and|between|from|in)$", "", phrase)
    if not phrase or len(phrase.split()) > 8:
        return None
    term = Term(resolve(phrase) or line_item(phrase), 0)
    latest = max(found) if found else year
    back = max(0, year - latest) if year and latest else 0
    now = shifted(term, back)
    if average:
        return mean([now, shifted(now, 1)])
    if moved:
        return Operation("-", now, shifted(now, 1))
    return now
