"""Formulas over line items: known ratios, definitions written in a question, and their safe evaluation.

A formula is a tree; it is parsed from text such as `365 * avg(accounts_payable) / cost_of_sales` or from a
question's own words (`... is defined as: (FY2019 COGS) / (average inventory between FY2018 and FY2019)`).
Nothing is ever run as code.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from agent.readers.extractive.lineitems import LineItem, line_item, resolve


@dataclass(frozen=True, slots=True)
class Constant:
    """A number of the formula itself."""

    value: float


@dataclass(frozen=True, slots=True)
class Term:
    """A line item in a year, given as years before the question's year (0: the year itself)."""

    item: LineItem
    back: int = 0


@dataclass(frozen=True, slots=True)
class Operation:
    """`left operator right`, operator one of + - * /."""

    operator: str
    left: "Node"
    right: "Node"


Node = Constant | Term | Operation


@dataclass(frozen=True, slots=True)
class Formula:
    """What is to be computed: a tree, and whether the result is a share of one that is shown as a percentage."""

    name: str
    tree: Node
    percent: bool = False

    def terms(self) -> tuple[Term, ...]:
        """The terms in the order of the formula, without repetition."""
        return tuple(dict.fromkeys(_terms(self.tree)))


def _terms(node: Node) -> list[Term]:
    if isinstance(node, Term):
        return [node]
    if isinstance(node, Operation):
        return _terms(node.left) + _terms(node.right)
    return []


@dataclass(frozen=True, slots=True)
class Computed:
    """A result and the arithmetic behind it, with the numbers as they are printed."""

    value: float
    expression: str


class FormulaError(ValueError):
    """A formula that cannot be parsed or evaluated."""


def evaluate(node: Node, lookup: Callable[[Term], tuple[float, str]]) -> Computed:
    """Computes a tree; `lookup` gives a term's value and how it is printed.

    Raises:
        FormulaError: a division by zero.
    """
    value, text, _ = _evaluate(node, lookup)
    return Computed(value, text)


def _evaluate(node: Node, lookup: Callable[[Term], tuple[float, str]]) -> tuple[float, str, int]:
    """Value, text, and how loosely the text binds (0 an atom, 1 a product, 2 a sum)."""
    if isinstance(node, Constant):
        return node.value, f"{node.value:g}", 0
    if isinstance(node, Term):
        value, text = lookup(node)
        return value, text, 0
    left, left_text, left_bind = _evaluate(node.left, lookup)
    right, right_text, right_bind = _evaluate(node.right, lookup)
    if node.operator in "*/":
        left_text = f"({left_text})" if left_bind > 1 else left_text
        right_text = f"({right_text})" if right_bind > (0 if node.operator == "/" else 1) else right_text
        if node.operator == "/" and right == 0:
            raise FormulaError("division by zero")
        value = left * right if node.operator == "*" else left / right
        return value, f"{left_text} {node.operator} {right_text}", 1
    right_text = f"({right_text})" if right_bind > 1 and node.operator == "-" else right_text
    value = left + right if node.operator == "+" else left - right
    return value, f"{left_text} {node.operator} {right_text}", 2


def mean(nodes: list[Node]) -> Node:
    """The mean of some nodes."""
    total = nodes[0]
    for node in nodes[1:]:
        total = Operation("+", total, node)
    return Operation("/", total, Constant(len(nodes)))


def shifted(node: Node, years: int) -> Node:
    """The same tree some years earlier."""
    if isinstance(node, Term):
        return Term(node.item, node.back + years)
    if isinstance(node, Operation):
        return Operation(node.operator, shifted(node.left, years), shifted(node.right, years))
    return node


def change(node: Node, years: int = 1) -> Node:
    """The relative change of a tree over some years."""
    before = shifted(node, years)
    return Operation("/", Operation("-", node, before), before)


_LEXEME = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([a-z_]+)|(.))")


class _Parser:
    """Recursive descent over `a + b * c / (d)` with names; a name may be `avg(x)` or `prev(x)`."""

    def __init__(self, text: str) -> None:
        self.parts: list[tuple[str, str]] = []
        for number, name, sign in _LEXEME.findall(text.strip()):
            self.parts.append(("n", number) if number else ("w", name) if name else ("s", sign))
        self.at = 0

    def peek(self) -> str:
        return self.parts[self.at][1] if self.at < len(self.parts) else ""

    def take(self) -> tuple[str, str]:
        if self.at >= len(self.parts):
            raise FormulaError("the formula ends too early")
        self.at += 1
        return self.parts[self.at - 1]

    def sum(self) -> Node:
        node = self.product()
        while self.peek() in ("+", "-"):
            node = Operation(self.take()[1], node, self.product())
        return node

    def product(self) -> Node:
        node = self.atom()
        while self.peek() in ("*", "/"):
            node = Operation(self.take()[1], node, self.atom())
        return node

    def atom(self) -> Node:
        kind, text = self.take()
        if kind == "n":
            return Constant(float(text))
        if text == "(":
            return self.closed()
        if kind != "w":
            raise FormulaError(f"unexpected {text!r}")
        if self.peek() != "(":
            return Term(line_item(text))
        self.take()
        inner = self.closed()
        if text == "avg":
            return mean([inner, shifted(inner, 1)])
        if text == "prev":
            return shifted(inner, 1)
        raise FormulaError(f"unknown function {text!r}")

    def closed(self) -> Node:
        node = self.sum()
        if self.take()[1] != ")":
            raise FormulaError("a parenthesis is not closed")
        return node


def parse_formula(text: str) -> Node:
    """Parses a formula over the names of line items.

    Raises:
        FormulaError: where it cannot be parsed.
    """
    parser = _Parser(text)
    node = parser.sum()
    if parser.at != len(parser.parts):
        raise FormulaError(f"unexpected {parser.peek()!r}")
    return node


# Pattern over the folded question -> formula; the first that matches is taken. Averages where the usual definition
# sets a flow against a stock over the year; year-end balances elsewhere. `%` marks a percentage.
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
    r"(?:taking|,? and|where|using) ((?:[\w-]+ ){0,3}?[\w-]+) as (.+?)(?=,? and (?:[\w-]+ ){1,3}as |[?]|\.\s|$)"
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
