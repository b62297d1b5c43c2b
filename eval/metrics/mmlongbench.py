"""The rules of MMLongBench-Doc: V1's answer score and both versions' aggregates.

They follow the public scorer (V1: `eval/eval_score.py` of the paper's repository) number for number, with
two differences: an answer is parsed, never evaluated as code, and a row on which the public scorer raises
scores 0 (`is_unscoreable` says which rows those are, so that they can be counted beside the result).
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from eval.metrics.distance import anls
from eval.metrics.literals import literal

NOT_ANSWERABLE = "Not answerable"

_PHONE = re.compile(r"\b\d+(-\d+|\s\d+)?\b")
_DAY = re.compile(r"\b\d{4}[-\s]\d{2}[-\s]\d{2}\b")
_MONTH = re.compile(r"\b\d{4}[-\s]\d{2}\b")
_EMAIL = re.compile(r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}")


class _UnscoreableError(ValueError):
    """The public scorer raises on this pair."""


def without_parentheses(text: str) -> str:
    """The text without what stands in parentheses and the space before it, in one pass over the text."""
    kept, at = [], 0
    while (start := text.find("(", at)) >= 0 and (end := text.find(")", start)) >= 0:
        kept.append(text[at:start].rstrip())
        at = end + 1
    return "".join([*kept, text[at:]])


def clean(value: object) -> str:
    """The scorer's clean-up: lower case, no parentheses, no outer quotes, no `$` before, no `%` behind."""
    text = str(value).lower().strip()
    text = without_parentheses(text).strip()
    text = re.sub(r"^['\"]|['\"]$", "", text).strip()
    return text.lstrip("$").strip().rstrip("%").strip()


def is_exact_type(text: str) -> bool:
    """True where a (cleaned) gold answer admits no edits: addresses, files, pages, phones, times, dates."""
    if "https://" in text or text.startswith("page") or text.endswith((".py", "ipynb")):
        return True
    if "a.m." in text or "p.m." in text:
        return True
    return any(pattern.fullmatch(text) for pattern in (_PHONE, _DAY, _MONTH, _EMAIL))


def _digits(value: float) -> int:
    return len(str(value).split(".")[-1]) if "." in str(value) else 3


def within_percent(gold: float, pred: float) -> bool:
    """Within 1 % of gold, gold/100 or gold*100, or equal to one of them after rounding."""
    for target in (gold / 100, gold, gold * 100):
        if math.isclose(target, pred, rel_tol=0.01):
            return True
        if not (math.isfinite(pred) and math.isfinite(target)):
            continue
        places = max(min(_digits(pred), _digits(target)), 2)
        if round(pred, places) == round(target, places):
            return True
    return False


def _score_int(gold: object, pred: object) -> float:
    try:
        wanted = int(gold)  # type: ignore[call-overload]
    except (ValueError, TypeError) as error:
        raise _UnscoreableError("the gold answer is no whole number") from error
    try:
        return float(wanted == int(float(pred)))  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _score_float(gold: object, pred: object) -> float:
    try:
        wanted = float(clean(gold))
    except ValueError as error:
        raise _UnscoreableError("the gold answer is no number") from error
    try:
        return float(within_percent(wanted, float(clean(pred))))
    except ValueError:
        return 0.0


def _score_text(gold: object, pred: object) -> float:
    wanted, got = clean(gold), clean(pred)
    return float(wanted == got) if is_exact_type(wanted) else anls(wanted, got)


def _as_list(value: object) -> list[object]:
    if isinstance(value, str) and value.startswith("["):
        try:
            value = literal(value)
        except ValueError as error:
            raise _UnscoreableError("not a list literal") from error
    return list(value) if isinstance(value, list) else [value]


def is_number(text: str) -> bool:
    """Whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _score_list(gold: object, pred: object) -> float:
    golds, preds = _as_list(gold), _as_list(pred)
    if len(golds) != len(preds):
        return 0.0
    if not golds:
        raise _UnscoreableError("an empty list")
    wanted, got = sorted(map(clean, golds)), sorted(map(clean, preds))
    if is_number(wanted[0]) or is_exact_type(wanted[0]):
        return float("-".join(wanted) == "-".join(got))
    return min(anls(w, g) for w, g in zip(wanted, got, strict=True))


def _score(gold: object, pred: object, answer_format: str) -> float:
    if answer_format == "Int":
        return _score_int(gold, pred)
    if answer_format == "Float":
        return _score_float(gold, pred)
    if answer_format in ("Str", "None"):
        return _score_text(gold, pred)
    return _score_list(gold, pred)


def score_answer(gold: object, pred: object, answer_format: str) -> float:
    """Scores a short answer against the gold answer by V1's rules, 0 to 1.

    `answer_format` is Int, Str, Float, None or List. Int is exact; Float within 1 %, also against gold/100
    and gold*100; Str and None by ANLS, exact for addresses, files, pages, phones, times and dates; List 0
    unless the lengths agree, then the lowest ANLS of the sorted pairs (exact where the first is a number or
    exact type).
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
    """Whether a gold answer can be read in its format; one that cannot scores 0 whatever is answered."""
    return not is_unscoreable(gold, gold, answer_format)


def _f1(correct: float, answerable: int, answered: int) -> float:
    """Harmonic mean of `correct / answerable` and `correct / answered`; 0 where one does not exist."""
    if not answerable or not answered or not correct:
        return 0.0
    recall, precision = correct / answerable, correct / answered
    return 2 * recall * precision / (recall + precision)


def aggregate(samples: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """V1's `accuracy` and `f1` over rows `{answer, pred, score}`; rows without a score are left out.

    A row is answerable unless its answer is "Not answerable", answered unless its prediction is.
    """
    scored = [s for s in samples if "score" in s]
    if not scored:
        return {"accuracy": 0.0, "f1": 0.0}
    answerable = [s for s in scored if s["answer"] != NOT_ANSWERABLE]
    answered = sum(s["pred"] != NOT_ANSWERABLE for s in scored)
    correct = sum(float(s["score"]) for s in answerable)
    accuracy = sum(float(s["score"]) for s in scored) / len(scored)
    return {"accuracy": accuracy, "f1": _f1(correct, len(answerable), answered)}


def aggregate_v2(samples: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """V2's `accuracy` and `f1` over rows `{answer, llm_judge: {equivalent, abstained}}`.

    A row is unanswerable where its answer begins with "Not answerable"; rows without a verdict are left out.
    """
    judged = [s for s in samples if s.get("llm_judge")]
    if not judged:
        return {"accuracy": 0.0, "f1": 0.0}
    answerable = [s for s in judged if not str(s["answer"]).startswith(NOT_ANSWERABLE)]
    answered = sum(not s["llm_judge"]["abstained"] for s in judged)
    correct = sum(bool(s["llm_judge"]["equivalent"]) for s in answerable)
    accuracy = sum(bool(s["llm_judge"]["equivalent"]) for s in judged) / len(judged)
    return {"accuracy": accuracy, "f1": _f1(correct, len(answerable), answered)}
