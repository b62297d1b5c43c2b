"""Whether gold facts are borne out by what was answered: word support without a judge, and the rates.

Word support is a stand-in for a text judge, and is called so: a fact is consistent where the prose says it in
the fact's own numbers and words, or where a sentence that cites the fact's page says something out of it. Of
a fact that is a table's row (a label and several values) the label and one value are enough.
"""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TypedDict

WORDS = 0.6  # share of a fact's content words that the prose must have
SENTENCE = 0.8  # share of a sentence's content words that the fact must have
FEW = 3  # content words that a sentence without numbers must share with the fact

_TOKEN = re.compile(r"\d[\d,]*(?:\.\d+)?|[^\W\d_]+")
_STOP = frozenset(
    "a an and are as at be been but by did do does for from had has have in into is it its of on or per such "
    "than that the their there these this those to was were which while with under over between during "
    "respectively".split()
)


MAX_ROW = 400  # characters; a longer fact is no table's row
_ROW = re.compile(r"([^\d]{3,200}?)((?:[\s$€£(|-]++\d[\d,.]*+[%)]*+){2,40}+)[\s)]*+")


class FactRates(TypedDict):
    """`consistent` of `judged` facts; `rate_all` divides by all gold facts; None where a denominator is 0."""

    consistent: int
    judged: int
    unscored: int
    rate: float | None
    rate_all: float | None


@lru_cache(maxsize=4096)
def content(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The numbers (thousands without commas) and the content words (lower case, without a plural s)."""
    numbers, words = set(), set()
    for token in _TOKEN.findall(text.lower()):
        if token[0].isdigit():
            plain = token.replace(",", "")
            numbers.add(plain.rstrip("0").rstrip(".") if "." in plain else plain)
        elif token not in _STOP and len(token) > 1:
            words.add(token[:-1] if token.endswith("s") and len(token) > 3 else token)
    return frozenset(numbers), frozenset(words)


def word_support(fact: str, prose: str, cited: Sequence[str]) -> bool:
    """Whether the prose says a fact.

    Args:
        fact: the gold fact.
        prose: the answer's text, without what it says is missing.
        cited: the sentences of it that cite the fact's page.
    """
    numbers, words = content(fact)
    said_numbers, said_words = content(prose)
    if (numbers or words) and numbers <= said_numbers and len(words & said_words) >= WORDS * len(words):
        return True
    row = _ROW.fullmatch(fact.strip()) if len(fact) <= MAX_ROW else None
    return any(_out_of(s, numbers, words) or (row and _of_row(s, row[1], row[2])) for s in cited)


def _out_of(sentence: str, numbers: Collection[str], words: frozenset[str]) -> bool:
    """Whether a sentence says something that stands in a fact: all its numbers, nearly all its words."""
    own_numbers, own_words = content(sentence)
    if not own_numbers <= set(numbers) or not (own_numbers or own_words):
        return False
    shared = len(own_words & words)
    return shared >= SENTENCE * len(own_words) and (bool(own_numbers) or shared >= FEW)


def _of_row(sentence: str, label: str, values: str) -> bool:
    """Whether a sentence gives a value of a table's row under the row's label."""
    (said, said_words), (_, words), (numbers, _) = map(content, (sentence, label, values))
    return bool(words) and len(words & said_words) >= SENTENCE * len(words) and bool(numbers & said)


def fact_rates(verdicts: Sequence[bool | None], missed: int = 0) -> FactRates:
    """Consistent facts among those judged.

    Args:
        verdicts: of the gold facts on gold pages that were predicted; None for a fact that a judge could not
            judge: it is left out and counted.
        missed: gold facts on pages that were not predicted; only `rate_all` knows them.
    """
    judged = [verdict for verdict in verdicts if verdict is not None]
    consistent, whole = sum(judged), len(judged) + missed
    return {
        "consistent": consistent,
        "judged": len(judged),
        "unscored": len(verdicts) - len(judged),
        "rate": consistent / len(judged) if judged else None,
        "rate_all": consistent / whole if whole else None,
    }
