"""The graph's nodes: functions of the state and the run that return partial updates.

Calls of a reader, a retriever or a document may fail: the failure becomes a `StepError` and the run goes on
with what it has.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from agent.deadline import lasting
from agent.grounding import Dropped, Grounded, evidence, ground
from agent.ledger import record as record_facts
from agent.matching import PageText
from agent.models import BusyModelError, ModelError, OutOfTimeError
from agent.naming import page_name
from agent.replies import guarded, sound_decision, sound_pages, sound_plan, sound_reading
from agent.sifting import Sifted, sifted
from agent.state import Labels, Run, State, Timer, spent, time_for
from agent.stopping import gave_up, out_of_time, stop_reason
from agent.trajectory import RoundRecord, StepError
from agent.types import DecideTask, Decision, DraftAnswer, FactDraft, Plan, Reading, ReadTask, Usage
from indexes.plain import plain
from indexes.types import BBox, Page, PageRef
from retrieval.types import RetrievedPage

_NO_TIME = "the budget of seconds is spent"
LISTED = 10  # pages of a ranking that a round records, read or not


def plan(state: State, run: Run) -> State:
    """Splits the question; a reader that fails leaves the question itself as the query."""
    timer, errors, question = Timer(run.clock), list[StepError](), state["question"]
    made = Plan("span", (question,), (question,))
    with guarded("plan", errors), lasting(time_for(state, run, timer)):
        made = sound_plan(run.reader.plan(question, run.outline), question)
    update: State = {"strategy": made, "queries": made.queries, "errors": errors}
    return update | {"seconds": {"plan": timer()}, "usage": made.usage}


def retrieve(state: State, run: Run) -> State:
    """Ranks the unread pages for the round's queries; the pages a reader asked for come first."""
    timer, errors = Timer(run.clock), list[StepError]()
    seen = set(state.get("seen", ()))
    rankings = []
    for query in state["queries"]:
        with guarded("retrieve", errors):
            found = run.retriever.retrieve(query, max(run.config.k, LISTED), seen)
            pages = sound_pages(found, run.sizes)
            rankings.append([page for page in pages if page.ref not in seen])
    wanted = [ref for ref in state.get("wanted", ()) if ref not in seen]
    record = RoundRecord(
        number=len(state.get("rounds", ())) + 1,
        queries=tuple(state["queries"]),
        retrieved=fuse(wanted, rankings),
        errors=tuple(errors),
        seconds=timer(),
    )
    return {"rounds": [record], "asked": list(state["queries"]), "seconds": {"retrieve": record.seconds}}


def fuse(wanted: Sequence[PageRef], rankings: Sequence[Sequence[RetrievedPage]]) -> tuple[RetrievedPage, ...]:
    """One ranking out of several: wanted pages, then the first of every query, the second, and so on.

    A page keeps the score of the ranking that named it first; ranks count anew from 1.
    """
    pages = [RetrievedPage(ref, 0.0, 1, matched=("wanted by the reader",)) for ref in wanted]
    deepest = max(map(len, rankings), default=0)
    pages += [ranking[i] for i in range(deepest) for ranking in rankings if i < len(ranking)]
    first: dict[PageRef, RetrievedPage] = {}
    for page in pages:
        known = first.get(page.ref)
        if known is None:
            first[page.ref] = page
        else:
            scored = {**dict(page.scored), **dict(known.scored)}
            regions = tuple(dict.fromkeys([*known.regions, *page.regions]))
            matched = tuple(dict.fromkeys([*known.matched, *page.matched]))
            scores = tuple(scored[box] for box in regions)
            first[page.ref] = replace(known, regions=regions, matched=matched, region_scores=scores)
    return tuple(replace(page, rank=rank) for rank, page in enumerate(first.values(), start=1))


def read(state: State, run: Run) -> State:
    """Reads the best unread pages into drafts; where a reader fails on several, each is tried alone."""
    timer, record = Timer(run.clock), state["rounds"][-1]
    room = max(0, run.config.max_pages - len(state.get("seen", ())))
    late = record.number > 1 and spent(state) >= run.config.max_seconds
    refs = [] if late else [page.ref for page in record.retrieved[: min(run.config.k, room)]]
    errors = list(record.errors)
    found: dict[PageRef, Sifted] = {}
    with guarded("read", errors):
        found = {ref: sifted(page, state["question"]) for ref, page in run.layout(refs).items()}
    pages = {ref: sift.page for ref, sift in found.items()}
    for ref in refs:
        why = "could not be opened" if ref not in pages else _unread(pages[ref], run)
        if why is not None:
            name = page_name(ref, several=run.several)
            errors.append(StepError("read", "MissingPage", f"{name} {why}"))
            pages.pop(ref, None)
    readings = _readings(state, run, [pages[ref] for ref in refs if ref in pages], errors, timer)
    missing = _still_missing(readings, state)
    record = replace(
        record,
        read=tuple(refs),
        errors=tuple(errors),
        missing=missing,
        notes=(
            *record.notes,
            *_orders(found, run),
            *(n for r in readings for n in (*r.notes, *_strange(r, run))),
        ),
        seconds=record.seconds + timer(),
        usage=sum((reading.usage for reading in readings), record.usage),
    )
    return {
        "rounds": [record],
        "seen": refs,
        "labels": _labels(pages.values()),
        "drafts": tuple(draft for reading in readings for draft in reading.drafts),
        "missing": missing,
        "orders": sorted({token for sift in found.values() for token in sift.told}),
        "wanted": _wanted(readings, run, {*state.get("seen", ()), *refs}),
        "seconds": {"read": timer()},
        "usage": sum((reading.usage for reading in readings), Usage()),
    }


def _unread(page: Page, run: Run) -> str | None:
    """Why a page that opens holds nothing to read, as the document says it; None where nothing went wrong."""
    why = run.failed(page.ref)
    return None if why is None or len(page.words) else f"could not be read: {plain(why, 200)}"


def _orders(found: Mapping[PageRef, Sifted], run: Run) -> list[str]:
    """Which pages hold words that are addressed to their reader, and the first of them."""
    return [
        f"{page_name(ref, several=run.several)} holds words addressed to its reader, which are no evidence: "
        f"{plain(' '.join(sift.passages), 80)!r}"
        for ref, sift in found.items()
        if sift.words
    ]


def _labels(pages: Iterable[Page]) -> Labels:
    labels: Labels = {}
    for page in pages:
        labels.setdefault(page.ref.doc_id, {})[page.ref.page] = page.label
    return labels


def _readings(
    state: State, run: Run, pages: Sequence[Page], errors: list[StepError], timer: Timer
) -> list[Reading]:
    """The pages read together, or where that fails each alone, where that makes sense and time is left."""
    if not pages:
        return []
    parts, left = len(state["strategy"].parts), time_for(state, run, timer)
    vain = ""
    with guarded("read", errors), lasting(left):
        try:
            return [sound_reading(run.reader.read(_task(state, run, pages)), parts)]
        except BusyModelError:
            vain = "the endpoint turns every try away"
            raise
        except OutOfTimeError:
            vain = _NO_TIME
            raise
    readings = []
    for page in pages if len(pages) > 1 else ():
        step = f"read {page_name(page.ref, several=run.several)}"
        with guarded(step, errors), lasting(left):
            if not vain and left() <= 0:
                vain = _NO_TIME
            if vain:
                raise ModelError(f"not read alone: {vain}")
            readings.append(sound_reading(run.reader.read(_task(state, run, [page])), parts))
    return readings


def _task(state: State, run: Run, pages: Sequence[Page]) -> ReadTask:
    refs = {page.ref for page in pages}
    return ReadTask(
        question=state["question"],
        plan=state["strategy"],
        pages=pages,
        retrieved=[page for page in state["rounds"][-1].retrieved if page.ref in refs],
        facts=state.get("facts", []),
        outline=run.outline,
        images=run.images,
        documents=tuple(run.sizes),
    )


def _still_missing(readings: Sequence[Reading], state: State) -> tuple[int, ...]:
    """The parts that no reading of the round covers; those of the round before where nothing was read."""
    if not readings:
        return tuple(state.get("missing", range(len(state["strategy"].parts))))
    common = set(readings[0].missing).intersection(*(reading.missing for reading in readings[1:]))
    return tuple(sorted(common))


def _strange(reading: Reading, run: Run) -> list[str]:
    """What a reader wants to see and no document has."""
    gone = [ref for ref in reading.wanted if not run.holds(ref)]
    return [
        f"{page_name(ref, several=run.several)}, which is wanted next, does not exist" for ref in gone[:5]
    ]


def _wanted(readings: Sequence[Reading], run: Run, seen: set[PageRef]) -> tuple[PageRef, ...]:
    refs = [ref for reading in readings for ref in reading.wanted if run.holds(ref)]
    return tuple(dict.fromkeys(ref for ref in refs if ref not in seen))[: run.config.k]


def record(state: State, run: Run) -> State:
    """Grounds the round's drafts and enters them in the ledger; what stands nowhere is dropped, and said."""
    timer, latest = Timer(run.clock), state["rounds"][-1]
    read = run.layout(latest.read) if state["drafts"] else {}
    pages = {ref: evidence(sifted(page, state["question"])) for ref, page in read.items()}
    grounded: list[Grounded] = []
    notes: list[str] = []
    seen = {page.ref: page.regions for page in latest.retrieved}
    for draft in state["drafts"]:
        outcome = _grounded(draft, pages, seen, run)
        if isinstance(outcome, Dropped):
            notes.append(_of(draft.ref, outcome.reason, run))
        else:
            grounded.append(outcome)
            notes += [f"{page_name(draft.ref, several=run.several)}: {note}" for note in outcome.notes]
    done = record_facts(state.get("facts", []), grounded, latest.number)
    updated = replace(
        latest,
        facts=done.ids,
        dropped=tuple(plain(n, 200) for n in [*notes, *(_of(*left, run) for left in done.dropped)]),
        seconds=latest.seconds + timer(),
    )
    return {"rounds": [updated], "facts": list(done.facts), "drafts": (), "seconds": {"record": timer()}}


def _of(ref: PageRef, reason: str, run: Run) -> str:
    """A reason that begins with its page, of several documents with the page's document."""
    return reason.replace(page_name(ref), page_name(ref, several=True), 1) if run.several else reason


def _grounded(
    draft: FactDraft, pages: Mapping[PageRef, PageText], seen: Mapping[PageRef, Sequence[BBox]], run: Run
) -> Grounded | Dropped:
    size = run.sizes.get(draft.ref.doc_id)
    if size is None:
        return Dropped(draft, f"page {draft.ref.page}: no document of the run")
    if draft.ref.page > size:
        return Dropped(draft, f"page {draft.ref.page}: the document has {size} pages")
    if draft.ref not in pages:
        return Dropped(draft, f"page {draft.ref.page}: it was not read in this round")
    return ground(draft, pages[draft.ref], seen.get(draft.ref, ()))


def decide(state: State, run: Run) -> State:
    """Asks the reader whether the ledger is enough, within the budgets.

    It is asked again where it had called the ledger enough, and the answer came to nothing.
    """
    timer, latest, errors = Timer(run.clock), state["rounds"][-1], list[StepError]()
    tried = state.get("reply")
    decision = Decision("answer", "the reader could not decide")
    with guarded("decide", errors), lasting(time_for(state, run, timer)):
        decision = sound_decision(run.reader.decide(_decide_task(state, run)))
    late = gave_up(errors)
    stop = "seconds" if late else stop_reason(state, run, decision, failed=bool(errors))
    cost, notes = _with_try(decision, tried if stop is None else None)
    before = latest.decision or Decision("answer", "")
    seconds = timer()
    updated = replace(
        latest,
        decision=replace(decision, usage=before.usage + cost, notes=(*before.notes, *notes)),
        errors=(*latest.errors, *errors),
        seconds=latest.seconds + seconds,
        notes=(*latest.notes, *notes),
        usage=latest.usage + cost,
    )
    update: State = {"rounds": [updated], "seconds": {"decide": seconds}, "stop": stop}
    update |= {"usage": decision.usage}
    if stop is None:
        # Without queries of its own, another round takes the next pages of the ranking.
        update |= {"queries": decision.queries or state["queries"], "reply": None}
    return update


def _decide_task(state: State, run: Run) -> DecideTask:
    latest, tried = state["rounds"][-1], state.get("reply")
    late = out_of_time(state, run)
    return DecideTask(
        question=state["question"],
        plan=state["strategy"],
        facts=state.get("facts", []),
        missing=tuple(state.get("missing", ())),
        queries=state.get("asked", []),
        rounds_left=0 if late else max(0, run.config.rounds - latest.number),
        pages_left=max(0, run.config.max_pages - len(state.get("seen", ()))),
        round=latest.number,
        abstained="" if tried is None else tried.reason,
    )


def _with_try(decision: Decision, tried: DraftAnswer | None) -> tuple[Usage, tuple[str, ...]]:
    """What a decision cost and noted, with the answer that was tried before it: both belong to the round."""
    if tried is None:
        return decision.usage, decision.notes
    said = f"answer: tried in vain: {plain(tried.reason, 200)}"
    return decision.usage + tried.usage, (said, *tried.notes, *decision.notes)
