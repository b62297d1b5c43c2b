"""Numbers in texts, and arithmetic over them, evaluated without executing anything."""

import ast
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agent.forms import SCALES, Printed, folded, printed_numbers, stated_scales

MAX_EXPRESSION = 400  # characters
MAX_NODES = 150
_LIMIT = 1e18
FACTORS = (1e3, 1e6, 1e9)  # scales that a text may leave unsaid

_SCALED = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)\s?(thousand|million|billion|trillion)\b", re.IGNORECASE)

_WORDS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty".split()
    )
}
_MONTHS = {
    name[:length]: float(month)
    for month, name in enumerate(
        "january february march april may june july august september october november december".split(),
        start=1,
    )
    for length in (3, len(name))
} | {"sept": 9.0}
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SIGNS = str.maketrans(
    {"−": "-", "–": "-", "—": "-", "×": "*", "·": "*", "÷": "/", "$": "", "€": "", "£": "", "¥": "", "’": "'"}
)


@dataclass(frozen=True, slots=True)
class Stated:
    """A value that a text states.

    Attributes:
        value: as printed, without its sign.
        factors: what it may stand for a multiple of: the scale named after it, or those that its text states
            (`in millions`), or any where neither is said.
        named: whether a scale is named after it.
    """

    value: float
    factors: tuple[float, ...] = (1.0, *FACTORS)
    named: bool = False


def plain_value(value: float) -> Stated:
    """A value that is in no other scale: a count, a constant."""
    return Stated(value, (1.0,))


def number_words(text: str) -> set[float]:
    """The values of the small number words (zero to twenty) and of the months in a text."""
    words = [word.lower() for word in _WORD.findall(text)]
    months = {_MONTHS[word] for word in words if word in _MONTHS}
    return {float(_WORDS[word]) for word in words if word in _WORDS} | months


def stated(texts: Iterable[str]) -> set[Stated]:
    """Every value that texts state: numbers as printed and scaled, number words, months."""
    known: set[Stated] = set()
    for text in map(folded, texts):
        headers = tuple(sorted(stated_scales(text))) or FACTORS
        for number in printed_numbers(text):
            named = number.scale != 1.0
            factors = (number.scale,) if named else (1.0, *headers)
            known |= {Stated(value, factors, named) for value in (*number.values, *number.parts)}
        known |= {plain_value(value) for value in number_words(text)}
    return known


def agrees(number: Printed, known: Iterable[Stated]) -> bool:
    """Whether a number is one of `known`, at the precision it is printed with.

    The scale may be said on one side only (a table in millions, an answer in billions); where both say it, it
    must be the same amount. Where spaces or commas divide it, all its parts may be known instead.
    """
    known = list(known)
    # With a scale named after it, `1.577` is no thousand and more.
    values = number.values if number.scale == 1.0 else number.values[:1]
    if any(_agrees(value, number, item) for value in values for item in known):
        return True
    pieces = [float(piece) for piece in re.split("[ ,]", number.text) if piece] if number.parts else []
    return bool(pieces) and all(any(item.value == piece for item in known) for piece in pieces)


def _agrees(value: float, number: Printed, item: Stated) -> bool:
    named = number.scale != 1.0
    if not named and math.isclose(value, item.value, rel_tol=1e-9, abs_tol=1e-12):
        return True
    ours = (number.scale,) if named else (1.0, *FACTORS)
    theirs = item.factors
    return any(
        abs(value * mine - item.value * factor) <= _slack(number, mine, mine == factor, value)
        for mine in ours
        for factor in theirs
    )


def _slack(number: Printed, scale: float, same: bool, value: float) -> float:
    """Half a unit of the last printed place where rounding explains a difference, else nothing."""
    exact = 1e-9 * max(abs(value) * scale, 1e-3)
    return exact if same or not number.places else 0.5 * 10.0**-number.places * scale + exact


def evaluate(expression: str) -> float:
    """The value of an arithmetic expression over numbers: `+ - * /`, signs and parentheses.

    Thousands separators, currency signs, typographic operators and words of scale (`5.2 billion`) are
    understood; `%` divides by 100.

    Raises:
        ValueError: it is no such expression, too long, divides by zero or leaves the range of 1e18.
    """
    if len(expression) > MAX_EXPRESSION:
        raise ValueError(f"expression of {len(expression)} characters: expected at most {MAX_EXPRESSION}")
    text = unicodedata.normalize("NFKC", expression).translate(_SIGNS)
    text = re.sub(r"(?<=\d)(?:,(?=\d{2,3}(?!\d))|[ '](?=\d{3}(?!\d)))", "", text)
    text = _SCALED.sub(lambda found: f"({found[1]}*{SCALES[found[2].lower()]!r})", text)
    text = re.sub(r"(\d(?:\.\d+)?)\s?%", r"\1/100", text).strip()
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ValueError(f"expression {expression!r}: expected arithmetic over numbers") from error
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        raise ValueError(f"expression {expression[:40]!r}...: expected at most {MAX_NODES} parts")
    return _value(tree.body, expression)


def _value(node: ast.expr, expression: str) -> float:
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    ):
        result = float(node.value) if abs(node.value) <= _LIMIT else math.inf
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _value(node.operand, expression)
        result = -inner if isinstance(node.op, ast.USub) else inner
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, expression), _value(node.right, expression)
        try:
            result = _OPERATORS[type(node.op)](left, right)
        except ZeroDivisionError as error:
            raise ValueError(f"expression {expression!r}: division by zero") from error
    else:
        raise ValueError(f"expression {expression!r}: expected numbers, + - * / and parentheses")
    if not math.isfinite(result) or abs(result) > _LIMIT:
        raise ValueError(f"expression {expression!r}: value out of range")
    return result
