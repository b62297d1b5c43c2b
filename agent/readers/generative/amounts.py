"""Answers in the form that is asked for: a number bare where the question says the rest, yes or no alone.

"How much was it, in millions?" wants `18,078`, not `$18,078 million` nor `18.078 billion`; "how many
offices?" wants `42`. What the question leaves open, a unit, a currency or a scale, stays with the number.
"""

import re
from decimal import Decimal

from agent.forms import SCALES, Printed, folded, printed_numbers, stated_scales
from agent.types import AnswerType

KINDS: tuple[AnswerType, ...] = ("number", "count", "difference")

_BEFORE = re.compile(
    r"(?:(?:about|approximately|approx\.|around|roughly|nearly|~|≈)\s*)?[-(]?\s?"
    r"(?P<currency>US\$|[$€£¥₹]|\b[A-Z]{3}\b)?\s?[-(]?\s?",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?:\s?(?P<scale>thousand|million|billion|trillion|mn|bn)s?\b)?\s?"
    r"(?P<percent>%|percent\b|per cent\b|pct\b)?\s?\)?\s?(?:of )?(?P<unit>[^\d()\[\];,]{0,60})"
)
_CURRENCY = r"US\$|[$€£¥₹]|\b(?:USD|EUR|GBP|JPY|CNY|RMB|INR|CHF|dollars?|euros?|pounds?|yen|cents?)\b"
_MONEY = re.compile(_CURRENCY, re.IGNORECASE)
_SCALE = "(thousand|million|billion|trillion)s?"
_SCALE_ASKED = re.compile(
    rf"\bhow (?:many|much) {_SCALE}\b|\bin {_SCALE} of (?:U\.?S\.? )?(?:{_CURRENCY})", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]+")
_YES_NO = re.compile(r"(yes|no)(?:[,.;:!]|\s*[-–—(]|$).*", re.IGNORECASE | re.DOTALL)
_DIGITS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty".split()
    )
}


def as_asked(text: str, question: str, kind: AnswerType) -> str:
    """The answer with its number alone where the question names the unit and the scale; a bare yes or no.

    Args:
        text: the answer; what is not one number with a unit, nor begins with yes or no, comes back as it is.
        question: what was asked.
        kind: of answer; only numbers, and yes or no, are brought into form.
    """
    if kind == "yes_no":
        said = _YES_NO.fullmatch(text.strip())
        return said[1].capitalize() if said else text
    if kind == "count" and text.strip(" .").casefold() in _DIGITS:
        return _DIGITS[text.strip(" .").casefold()]
    flat = folded(text).strip().rstrip(".")
    numbers = printed_numbers(flat) if kind in KINDS else []
    if len(numbers) != 1:
        return text
    number = numbers[0]
    before, after = _BEFORE.fullmatch(flat[: number.start]), _AFTER.fullmatch(flat[number.end :])
    if before is None or after is None or not _named(after["unit"], question, kind):
        return text
    scale = Decimal(int(SCALES[after["scale"].lower()])) if after["scale"] else None
    wanted = _scale_of(question)
    if wanted is None:
        open_currency = bool(before["currency"]) and not _MONEY.search(question)
        if open_currency or (scale is not None and kind != "count"):
            return text
    factor = (scale or wanted or Decimal(1)) / (wanted or Decimal(1))
    return _written(number, factor) + ("%" if after["percent"] else "")


def _scale_of(question: str) -> Decimal | None:
    """The scale in which a question wants its number; None where it names none, or several."""
    said = (word for found in _SCALE_ASKED.findall(question) for word in found)
    scales = {float(SCALES[word.lower()]) for word in said if word}
    scales |= stated_scales(folded(question))
    return Decimal(int(scales.pop())) if len(scales) == 1 else None


def _named(unit: str, question: str, kind: AnswerType) -> bool:
    """Whether a question says all that the words after a number say; what is counted it always says."""
    if kind == "count" and len(unit.strip()) > 2:
        return True
    asked = {_singular(word) for word in _WORD.findall(question)}
    return all(_singular(word) in asked or _MONEY.fullmatch(word) for word in _WORD.findall(unit))


def _singular(word: str) -> str:
    folded_word = word.casefold()
    return folded_word[:-1] if len(folded_word) > 3 and folded_word.endswith("s") else folded_word


def _written(number: Printed, factor: Decimal) -> str:
    """A number as it is printed, in another scale with its digits moved."""
    sign = "-" if number.negative else ""
    if factor == 1:
        return sign + number.text
    value = Decimal(repr(number.values[0])) * factor
    return sign + (f"{value:,f}".rstrip("0").rstrip(".") if value % 1 else f"{value.to_integral_value():,f}")
