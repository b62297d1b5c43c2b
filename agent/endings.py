"""The graph's last nodes: the answer from the ledger, and whether it follows from it."""

from collections.abc import Sequence
from dataclasses import replace

from agent.coverage import with_coverage
from agent.deadline import lasting
from agent.replies import guarded, sound_costs
from agent.state import Run, State, Timer, answered, time_for
from agent.trajectory import RoundRecord, StepError
from agent.types import DraftAnswer, Objection, Usage
from agent.verify import abstention, checked, marked, objection
from indexes.plain import plain

ANSWERING = 30.0
"""Seconds that tries of an answer have in any case, so that one busy moment at the end loses no run."""


def answer(state: State, run: Run) -> State:
    """Answers from the ledger; a reader that fails leaves no answer, which is not an abstention."""
    timer, errors = Timer(run.clock), list[StepError]()
    facts = state.get("facts", [])
    reply, costs = None, list[Usage]()
    with guarded("answer", errors, costs), lasting(time_for(state, run, timer, ANSWERING)):
        given = run.reader.answer(state["question"], state["strategy"], facts)
        reply = checked(sound_costs(given), facts)
    update: State = {"errors": errors, "seconds": {"answer": timer()}}
    if reply is None:
        cost = sum(costs, Usage())
        failed = replace(abstention("the reader failed"), usage=cost)
        return update | {"reply": failed, "failure": _said(errors), "stop": "error", "usage": cost}
    if not facts and _nothing_was_read(state):
        failures = [error for item in state["rounds"] for error in item.errors]
        update |= {"failure": _said(failures), "stop": "error"}
    return update | {"reply": reply, "usage": reply.usage}


def _nothing_was_read(state: State) -> bool:
    """Whether every page of the run failed, so that an abstention would only hide that."""
    rounds = state.get("rounds", [])
    return bool(rounds) and all(item.errors and (not item.read or _all_failed(item)) for item in rounds)


def _all_failed(item: RoundRecord) -> bool:
    missing = sum(error.kind == "MissingPage" for error in item.errors)
    failed = sum(error.step.startswith("read") for error in item.errors) - missing
    opened = len(item.read) - missing
    return not opened or failed > opened or (failed == 1 and opened == 1)


def _said(errors: Sequence[StepError]) -> str:
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{first.step}: {first.kind}: {first.message}{more}"


def verify(state: State, run: Run) -> State:
    """Lets an answer through that follows from its facts; else one revision, told the objection, or none.

    What does not follow even then is an abstention, or with `unsupported: mark` stays and is marked.
    """
    timer, errors, facts = Timer(run.clock), list[StepError](), state.get("facts", [])
    reply, stop = answered(state)
    why = _objection(reply, state)
    update: State = {"revised": why}
    if why is not None:
        revision, cost = _revision(Objection(reply, why), state, run, errors, timer)
        if revision is None or _objection(revision, state) is not None:
            notes = () if revision is None else revision.notes
            revision = abstention(f"the answer {plain(reply.text, 80)!r} was not let through: {why}")
            if run.config.unsupported == "mark" and plain(reply.text):
                revision = marked(reply, why)
            revision = replace(revision, notes=notes)
        reply = replace(revision, usage=reply.usage + cost, notes=(*reply.notes, *revision.notes))
        update["usage"] = cost
    if state["strategy"].sweep:
        reply = with_coverage(reply, state.get("seen", ()), run.sizes, state["rounds"], facts)
    if stop == "answered" and reply.abstains:
        stop = "abstained"
    return update | {"reply": reply, "stop": stop, "errors": errors, "seconds": {"verify": timer()}}


def _objection(reply: DraftAnswer, state: State) -> str | None:
    """What speaks against an answer: what its reader found itself, else what verification finds."""
    if reply.unsupported and not reply.abstains:
        return reply.unsupported
    facts, orders = state.get("facts", []), frozenset(state.get("orders", ()))
    return objection(reply, state["question"], state["strategy"], facts, orders)


def _revision(
    against: Objection, state: State, run: Run, errors: list[StepError], timer: Timer
) -> tuple[DraftAnswer | None, Usage]:
    """The reader's second answer and what it cost; None where it fails, or no fact is borne out anyway."""
    facts = state.get("facts", [])
    if all(fact.support == "none" for fact in facts):
        return None, Usage()
    revision, costs = None, list[Usage]()
    with guarded("verify", errors, costs), lasting(time_for(state, run, timer, ANSWERING)):
        given = run.reader.answer(state["question"], state["strategy"], facts, against)
        revision = checked(sound_costs(given), facts)
    return revision, sum(costs, Usage()) if revision is None else revision.usage
