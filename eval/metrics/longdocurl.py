"""The rules of LongDocURL: the answer score and its means.

They follow the public scorer number for number, with its traps: units are taken off as sets of characters
(`Platform` loses its m), commas are dropped everywhere, and a list of numbers must agree in order. Two
differences: an answer is parsed, never evaluated as code, and a row on which the public scorer raises scores
0 (`is_unscoreable` says which, so that they can be counted beside the result).

What looks like `eval.metrics.mmlongbench` again follows another public scorer, which may change by itself:
the two share what is the same rule in both and keep their clean-up, lists and formats apart.
"""

import math
import re
from collections.abc import Sequence

from eval.metrics.distance import anls
from eval.metrics.literals import literal
from eval.metrics.mmlongbench import is_exact_type, is_number, within_percent, without_parentheses

TOTAL = 2325
"""Questions of the benchmark: the rectified mean divides by it, whatever was answered."""

FAILED = "Fail to extract"

_UNITS = (
    "kg",
    "mm",
    "m",
    "meters",
    "acres",
    "minutes",
    "mile",
    "miles",
    "million",
    "thousand",
    "billion",
)


class _UnscoreableError(ValueError):
    """The public scorer raises on this pair."""


def clean(value: object) -> str:
    """The scorer's clean-up: lower case, no commas, units, parentheses, outer quotes, currency or `%`."""
    text = str(value).lower().strip().replace(",", "")
    for unit in _UNITS:
        if text.endswith(unit):
            text = text.rstrip(unit).strip()
    text = without_parentheses(text).strip()
    text = re.sub(r"^['\"]|['\"]$", "", text).strip()
    return text.lstrip("$").strip().lstrip("£").strip().rstrip("%").strip()


def _score_integer(gold: object, pred: object) -> float:
    wanted, got = clean(gold), clean(pred)
    try:
        number = int(got)
    except ValueError:
        return float(wanted == "")  # the public scorer compares with an empty text
    try:
        return float(int(wanted) == number)
    except ValueError:
        return 0.0


def _score_float(gold: object, pred: object) -> float:
    try:
        return float(within_percent(float(clean(gold)), float(clean(pred))))
    except ValueError:
        return 0.0


def _score_text(gold: object, pred: object) -> float:
    wanted, got = clean(gold), clean(pred)
    return float(wanted == got) if is_exact_type(wanted) else anls(wanted, got)


def _as_list(value: object) -> list[object]:
    if isinstance(value, str) and value.startswith("["):
        try:
            value = literal(value)
        except ValueError:
            return [value]
    found = list(value) if isinstance(value, list) else [value]
    if not found:
        raise _UnscoreableError("an empty list")
    if not isinstance(found[0], dict):
        return found
    if not all(isinstance(item, dict) for item in found):
        raise _UnscoreableError("objects and others in a list")
    return ["-".join(map(str, item.values())) for item in found if isinstance(item, dict)]


def _score_list(gold: object, pred: object) -> float:
    wanted, got = list(map(clean, _as_list(gold))), list(map(clean, _as_list(pred)))
    if is_number(wanted[0]) or is_exact_type(wanted[0]):
        return float("-".join(wanted) == "-".join(got))
    best = [max(anls(w, g) for g in got) for w in wanted]
    return sum(best) / len(wanted) * math.sqrt(min(1.0, len(wanted) / len(got)))


def _score(gold: object, pred: object, answer_format: str) -> float:
    if pred == FAILED:
        return 0.0
    if answer_format == "Integer":
        return _score_integer(gold, pred)
    if answer_format == "Float":
        return _score_float(gold, pred)
    if answer_format in ("String", "None"):
        return _score_text(gold, pred)
    return _score_list(gold, pred)


def score_answer(gold: object, pred: object, answer_format: str) -> float:
    """Scores a short answer against the gold answer, 0 to 1.

    `answer_format` is Integer, Float, String, None or List. Integer is exact; Float within 1 %, also against
    gold/100 and gold*100; String and None by ANLS, exact for addresses, files, pages, phones, times and
    dates; List: of each gold item the best ANLS, their mean, times min(1, |gold| / |pred|) ** 0.5.
    """
    try:
        return _score(gold, pred, answer_format)
    except _UnscoreableError:
        return 0.0


def is_unscoreable(gold: object, pred: object, answer_format: str) -> bool:
    """True where the rules cannot be applied to the pair, which `score_answer` then scores 0."""
    try:
        _score(gold, pred, answer_format)
    except _UnscoreableError:
        return True
    return False


def gold_fits(gold: object, answer_format: str) -> bool:
    """Whether a gold answer can be read in its format: a number as one, a list as one that is not empty."""
    try:
        if answer_format == "Integer":
            int(clean(gold))
        elif answer_format == "Float":
            float(clean(gold))
        elif answer_format == "List":
            if isinstance(gold, str) and gold.startswith("["):
                literal(gold)
            _as_list(gold)
    except ValueError:
        return False
    return True


def aggregate(scores: Sequence[float]) -> dict[str, float]:
    """`mean` over the rows there are and `rectified` over all 2,325 questions of the benchmark."""
    return {"mean": sum(scores) / len(scores) if scores else 0.0, "rectified": sum(scores) / TOTAL}
