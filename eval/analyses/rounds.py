"""What each round buys: the gold pages found so far, who still runs, and the last useful round.

Everything is read off one long run by prefix: the pages of rounds 1 to r are those that a run stopped after r
would have had. (XL-DocBench's figures 5 and 6 draw the same.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from indexes.types import PageRef

Kind = Literal["retrieved", "read"]
Measure = Literal["recall", "any_hit", "all_hit"]
KINDS: tuple[Kind, ...] = ("retrieved", "read")
MEASURES: tuple[Measure, ...] = ("recall", "any_hit", "all_hit")


@dataclass(frozen=True, slots=True)
class RoundTaken:
    """A round of a question: the pages ranked and read in it, and what it cost."""

    retrieved: frozenset[PageRef]
    read: frozenset[PageRef]
    seconds: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Journey:
    """The rounds of a question.

    Attributes:
        document: what the bootstrap draws.
        gold: the gold pages; empty where there are none or the question is unanswerable.
        useful: the last round in which a fact that the final answer rests on was recorded; 0 without any.
    """

    id: str
    document: str
    gold: frozenset[PageRef]
    rounds: tuple[RoundTaken, ...]
    useful: int = 0

    def pages(self, after: int, kind: Kind) -> frozenset[PageRef]:
        """The pages of the rounds 1 to `after`; a question that stopped keeps what it has."""
        found: frozenset[PageRef] = frozenset()
        for taken in self.rounds[:after]:
            found |= taken.retrieved if kind == "retrieved" else taken.read
        return found


def found(journey: Journey, after: int, kind: Kind, measure: Measure) -> float:
    """How much of the gold evidence the rounds 1 to `after` found.

    Raises:
        ValueError: the question has no gold pages, so that nothing can be found.
    """
    if not journey.gold:
        raise ValueError(f"question {journey.id}: no gold pages, so no recall of them")
    share = len(journey.gold & journey.pages(after, kind)) / len(journey.gold)
    if measure == "recall":
        return share
    return float(share > 0) if measure == "any_hit" else float(share == 1)


def with_gold(journeys: Sequence[Journey]) -> list[Journey]:
    """Those that have gold pages: the denominator of every evidence curve."""
    return [journey for journey in journeys if journey.gold]


def still_running(journeys: Sequence[Journey], number: int) -> list[Journey]:
    """Those that took round `number`."""
    return [journey for journey in journeys if len(journey.rounds) >= number]


def last_gain(journey: Journey, kind: Kind = "read") -> int:
    """The last round that found a new gold page; 0 where none did."""
    best, last = 0, 0
    for number in range(1, len(journey.rounds) + 1):
        now = len(journey.gold & journey.pages(number, kind))
        if now > best:
            best, last = now, number
    return last


@dataclass(frozen=True, slots=True)
class LastUseful:
    """Where the last useful round lies.

    Attributes:
        evidence: questions by the last round that read a new gold page (0: none was read); those with gold.
        answer: answered questions by the last round that recorded a fact the answer rests on (0: on none).
    """

    evidence: dict[int, int]
    answer: dict[int, int]


def last_useful(journeys: Sequence[Journey], answered: Sequence[str]) -> LastUseful:
    """Counts questions by their last useful round; `answered` are the ids of those with an answer."""
    longest = max((len(j.rounds) for j in journeys), default=0)
    evidence, answer = dict.fromkeys(range(longest + 1), 0), dict.fromkeys(range(longest + 1), 0)
    given = set(answered)
    for journey in journeys:
        if journey.gold:
            evidence[last_gain(journey)] += 1
        if journey.id in given:
            answer[journey.useful] += 1
    return LastUseful(evidence, answer)


def last_gainful(values: Sequence[float]) -> int:
    """The place, from 1, of the first value that no later one exceeds: beyond it nothing is bought."""
    return max(range(len(values)), key=lambda i: (values[i], -i)) + 1 if values else 0
