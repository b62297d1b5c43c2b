"""Formulas over line items: known ratios, definitions written in a question, and their safe evaluation.

A formula is a tree; it is parsed from text such as `365 * avg(accounts_payable) / cost_of_sales` or from a
question's own words (`... is defined as: (FY2019 COGS) / (average inventory between FY2018 and FY2019)`).
Nothing is ever run as code.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from agent.readers.extractive.lineitems import LineItem, line_item


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
    """What is to be computed: a tree, and whether its result is shown as a percentage."""

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
