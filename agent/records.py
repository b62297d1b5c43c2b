"""The records of a run and their JSON: rounds, errors, facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agent.types import Decision, EvidenceRegion, Fact, Usage
from indexes.types import BBox, PageRef
from retrieval.types import RetrievedPage

StopReason = Literal["answered", "abstained", "rounds", "pages", "seconds", "nothing_left", "error"]
"""Why a run ended.

`answered`, `abstained`: the reader had enough to say so. `rounds`, `pages`, `seconds`: that budget ended it,
with the best it had. `nothing_left`: no unread page and no further query were left. `error`: a step failed so
that no further round made sense; the errors say which.
"""


@dataclass(frozen=True, slots=True)
class StepError:
    """A step that failed: which, the error's type and its message on one line."""

    step: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """One retrieve-read-record pass.

    Attributes:
        number: from 1.
        retrieved: the ranking of the round's queries, fused; pages read before are not in it.
        read: the pages read, in the order of reading.
        facts: ids of the facts recorded or confirmed in this round.
        dropped: what a reader said that could not be grounded, and why.
        notes: what a model did wrong in it: a reply that could not be used, a page that does not exist; and
            which pages hold words addressed to their reader.
        seconds: how long the round took.
        usage: what the calls of the round cost.
    """

    number: int
    queries: tuple[str, ...] = ()
    retrieved: tuple[RetrievedPage, ...] = ()
    read: tuple[PageRef, ...] = ()
    facts: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    missing: tuple[int, ...] = ()
    decision: Decision | None = None
    errors: tuple[StepError, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)


def usage_json(usage: Usage) -> dict[str, int | float]:
    """What calls cost as JSON values."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "calls": usage.calls,
        "cost": round(usage.cost, 9),
    }


def read_usage(data: Mapping[str, Any]) -> Usage:
    """What calls cost from its JSON values."""
    return Usage(data["prompt_tokens"], data["completion_tokens"], data["calls"], data["cost"])


def ref_json(ref: PageRef) -> dict[str, str | int]:
    """A page as JSON values: its document and its number in it."""
    return {"doc": ref.doc_id, "page": ref.page}


def read_ref(data: Mapping[str, Any]) -> PageRef:
    """A page from JSON values that hold it."""
    return PageRef(data["doc"], data["page"])


def error_json(error: StepError) -> dict[str, str]:
    """An error as JSON values."""
    return {"step": error.step, "type": error.kind, "message": error.message}


def round_json(record: RoundRecord) -> dict[str, Any]:
    """A round as JSON values; `read_round` reads them back."""
    decision = record.decision
    return {
        "round": record.number,
        "queries": list(record.queries),
        "retrieved": [
            {
                **ref_json(page.ref),
                "rank": page.rank,
                "score": page.score,
                "matched": list(page.matched),
                "regions": [box.as_list() for box in page.regions],
            }
            for page in record.retrieved
        ],
        "read": [ref_json(ref) for ref in record.read],
        "facts": list(record.facts),
        "dropped": list(record.dropped),
        "missing": list(record.missing),
        "decision": decision
        and {"action": decision.action, "reason": decision.reason, "queries": list(decision.queries)},
        "errors": [error_json(error) for error in record.errors],
        "notes": list(record.notes),
        "seconds": record.seconds,
        "usage": usage_json(record.usage),
    }


def fact_json(fact: Fact, labels: Mapping[PageRef, str | None]) -> dict[str, Any]:
    """A fact as JSON values, its regions with their printed labels."""
    return {
        "id": fact.id,
        "text": fact.text,
        "quote": fact.quote,
        "regions": [
            {**ref_json(r.ref), "label": labels.get(r.ref), "bbox": r.bbox.as_list()} for r in fact.regions
        ],
        "support": fact.support,
        "round": fact.round,
        "score": fact.score,
        "part": fact.part,
    }


def read_errors(errors: Sequence[Mapping[str, str]]) -> tuple[StepError, ...]:
    """Errors from their JSON values."""
    return tuple(StepError(error["step"], error["type"], error["message"]) for error in errors)


def read_round(data: Mapping[str, Any]) -> RoundRecord:
    """A round from its JSON values."""
    decision = data["decision"]
    return RoundRecord(
        number=data["round"],
        queries=tuple(data["queries"]),
        retrieved=tuple(
            RetrievedPage(
                read_ref(page),
                page["score"],
                page["rank"],
                tuple(BBox(*box) for box in page["regions"]),
                tuple(page["matched"]),
            )
            for page in data["retrieved"]
        ),
        read=tuple(read_ref(page) for page in data["read"]),
        facts=tuple(data["facts"]),
        dropped=tuple(data["dropped"]),
        missing=tuple(data["missing"]),
        decision=decision and Decision(decision["action"], decision["reason"], tuple(decision["queries"])),
        errors=read_errors(data["errors"]),
        notes=tuple(data["notes"]),
        seconds=data["seconds"],
        usage=read_usage(data["usage"]),
    )


def read_fact(data: Mapping[str, Any]) -> Fact:
    """A fact from its JSON values."""
    return Fact(
        id=data["id"],
        text=data["text"],
        quote=data["quote"],
        regions=tuple(EvidenceRegion(read_ref(r), BBox(*r["bbox"])) for r in data["regions"]),
        support=data["support"],
        round=data["round"],
        score=data["score"],
        part=data["part"],
    )
