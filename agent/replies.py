"""What readers, retrievers and documents give back, checked before the graph relies on it.

A reader may be a model, and a model makes mistakes: a reply that cannot be used raises `ValueError` or
`TypeError` here, inside `guarded`, and becomes a recorded error of its step.
"""

import math
import operator
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import get_args

from agent.models import UnusableReplyError
from agent.trajectory import StepError
from agent.types import Action, AnswerType, Decision, DraftAnswer, FactDraft, Plan, Reading, Usage
from indexes.errors import InputError
from indexes.plain import plain
from indexes.types import BBox, PageRef
from retrieval.types import RetrievedPage

MAX_QUERIES = 8
MAX_QUERY = 500  # characters
MAX_PARTS = 16
MAX_DRAFTS = 2000
MAX_NOTES = 20
OURS = (AssertionError, NameError, NotImplementedError, ImportError)
"""Errors that are a mistake of ours whoever raises them: they are never recorded, they raise."""


@contextmanager
def guarded(step: str, errors: list[StepError], costs: list[Usage] | None = None) -> Iterator[None]:
    """Turns a failure of what a run was given into a recorded error; `OURS` and users' errors raise.

    What a model's unusable replies cost is added to `costs`.
    """
    try:
        yield
    except (*OURS, InputError):
        raise
    except Exception as error:
        errors.append(StepError(step, type(error).__name__, plain(str(error), 300)))
        if costs is not None and isinstance(error, UnusableReplyError):
            costs.append(error.usage)


def sound_queries(queries: Iterable[str]) -> tuple[str, ...]:
    """Queries on one line each, without repetitions and empty ones, bounded."""
    texts = (plain(query, MAX_QUERY) for query in queries)
    return tuple(dict.fromkeys(text for text in texts if text))[:MAX_QUERIES]


def sound_plan(plan: Plan, question: str) -> Plan:
    """A plan with at least one part and one query.

    Raises:
        ValueError: it names an unknown answer type.
    """
    if plan.answer_type not in get_args(AnswerType):
        raise ValueError(
            f"answer type {plan.answer_type!r}: expected one of {', '.join(get_args(AnswerType))}"
        )
    parts = tuple(plain(part, MAX_QUERY) for part in plan.parts)[:MAX_PARTS]
    return Plan(
        plan.answer_type,
        parts or (question,),
        sound_queries(plan.queries) or (question,),
        sound_usage(plan.usage),
        sound_notes(plan.notes),
        bool(plan.sweep),
    )


def sound_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """What a model did wrong, a line each, bounded."""
    return tuple(plain(note, 300) for note in tuple(notes)[:MAX_NOTES])


def sound_costs(reply: DraftAnswer) -> DraftAnswer:
    """An answer whose usage and notes are sound."""
    return replace(
        reply,
        usage=sound_usage(reply.usage),
        notes=sound_notes(reply.notes),
        coverage=plain(reply.coverage, 500),
        unsupported=plain(reply.unsupported, 500),
        incomplete=bool(reply.incomplete),
    )


def sound_usage(usage: Usage) -> Usage:
    """What calls cost, in plain numbers.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(usage, Usage):
        raise TypeError(f"usage {usage!r:.80}: expected a Usage")
    tokens = operator.index(usage.prompt_tokens), operator.index(usage.completion_tokens)
    cost = float(usage.cost)
    return Usage(*tokens, operator.index(usage.calls), cost if math.isfinite(cost) else 0.0)


def sound_decision(decision: Decision) -> Decision:
    """A decision with bounded texts.

    Raises:
        ValueError: it names an unknown action.
    """
    known = get_args(Action)
    if decision.action not in known:
        raise ValueError(f"action {decision.action!r}: expected one of {', '.join(known)}")
    return Decision(
        decision.action,
        plain(decision.reason, 500),
        sound_queries(decision.queries),
        sound_usage(decision.usage),
        sound_notes(decision.notes),
    )


def sound_reading(reading: Reading, parts: int) -> Reading:
    """A reading whose drafts are sound, bounded in number.

    Args:
        reading: what a reader gave back.
        parts: how many parts the plan has; a draft of another counts for the first.
    """
    drafts = tuple(_sound_draft(draft, parts) for draft in tuple(reading.drafts)[:MAX_DRAFTS])
    missing = tuple(sorted({operator.index(part) for part in reading.missing} & set(range(parts))))
    wanted = tuple(_sound_ref(ref) for ref in reading.wanted)
    return Reading(drafts, missing, wanted, sound_usage(reading.usage), sound_notes(reading.notes))


def _sound_ref(ref: PageRef) -> PageRef:
    if not isinstance(ref, PageRef):
        raise TypeError(f"page {ref!r}: expected a PageRef")
    return ref


def _sound_draft(draft: FactDraft, parts: int) -> FactDraft:
    if not isinstance(draft, FactDraft):
        raise TypeError(f"fact {draft!r:.80}: expected a FactDraft")
    if draft.bbox is not None and not isinstance(draft.bbox, BBox):
        raise TypeError(f"box {draft.bbox!r:.80}: expected a BBox")
    score, part = float(draft.score), operator.index(draft.part)
    return replace(
        draft,
        ref=_sound_ref(draft.ref),
        text=str(draft.text),
        quote=str(draft.quote),
        score=score if math.isfinite(score) else 0.0,
        part=part if 0 <= part < parts else 0,
        words=tuple((operator.index(start), operator.index(end)) for start, end in draft.words),
        blocks=tuple(map(operator.index, draft.blocks)),
        cells=tuple(
            (operator.index(block), operator.index(row), operator.index(column))
            for block, row, column in draft.cells
        ),
    )


def sound_pages(pages: Iterable[RetrievedPage], sizes: Mapping[str, int]) -> list[RetrievedPage]:
    """Retrieved pages that the documents have, with plain numbers, ready to be written as JSON.

    Args:
        pages: what a retriever gave back.
        sizes: how many pages each document has.
    """
    out = []
    for page in pages:
        if page.ref.page > sizes.get(page.ref.doc_id, 0):
            continue
        score = float(page.score)
        boxes = tuple(BBox(*(round(float(v), 5) for v in box.as_list())) for box in page.regions)
        out.append(
            replace(
                page,
                ref=PageRef(page.ref.doc_id, int(page.ref.page)),
                score=round(score, 6) if math.isfinite(score) else 0.0,
                rank=int(page.rank),
                regions=boxes,
                matched=tuple(map(str, page.matched)),
            )
        )
    return out
