"""Evidence chains among correct answers: is each right answer borne out at every stage before it?

After DocScope (arXiv:2605.08888, table 14). Of an answerable question, P: every gold page is cited; B: every
gold region is covered, which needs its page; F: every gold fact is said. As every gold page holds a gold
region, B needs P, so that six of the eight combinations can occur.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from eval.analyses.types import Outcome

COMBINATIONS = (
    (True, True, True),
    (True, True, False),
    (True, False, True),
    (True, False, False),
    (False, False, True),
    (False, False, False),
)
"""P, B and F in the order of a table: the complete chain first."""


@dataclass(frozen=True, slots=True)
class Chains:
    """How many correct answers have which chain.

    Attributes:
        counts: answers by (P, B, F), all six combinations.
        unjudged: correct answers left out: a region or a fact is not annotated or not judged.
        correct: correct answers to answerable questions, those left out included.
    """

    counts: dict[tuple[bool, bool, bool], int]
    unjudged: int
    correct: int

    @property
    def judged(self) -> int:
        """The denominator of the shares."""
        return sum(self.counts.values())

    def share(self, combination: tuple[bool, bool, bool]) -> float | None:
        """The share of a combination among the judged correct answers; None where there are none."""
        return self.counts[combination] / self.judged if self.judged else None


def chain(outcome: Outcome, *, lenient: bool = False) -> tuple[bool, bool, bool] | None:
    """P, B and F of a question, None where one of them is not known.

    Args:
        outcome: of an answerable question.
        lenient: an imprecise region counts as covered.
    """
    regions, facts = outcome.regions, outcome.facts
    if not outcome.gold_pages or not regions or not facts:
        return None
    if not set(outcome.gold_pages) <= set(outcome.gold_regions.values()):
        return None  # a gold page without a region: whether it was grounded cannot be said
    pages = set(outcome.gold_pages) <= outcome.predicted_pages
    wanted = ("covered", "imprecise") if lenient else ("covered",)
    covered = all(
        label in wanted and outcome.gold_regions.get(name) in outcome.predicted_pages
        for name, label in regions.items()
    )
    return pages, pages and covered, all(facts.values())


def chains(outcomes: Iterable[Outcome], *, lenient: bool = False) -> Chains:
    """Counts the chains of the correct answers to answerable questions."""
    counts: Counter[tuple[bool, bool, bool]] = Counter()
    correct = unjudged = 0
    for outcome in outcomes:
        if not outcome.answerable or not outcome.correct:
            continue
        correct += 1
        found = chain(outcome, lenient=lenient)
        if found is None:
            unjudged += 1
        else:
            counts[found] += 1
    return Chains({combination: counts[combination] for combination in COMBINATIONS}, unjudged, correct)
