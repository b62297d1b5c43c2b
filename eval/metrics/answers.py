"""Answers of any form compared by rules, where no judge is asked: DocScope and FinanceBench without a model.

The rule is our own and stands for a judge's verdict only until there is one; tables name it.
"""

import re

from agent.readers.extractive.text import fold, numbers
from eval.metrics.xldocbench import abstains

TOLERANCE = 0.01
YES_NO = (["yes"], ["no"])


def score_answer(gold: str, pred: str, *, answerable: bool = True) -> bool:
    """Whether a short answer is right.

    Unanswerable: it abstains. Two answers that begin with yes or no must begin with the same. Numbers: it has
    the first number of the gold answer within 1 %, a percentage also as a share. Else: it has the gold
    answer's words in their order, or they have its, at least half of them.
    """
    pred = " ".join(pred.split())
    if not answerable or not pred.strip() or abstains(pred):
        return not answerable and abstains(pred)
    words, said = re.findall(r"\w+", fold(gold)), re.findall(r"\w+", fold(pred))
    if words[:1] in YES_NO and said[:1] in YES_NO:
        return words[:1] == said[:1]
    wanted, got = [n.value for n in numbers(gold)], [n.value for n in numbers(pred)]
    if wanted and got:
        return any(_close(wanted[0], value * factor) for value in got for factor in (1.0, 100.0, 0.01))
    if said[:1] in YES_NO:
        return False
    return _within(words, said) or (2 * len(said) >= len(words) and _within(said, words))


def _close(gold: float, pred: float) -> bool:
    return abs(abs(pred) - abs(gold)) <= TOLERANCE * max(abs(gold), 1e-9)


def _within(part: list[str], whole: list[str]) -> bool:
    return bool(part) and f" {' '.join(part)} " in f" {' '.join(whole)} "
