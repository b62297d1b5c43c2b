"""The stage at which a wrong answer first went wrong: page, bbox, fact or answer.

The stages are those of DocScope (arXiv:2605.08888): a gold page is not cited; a gold region is not covered; a
gold fact is not said; all of them are there and the answer is wrong all the same.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from eval.analyses.types import Outcome

Stage = Literal["page", "bbox", "fact", "answer", "later", "answered", "run", "unknown"]
STAGES: dict[Stage, str] = {
    "page": "a gold page is not cited",
    "bbox": "a gold region is not covered",
    "fact": "a gold fact is not said",
    "answer": "pages, regions and facts are there, the answer is wrong",
    "later": "the pages are cited; regions or facts are not annotated or not judged",
    "answered": "the documents don't tell, but an answer was given",
    "run": "the run has no answer",
    "unknown": "the benchmark names no gold pages",
}


def stage(outcome: Outcome, *, lenient: bool = False) -> Stage | None:
    """Where a wrong answer first went wrong; None for a right or an unscored one.

    Args:
        outcome: any question.
        lenient: an imprecise region counts as covered.
    """
    if outcome.failed:
        return "run"
    if outcome.correct is None or outcome.correct:
        return None
    if not outcome.answerable:
        return "answered"
    if not outcome.gold_pages:
        return "unknown"
    if not set(outcome.gold_pages) <= outcome.predicted_pages:
        return "page"
    if not outcome.regions:
        return "later"
    wanted = ("covered", "imprecise") if lenient else ("covered",)
    if any(label not in wanted for label in outcome.regions.values()):
        return "bbox"
    if not outcome.facts:
        return "later"
    return "answer" if all(outcome.facts.values()) else "fact"


@dataclass(frozen=True, slots=True)
class Stages:
    """Wrong answers by the stage of their first failure; `wrong` is their sum, `unscored` is apart."""

    counts: dict[Stage, int]
    wrong: int
    unscored: int


def stages(outcomes: Iterable[Outcome], *, lenient: bool = False) -> Stages:
    """Counts the stages of first failure over all wrong answers."""
    counts: Counter[Stage] = Counter()
    unscored = 0
    for outcome in outcomes:
        found = stage(outcome, lenient=lenient)
        if found is not None:
            counts[found] += 1
        elif outcome.correct is None:
            unscored += 1
    return Stages({name: counts[name] for name in STAGES}, sum(counts.values()), unscored)
