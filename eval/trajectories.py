"""What the trajectory of a row adds to its answer: the rounds, the first ranking, what it cost."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.analyses.rounds import RoundTaken
from indexes.files import document_id
from indexes.types import PageRef


@dataclass(frozen=True, slots=True)
class Spent:
    """What a question cost; `money` is in the currency of the config's prices."""

    rounds: int
    pages: int
    seconds: float
    tokens: int
    money: float


@dataclass(frozen=True, slots=True)
class Told:
    """What a trajectory tells the scorers.

    Attributes:
        ranking: the first round's, best first.
        useful: the last round that recorded a fact which the answer rests on; 0 without any.
        page_counts: pages by document.
    """

    rounds: tuple[RoundTaken, ...]
    ranking: tuple[PageRef, ...]
    useful: int
    confidence: float | None
    spent: Spent
    page_counts: Mapping[str, int] = field(default_factory=dict)


def told(row: Mapping[str, Any], documents: Sequence[Path]) -> Told | None:
    """Reads the trajectory of a row; None where there is none of ours, or one that cannot be read.

    Args:
        row: of an `infer.jsonl`.
        documents: the question's; a page that does not say whose it is belongs to the only one.
    """
    trajectory = row.get("trajectory")
    only = document_id(documents[0]) if len(documents) == 1 else ""
    try:
        return _told(trajectory, only) if isinstance(trajectory, dict) else None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
        return None


def _told(trajectory: Mapping[str, Any], only: str) -> Told:
    rounds = tuple(_round(record, only) for record in trajectory["rounds"])
    first = trajectory["rounds"][0]["retrieved"] if rounds else []
    usage, answer = trajectory["usage"], trajectory["answer"]
    recorded = {fact["id"]: int(fact["round"]) for fact in trajectory["facts"]}
    confidence = answer.get("confidence")
    ranking = tuple(_ref(page, only) for page in sorted(first, key=lambda page: page["rank"]))
    if len(set(ranking)) < len(ranking):
        raise ValueError("a page stands in the ranking twice")
    return Told(
        rounds=rounds,
        ranking=ranking,
        useful=min(len(rounds), max((recorded.get(name, 0) for name in answer["fact_ids"]), default=0)),
        confidence=None if confidence is None else _amount(confidence),
        spent=Spent(
            rounds=len(rounds),
            pages=sum(len(taken.read) for taken in rounds),
            seconds=_amount(trajectory["timings"]["total"]),
            tokens=int(usage["total_tokens"]),
            money=_amount(usage["cost"]),
        ),
        page_counts={
            str(known["doc"]): int(known["pages"]) for known in trajectory["documents"] if "pages" in known
        },
    )


def _round(record: Mapping[str, Any], only: str) -> RoundTaken:
    return RoundTaken(
        frozenset(_ref(page, only) for page in record["retrieved"]),
        frozenset(_ref(page, only) for page in record["read"]),
        _amount(record["seconds"]),
        int(record["usage"]["total_tokens"]),
    )


def _amount(value: Any) -> float:
    """A number that can be summed up; ValueError for any other."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number}: expected a finite number")
    return number


def _ref(page: Mapping[str, Any], only: str) -> PageRef:
    # of one document the question's name of it counts, whatever the file was called when it was read
    return PageRef(only or str(page["doc"]), int(page["page"]))
