"""Answering from the ledger: the evidence test, the answer's form, and the check of the answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.listing import as_list
from agent.models import Model, ModelError, Request, UnusableReplyError
from agent.readers.generative.amounts import as_asked
from agent.readers.generative.memory import facts_text, question_text
from agent.readers.generative.prompts import FORMATS, prompt
from agent.readers.generative.replies import ask
from agent.readers.generative.safe import safe
from agent.readers.generative.schemas import answer_schema, verify_schema
from agent.readers.generative.sizes import Sizes
from agent.readers.generative.values import fact_ids, integer, objects, share, text_of, texts, truth
from agent.types import UNANSWERABLE, DraftAnswer, Fact, Objection, Plan, Usage
from indexes.plain import plain

MAX_ANSWER = 1000  # characters
MAX_ITEMS = 200  # members of a list
MAX_CITED = 40  # facts of an answer that was objected to that are named
NEEDS_ALL = ("comparison", "difference")
"""Kinds of answer that don't stand while one of their parts has no evidence."""

_GIVEN = (
    r"(?:(?:the|this|these|any|of|provided|given|recorded|available|cited|supplied) )*"
    r"(?:documents?|text|facts?|pages?|context|evidence|passages?|excerpts?|information)"
)
_THERE = rf"(?: (?:in|by|from|within|based on) {_GIVEN})?"
_CANNOT = r"(?:(?:it|this|that|the answer) )?(?:cannot|can't|can not) be (?:determined|answered)"
_ABSTAINS = re.compile(
    r"(?:(?:it|this|that|the answer|the information) )?(?:is |was |are )?(?:un|not )"
    rf"(?:answerable|specified|mentioned|stated|available|provided|disclosed|found|given|reported){_THERE}"
    rf"|n/?a|unknown|{_CANNOT}{_THERE}|unable to (?:determine|answer){_THERE}|i don'?t know|no answer"
    r"|(?:there is )?(?:no|insufficient|not enough) (?:relevant )?(?:information|evidence|facts?)"
    rf"(?: (?:is |are )?(?:given|available|provided|found|stated))?{_THERE}"
    rf"|(?:the|this|these) {_GIVEN} (?:does|do)(?: not|n't) .*",
    re.IGNORECASE,
)


def abstains(text: str) -> bool:
    """Whether an answer's words only say that there is none."""
    return bool(_ABSTAINS.fullmatch(text.strip(" .!'\"")))


@dataclass(frozen=True, slots=True)
class Answerer:
    """Answers with a model.

    Attributes:
        check: whether the model checks its answer against the facts that it cites.
    """

    model: Model
    sizes: Sizes
    check: bool

    def answer(
        self, question: str, plan: Plan, facts: Sequence[Fact], objection: Objection | None
    ) -> DraftAnswer:
        """Answers from facts, or abstains; without any fact the model is not even asked.

        Raises:
            ModelError: there was no reply.
            UnusableReplyError: the replies could not be used.
        """
        if not facts:
            wanted = "; ".join(plan.parts)
            return _abstention(f"no page that was read holds evidence for: {wanted}", Usage(), ())
        system = prompt("answer").replace("{format}", FORMATS[plan.answer_type])
        schema, asked = answer_schema(), question_text(question, plan)
        again = () if objection is None else (_objected(objection),)
        budget = self.sizes.room(system, schema, asked, *again)
        told, shown = facts_text(facts, self.model.text_tokens, budget)
        request = Request("answer", system, (asked, told, *again), schema, min(1000, self.sizes.reply))
        heard = ask(self.model, request, lambda reply: _answer(reply, plan, shown))
        if heard.value is None:
            raise UnusableReplyError("; ".join(heard.notes), heard.usage)
        reply = replace(heard.value, usage=heard.usage, notes=heard.notes)
        if self.check and not reply.abstains:
            reply = self._checked(reply, question, shown)
        return replace(reply, text=as_asked(reply.text, question, plan.answer_type))

    def _checked(self, reply: DraftAnswer, question: str, facts: Sequence[Fact]) -> DraftAnswer:
        """The answer as the model's check leaves it: as it is, corrected, or with what speaks against it."""
        by_id = {fact.id: fact for fact in facts}
        cited = [by_id[i] for i in reply.fact_ids]
        if not cited:
            return reply  # verification refuses it without a model
        system, schema = prompt("verify"), verify_schema()
        said = f"Question: {safe(question)}\nAnswer: {safe(reply.text)}"
        if reply.expression:
            said += f"\nComputed as: {safe(reply.expression)}"
        told, _ = facts_text(cited, self.model.text_tokens, self.sizes.room(system, schema, said))
        request = Request("verify", system, (said, told), schema, min(400, self.sizes.reply))
        try:
            heard = ask(self.model, request, lambda verdict: _verdict(verdict, by_id))
        except ModelError as error:
            return replace(reply, notes=(*reply.notes, f"verify: {error}"))
        usage, notes = reply.usage + heard.usage, (*reply.notes, *heard.notes)
        verdict = heard.value
        if verdict is None or verdict.follows:
            return replace(reply, usage=usage, notes=notes)
        why = verdict.problem or "it does not follow from the facts"
        notes = (*notes, f"verify: {reply.text[:80]!r} does not follow: {why}")
        reply = replace(reply, usage=usage, notes=notes)
        if not verdict.answer or abstains(verdict.answer):
            return replace(reply, unsupported=why)
        ids = verdict.fact_ids or reply.fact_ids
        return replace(reply, text=verdict.answer, fact_ids=ids, expression=None)


def _objected(objection: Objection) -> str:
    """What a model is told of its answer that was not let through."""
    reply = objection.reply
    computed = f", computed as {safe(reply.expression, 300)}" if reply.expression else ""
    cited = f", resting on {', '.join(reply.fact_ids[:MAX_CITED])}" if reply.fact_ids else ""
    return (
        f"You have answered before: {safe(reply.text, 300)}{computed}{cited}\n"
        f"This was not let through: {safe(objection.why, 300)}\n"
        "Answer again: with what the facts say, resting on the facts that say it, or not at all."
    )


def _abstention(reason: str, usage: Usage, notes: tuple[str, ...]) -> DraftAnswer:
    return DraftAnswer(UNANSWERABLE, (), reason, 0.0, usage=usage, notes=notes)


def _answer(reply: Mapping[str, Any], plan: Plan, facts: Sequence[Fact]) -> DraftAnswer:
    if not {"answer", "answerable", "items"} & set(reply):
        raise ValueError("`answer` is missing")
    known = {fact.id: fact for fact in facts}
    text = text_of(reply.get("answer"), MAX_ANSWER)
    items = texts(reply.get("items"), 200, MAX_ITEMS)
    if items and (plan.answer_type == "list" or not text):
        text = as_list(items) if plan.answer_type == "list" else plain(", ".join(items), MAX_ANSWER)
    reason = text_of(reply.get("reason"), 500)
    cited = [i for i in fact_ids(reply.get("facts")) if i in known]
    supported, tested = _tested(reply, len(plan.parts), known, cited)
    if not cited:
        cited = [i for ids in supported.values() for i in ids]
    still = [i for i in range(len(plan.parts)) if i not in supported] if tested else []
    if not text or abstains(text) or not truth(reply.get("answerable"), True):
        return _abstention(reason or "the facts do not say", Usage(), ())
    if tested and (not supported or (still and plan.answer_type in NEEDS_ALL)):
        wanted = "; ".join(plan.parts[i] for i in still)
        return _abstention(f"no fact answers: {wanted}", Usage(), ())
    expression = text_of(reply.get("expression"), 300) or None
    confidence = share(reply.get("confidence"), 0.5) * (1.0 - 0.5 * len(still) / len(plan.parts))
    return DraftAnswer(text, tuple(dict.fromkeys(cited)), reason, confidence, expression)


def _tested(
    reply: Mapping[str, Any], parts: int, known: Mapping[str, Fact], cited: Sequence[str]
) -> tuple[dict[int, list[str]], bool]:
    """The parts that facts of the ledger support, by the model's own test, and whether it tested any.

    A part that it calls supported without naming facts rests on those that the answer cites.
    """
    supported: dict[int, list[str]] = {}
    tested = False
    for item in objects(reply.get("parts"), 32):
        number = integer(item.get("part"))
        if number is None or not 1 <= number <= parts:
            continue
        tested = True
        ids = [i for i in fact_ids(item.get("facts")) if i in known]
        ids = ids or (list(cited) if truth(item.get("supported"), False) else [])
        if ids and truth(item.get("supported"), True):
            supported[number - 1] = ids
    return supported, tested


@dataclass(frozen=True, slots=True)
class _Verdict:
    follows: bool
    problem: str
    answer: str
    fact_ids: tuple[str, ...]


def _verdict(reply: Mapping[str, Any], known: Mapping[str, Fact]) -> _Verdict:
    if "follows" not in reply:
        raise ValueError("`follows` is missing")
    ids = tuple(i for i in fact_ids(reply.get("facts")) if i in known)
    problem, corrected = text_of(reply.get("problem"), 300), text_of(reply.get("answer"), MAX_ANSWER)
    return _Verdict(truth(reply["follows"], True), problem, corrected, ids)
