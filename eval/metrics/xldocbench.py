"""The rules of XL-DocBench: accuracy by answer type, and two secondary measures.

Accuracy: unanswerable: the prediction abstains; numeric and percentage: the first number of each, relative
error at most 0.05 (gold 0: below 1e-6); single choice: the first option label; else the normalized gold
answer is contained in the normalized prediction, or their Levenshtein similarity is at least 0.8. Token F1 is
over sets of normalized tokens; ANLS (threshold 0.5) is over the texts as they are.
"""

import re
from typing import Literal, TypedDict

from eval.metrics.distance import anls, levenshtein

TOLERANCE = 0.05
SIMILAR = 0.8

Rule = Literal["unanswerable", "numeric", "choice", "text"]

_NUMBER = re.compile(r"(?:(?<![\w)])[-−+])?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?")
_PREFIX = re.compile(
    r"^\s*(?:(?:the\s+)?(?:final\s+|correct\s+)?answer(?:\s+is)?\s*:?\s*|(?:based\s+on|according\s+to)\s+the\s+"
    r"documents?\s*,\s*)",
    re.IGNORECASE,
)
_PUNCTUATION = re.compile(r"(?<!\d)\.|\.(?!\d)|[^\w\s.%-]|_")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_OPTION = (
    re.compile(r"^\W*([A-Za-z])(?=\W*$|[.):,])"),
    re.compile(r"\b(?:options?|choices?|answer(?:\s+is)?)\b\s*:?\s*\W?([A-Z])\b"),
    re.compile(r"\(([A-Z])\)"),
    re.compile(r"\b([B-HJ-Z]|A(?!\s+(?!or\b|and\b)[a-z]))\b"),
)
_ABSTENTION = re.compile(
    r"\b(?:unanswerable|not\s+answerable|no\s+answer"
    r"|(?:can(?:not|\s+not|['’]t)|could\s+not|unable\s+to|impossible\s+to)\s+(?:be\s+)?"
    r"(?:answer(?:ed)?|determined?|found|find|inferred|infer|established)"
    r"|(?:is|are|was|were)\s+not\s+(?:mentioned|provided|specified|stated|given|disclosed|reported|available|found"
    r"|contained|included|answered)"
    r"|not\s+(?:mentioned|provided|specified|stated|disclosed|available|found)\s+in"
    r"|(?:do(?:es)?|did)(?:\s+not|n['’]t)\s+(?:mention|provide|specify|state|contain|include|disclose|report|say|give)"
    r"|(?:insufficient|not\s+enough|no)\s+(?:information|evidence|data)"
    r"|(?:i\s+)?(?:do\s+not|don['’]t)\s+know)\b",
    re.IGNORECASE,
)


class Scores(TypedDict):
    """The three measures of one answer, 0 to 1."""

    accuracy: float
    token_f1: float
    anls: float


def rule_of(answer_type: str) -> Rule:
    """The rule for an answer type; an unknown type is a text."""
    name = answer_type.lower()
    if "unanswer" in name or "abst" in name:
        return "unanswerable"
    if any(part in name for part in ("numeric", "number", "percent", "int", "float")):
        return "numeric"
    return "choice" if "choice" in name or "option" in name else "text"


def normalize(text: str) -> str:
    """Lower case without answer prefixes, articles and punctuation (but decimal points, `-`, `%`)."""
    shorter = _PREFIX.sub("", text).lower()
    return " ".join(_ARTICLES.sub(" ", _PUNCTUATION.sub(" ", shorter)).split())


def abstains(text: str) -> bool:
    """Whether an answer says that the documents don't tell."""
    return bool(_ABSTENTION.search(text))


def first_number(text: str) -> float | None:
    """The first number of a text; thousands may be grouped by commas."""
    found = _NUMBER.search(text)
    if found is None:
        return None
    return float(found[0].replace(",", "").replace("−", "-"))


def first_option(text: str) -> str | None:
    """The first option label (a single letter) of a text."""
    text = _PREFIX.sub("", " ".join(text.split()))
    for pattern in _OPTION:
        found = pattern.search(text)
        if found:
            return found[1].upper()
    return None


def gold_fits(gold: str, answer_type: str) -> bool:
    """Whether a gold answer holds what its type is compared by: a number, an option label, a text."""
    rule = rule_of(answer_type)
    if rule == "numeric":
        return first_number(gold) is not None
    return rule == "unanswerable" or bool(normalize(gold) if rule == "text" else first_option(gold))


def _same_number(gold: str, pred: str) -> bool | None:
    """Whether the first numbers agree; None where the gold answer has none."""
    wanted, got = first_number(gold), first_number(pred)
    if wanted is None:
        return None
    if got is None:
        return False
    return abs(got - wanted) < 1e-6 if wanted == 0 else abs(got - wanted) / abs(wanted) <= TOLERANCE


def _same_text(gold: str, pred: str) -> bool:
    wanted, got = normalize(gold), normalize(pred)
    if not wanted or not got:
        return wanted == got
    if wanted in got:
        return True
    shorter, longer = sorted((len(wanted), len(got)))
    return shorter >= SIMILAR * longer and 1 - levenshtein(wanted, got) / longer >= SIMILAR


def accuracy(gold: str, pred: str, answer_type: str) -> float:
    """1 where the prediction is right by the rule of its type, else 0."""
    rule = rule_of(answer_type)
    if rule == "unanswerable":
        return float(abstains(pred))
    same: bool | None = None
    if rule == "numeric":
        same = _same_number(gold, pred)
    elif rule == "choice" and first_option(gold) is not None:
        same = first_option(gold) == first_option(pred)
    return float(_same_text(gold, pred) if same is None else same)


def token_f1(gold: str, pred: str) -> float:
    """F1 of the sets of normalized tokens; two empty sets agree."""
    wanted, got = set(normalize(gold).split()), set(normalize(pred).split())
    if not wanted or not got:
        return float(wanted == got)
    return 2 * len(wanted & got) / (len(wanted) + len(got))


def score_answer(gold: object, pred: object, answer_type: str) -> Scores:
    """Scores a prediction by the three measures.

    `answer_type` is the benchmark's: unanswerable, numeric, percentage, single choice or a kind of text; the
    formats Int and Float count as numeric. A gold answer of a numeric or choice type without number or label
    is compared as text.
    """
    wanted, got = "" if gold is None else str(gold), "" if pred is None else str(pred)
    return {
        "accuracy": accuracy(wanted, got, answer_type),
        "token_f1": token_f1(wanted, got),
        "anls": anls(wanted, got),
    }
