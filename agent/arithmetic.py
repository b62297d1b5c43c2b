"""Numbers in texts, and arithmetic over them, evaluated without executing anything."""

import ast
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

MAX_EXPRESSION = 400  # characters
MAX_NODES = 150
_LIMIT = 1e18

_NUMBER = re.compile(r"(?<![\d.])(?:\d{1,30}(?:,\d{2,3}(?!\d)){0,10}(?:\.\d{1,30})?|\.\d{1,30})")
_SCALES = {
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "mn": 1e6,
    "bn": 1e9,
    "m": 1e6,
    "k": 1e3,
}
_SCALE = re.compile(r"\s?(thousand|million|billion|trillion|mn|bn|[mk](?![a-z]))s?", re.IGNORECASE)
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
    {"−": "-", "–": "-", "—": "-", "×": "*", "·": "*", "÷": "/", "$": "", "€": "", "£": "", "¥": ""}
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text.

    Attributes:
        value: its absolute value as printed: a minus sign or parentheses are not counted, nor is a scale.
        places: printed decimals.
        scale: the factor of a word after it (`5.2 billion`: 1e9), else 1.
        percent: whether a percent sign or word follows.
        start: its first character; `end` is exclusive.
    """

    value: float
    places: int
    scale: float
    percent: bool
    start: int
    end: int


def find_numbers(text: str) -> list[Number]:
    """The numbers in a text, in order; thousands separators are understood, signs are left out."""
    text = unicodedata.normalize("NFKC", text)
    found = []
    for match in _NUMBER.finditer(text):
        printed = match[0].replace(",", "")
        scale = _SCALE.match(text, match.end())
        after = text[match.end() : match.end() + 9].lstrip().lower()
        found.append(
            Number(
                value=float(printed),
                places=len(printed.partition(".")[2]),
                scale=_SCALES[scale[1].lower()] if scale else 1.0,
                percent=after.startswith(("%", "percent", "per cent")),
                start=match.start(),
                end=match.end(),
            )
        )
    return found


def number_words(text: str) -> set[float]:
    """The values of the small number words (zero to twenty) and of the months in a text."""
    words = [word.lower() for word in _WORD.findall(text)]
    months = {_MONTHS[word] for word in words if word in _MONTHS}
    return {float(_WORDS[word]) for word in words if word in _WORDS} | months


def values(texts: Iterable[str]) -> set[float]:
    """Every value that texts state: numbers as printed, scaled by their word, number words, months."""
    known: set[float] = set()
    for text in texts:
        for number in find_numbers(text):
            known |= {number.value, number.value * number.scale}
        known |= number_words(text)
    return known


def agrees(number: Number, known: Iterable[float]) -> bool:
    """Whether a number is one of `known`, at the precision it is printed with.

    The scale may be said on one side only (a table in millions, an answer in billions), so a factor of a
    thousand, a million or a billion between the two is accepted where the digits agree.
    """
    wanted = (number.value, number.value * number.scale)
    for value in known:
        for factor in (1.0, 1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9):
            if abs(wanted[0] - abs(value) * factor) <= _slack(number, abs(value) * factor, factor):
                return True
        if math.isclose(wanted[1], abs(value), rel_tol=1e-9):
            return True
    return False


def _slack(number: Number, value: float, factor: float) -> float:
    """Half a unit of the last printed place where rounding explains a difference, else nothing."""
    if factor == 1.0 or number.places == 0 or value == 0:
        return 1e-9 * max(1.0, abs(value))
    return 0.5 * 10.0**-number.places + 1e-12


def evaluate(expression: str) -> float:
    """The value of an arithmetic expression over numbers: `+ - * /`, signs and parentheses.

    Thousands separators, currency signs and typographic operators are understood; `%` divides by 100.

    Raises:
        ValueError: it is no such expression, too long, divides by zero or leaves the range of 1e18.
    """
    if len(expression) > MAX_EXPRESSION:
        raise ValueError(f"expression of {len(expression)} characters: expected at most {MAX_EXPRESSION}")
    text = unicodedata.normalize("NFKC", expression).translate(_SIGNS)
    text = re.sub(r"(?<=\d),(?=\d{2,3}(?!\d))", "", text)
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
