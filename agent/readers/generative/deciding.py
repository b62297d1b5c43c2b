"""Deciding: an explicit evidence test for each part, and a search that looked before anything is given up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.models import Model, Request
from agent.readers.generative.memory import facts_text, question_text
from agent.readers.generative.prompts import prompt
from agent.readers.generative.replies import ask
from agent.readers.generative.safe import safe
from agent.readers.generative.schemas import decide_schema
from agent.readers.generative.sizes import Sizes
from agent.readers.generative.values import fact_ids, integer, objects, text_of, texts, truth
from agent.types import DecideTask, Decision, Fact

ENOUGH = 0.5  # score from which a fact counts as evidence for its part where the model names none
MAX_QUERIES = 3
MAX_ASKED = 24  # past queries that are told


@dataclass(frozen=True, slots=True)
class _Said:
    """What a model said: the action, and the parts that facts support, if it tested them."""

    action: str
    queries: tuple[str, ...]
    reason: str
    supported: frozenset[int] | None


def decide(task: DecideTask, model: Model, sizes: Sizes) -> Decision:
    """Asks the model, within the rules: budgets, evidence for each part, a sweep for a set."""
    if task.rounds_left <= 0 or task.pages_left <= 0:
        return _spent(task)
    system, schema = prompt("decide"), decide_schema()
    told = _told(task)
    facts, shown = facts_text(
        task.facts, model.text_tokens, min(sizes.ledger, sizes.room(system, schema, told))
    )
    request = Request("decide", system, (told, facts), schema, min(800, sizes.reply))
    heard = ask(model, request, lambda reply: _said(reply, task, shown))
    said = heard.value or _by_rule(task)
    return replace(_ruled(said, task), usage=heard.usage, notes=heard.notes)


def _spent(task: DecideTask) -> Decision:
    """What is said without asking the model, whose wish for another round could not be met."""
    still = sorted({*task.missing, *_by_ledger(task)})
    if still:
        parts = "; ".join(task.plan.parts[i] for i in still)
        return Decision("retrieve", f"the budget is spent; no evidence yet for: {parts}")
    if _sweeping(task):
        return Decision("retrieve", "the budget is spent; the last round found members of the set")
    return Decision("answer", "every part has evidence, and the budget is spent")


def _told(task: DecideTask) -> str:
    tried = (
        f"\n\nTo answer from these facts was tried, and came to nothing: {safe(task.abstained, 300)}\n"
        "Name searches for what is needed, or the document is taken not to say."
        if task.abstained
        else ""
    )
    asked = "\n".join(f"- {safe(query, 200)}" for query in task.queries[-MAX_ASKED:])
    missing = ", ".join(str(i + 1) for i in task.missing) or "none"
    return (
        f"{question_text(task.question, task.plan)}\n\nSearches so far:\n{asked}\n"
        f"Sub-questions that reading left open: {missing}\n"
        f"Budget left: {task.rounds_left} rounds, {task.pages_left} pages{tried}"
    )


def _said(reply: Mapping[str, Any], task: DecideTask, shown: Sequence[Fact]) -> _Said:
    action = str(reply.get("action", "")).strip().lower()
    if action not in ("answer", "retrieve"):
        raise ValueError(f"`action` is {action[:40]!r}: expected answer or retrieve")
    sound = {fact.id for fact in shown if fact.support != "none"}
    supported, tested = set(), False
    for item in objects(reply.get("parts"), 32):
        number = integer(item.get("part"))
        if number is None or not 1 <= number <= len(task.plan.parts):
            continue
        tested = True
        if truth(item.get("enough"), True) and sound.intersection(fact_ids(item.get("facts"))):
            supported.add(number - 1)
    queries = texts(reply.get("queries"), 300, MAX_QUERIES)
    reason = text_of(reply.get("reason"), 300)
    return _Said(action, queries, reason, frozenset(supported) if tested else None)


def _by_rule(task: DecideTask) -> _Said:
    """What stands in for a decision that could not be used: go on while a part is open."""
    return _Said("retrieve" if task.missing else "answer", (), "by rule: the model did not decide", None)


def _ruled(said: _Said, task: DecideTask) -> Decision:
    asked = {query.casefold() for query in task.queries}
    fresh = tuple(query for query in said.queries if query.casefold() not in asked)
    if said.action == "retrieve":
        return Decision(
            "retrieve", said.reason or "more is needed", fresh or _for_open(task, _open(said, task), asked)
        )
    still = _open(said, task)
    looked_again = len(asked) > len({query.casefold() for query in task.plan.queries})
    if task.abstained and not looked_again:
        every = tuple(range(len(task.plan.parts)))
        reason = "no answer came of the facts; one more search before it is given up"
        return Decision("retrieve", reason, fresh or _for_open(task, still or every, asked))
    if task.abstained:
        return Decision("answer", said.reason or "more searches brought no answer")
    if still and not looked_again:
        parts = "; ".join(task.plan.parts[i] for i in still)
        reason = f"no evidence yet for: {parts}; one more search before it is given up"
        return Decision("retrieve", reason, fresh or _for_open(task, still, asked))
    if _sweeping(task):
        return Decision("retrieve", "the last round found members of the set: the sweep goes on", fresh)
    return Decision("answer", said.reason or "every part is covered")


def _open(said: _Said, task: DecideTask) -> tuple[int, ...]:
    """Parts without evidence: by the model's test, else by the ledger."""
    if said.supported is None:
        return _by_ledger(task)
    return tuple(i for i in range(len(task.plan.parts)) if i not in said.supported)


def _by_ledger(task: DecideTask) -> tuple[int, ...]:
    """Parts to which no good fact speaks that its page bears out."""
    supported = {f.part for f in task.facts if f.score >= ENOUGH and f.support != "none"}
    return tuple(i for i in range(len(task.plan.parts)) if i not in supported)


def _sweeping(task: DecideTask) -> bool:
    """Whether a sweep for the members of a set found some in the last round."""
    return task.plan.sweep and task.round > 0 and any(fact.round == task.round for fact in task.facts)


def _for_open(task: DecideTask, still: Sequence[int], asked: set[str]) -> tuple[str, ...]:
    """Queries that look for open parts, none asked before: the part alone, then with the question's words."""
    queries = []
    for place in still[:MAX_QUERIES]:
        part = task.plan.parts[place]
        options = (part, f"{part} {task.question}", f"definition, table or note about: {part}")
        queries += [option for option in options if option.casefold() not in asked][:1]
    return tuple(dict.fromkeys(queries))
