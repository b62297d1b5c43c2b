"""The graph's last nodes: the answer from the ledger, and whether it follows from it."""

from collections.abc import Sequence
from dataclasses import replace

from agent.coverage import with_coverage
from agent.replies import guarded, sound_costs
from agent.state import Run, State, Timer
from agent.trajectory import RoundRecord, StepError, StopReason
from agent.types import Usage
from agent.verify import abstention, checked, marked, objection
from indexes.plain import plain


def answer(state: State, run: Run) -> State:
    """Answers from the ledger; a reader that fails leaves no answer, which is not an abstention."""
    timer, errors = Timer(run.clock), list[StepError]()
    facts = state.get("facts", [])
    reply, costs = None, list[Usage]()
    with guarded("answer", errors, costs):
        given = run.reader.answer(state["question"], state["strategy"], facts)
        reply = checked(sound_costs(given), facts)
    update: State = {"errors": errors, "seconds": {"answer": timer()}}
    if reply is None:
        cost = sum(costs, Usage())
        failed = replace(abstention("the reader failed"), usage=cost)
        return update | {"reply": failed, "failure": _said(errors), "stop": "error", "usage": cost}
    if not facts and _nothing_was_read(state):
        failures = [error for item in state["rounds"] for error in item.errors]
        return update | {"reply": reply, "failure": _said(failures), "stop": "error"}
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
    """Lets an answer through that follows from its facts; else one revision on the best fact, or none.

    What does not follow even then is an abstention, or with `unsupported: mark` stays and is marked.
    """
    timer, errors, reply = Timer(run.clock), list[StepError](), state["reply"]
    facts, question, made = state.get("facts", []), state["question"], state["strategy"]
    stop: StopReason = state["stop"]
    why = objection(reply, question, made, facts)
    update: State = {"revised": why}
    if why is not None:
        revision, cost = None, Usage()
        by_id = {fact.id: fact for fact in facts}
        cited = [by_id[i] for i in reply.fact_ids if i in by_id and by_id[i].support != "none"]
        best = max(
            cited or [f for f in facts if f.support != "none"], key=lambda fact: fact.score, default=None
        )
        if best is not None:
            with guarded("verify", errors):
                given = run.reader.answer(question, made, [best])
                revision = checked(sound_costs(given), [best])
                cost = revision.usage
        if revision is None or objection(revision, question, made, facts) is not None:
            revision = abstention(f"the answer {plain(reply.text, 80)!r} was not let through: {why}")
            if run.config.unsupported == "mark" and plain(reply.text):
                revision = replace(marked(reply, why), usage=Usage(), notes=())
        notes = (*reply.notes, *revision.notes)
        reply = replace(revision, usage=reply.usage + cost, notes=notes)
        update["usage"] = cost
        update["reply"] = reply
    if stop == "answered" and reply.abstains:
        stop = "abstained"
    if made.sweep:
        reply = with_coverage(reply, state.get("seen", ()), run.sizes, state["rounds"], facts)
        update["reply"] = reply
    return update | {"stop": stop, "errors": errors, "seconds": {"verify": timer()}}
