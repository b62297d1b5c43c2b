"""Verification: every number and name of an answer must follow from the facts it cites."""

import re
from collections.abc import Sequence
from dataclasses import replace

from agent.arithmetic import Stated, agrees, evaluate, number_words, plain_value, stated
from agent.forms import Printed, folded, printed_numbers
from agent.matching import is_number, token, tokens
from agent.types import UNANSWERABLE, DraftAnswer, Fact, Plan
from indexes.plain import plain

MAX_ANSWER = 2000  # characters
_CONSTANTS = frozenset(map(plain_value, (1.0, 2.0, 4.0, 12.0, 100.0, 1000.0, 365.0, 1e6, 1e9)))
"""What arithmetic may use beside the facts' numbers: scales, percent, halves, quarters, months, days."""

_CAPITALIZED = re.compile(r"[^\W\d_][\w'’&.-]*")
_COMMON = frozenset(
    "yes no the a an in on at of for from by and or to is was were are there none not total it".split()
)


def objection(
    reply: DraftAnswer,
    question: str,
    plan: Plan,
    facts: Sequence[Fact],
    orders: frozenset[str] = frozenset(),
) -> str | None:
    """Why an answer does not follow from the facts it cites, or None where it does.

    Args:
        reply: the answer; an abstention always passes.
        question: what was asked: what it says itself needs no fact.
        plan: for a count or a list the number of cited facts is a number that follows.
        facts: the ledger.
        orders: words that pages tell their reader to say; an answer does not follow from those.
    """
    if reply.abstains:
        return None
    by_id = {fact.id: fact for fact in facts}
    cited = [by_id[i] for i in reply.fact_ids if i in by_id]
    if not plain(reply.text):
        return "the answer is empty"
    if not cited:
        return "the answer cites no fact of the ledger"
    if all(fact.support == "none" for fact in cited):
        return "nothing on the pages bears out the cited facts"
    told = [text for fact in cited if fact.support != "none" for text in (fact.text, fact.quote)]
    computed, why = _computed(reply, [*told, question], len(cited))
    if why is not None:
        return why
    known = stated([*told, question])
    if plan.answer_type in ("count", "list"):
        known.add(plain_value(float(len(cited))))
    lines = [*told, question]
    unsaid = _unsaid_number(reply.text, known, computed) or _unsaid_name(reply.text, lines)
    return unsaid or _ordered(reply.text, lines, known, orders)


def _computed(reply: DraftAnswer, told: Sequence[str], n_cited: int) -> tuple[float | None, str | None]:
    """The value of the answer's expression and what is wrong with it; its numbers must be the facts'."""
    if not reply.expression:
        return None, None
    try:
        value = evaluate(reply.expression)
    except ValueError as error:
        return None, str(error)
    known = stated(told) | _CONSTANTS | {plain_value(float(n)) for n in range(1, n_cited + 1)}
    for number in printed_numbers(folded(reply.expression)):
        if not agrees(number, known):
            return (
                None,
                f"the expression {reply.expression!r} uses {number.values[0]:g}, which no cited fact says",
            )
    return value, None


def _unsaid_number(text: str, known: set[Stated], computed: float | None) -> str | None:
    for number in printed_numbers(folded(text)):
        if not agrees(number, known) and not (computed is not None and _rounds_to(number, computed)):
            return f"no cited fact says {number.values[0]:g}"
    return None


def _rounds_to(number: Printed, value: float) -> bool:
    """Whether a computed value, as it is or as a percentage, rounds to a printed number."""
    half, printed = 0.5 * 10.0**-number.places + 1e-9, number.values[0]
    if number.scale != 1 and abs(printed * number.scale - abs(value)) <= half * number.scale:
        return True
    candidates = (abs(value), abs(value) * 100) if number.percent else (abs(value),)
    return any(abs(printed - candidate) <= half for candidate in candidates)


def _unsaid_name(text: str, told: Sequence[str]) -> str | None:
    """A name or other capitalized word of the answer that no fact holds; its first word may be any."""
    said = {t for line in told for t in tokens(line)}
    joined = "".join(t for line in told for t in tokens(line))
    for match in list(_CAPITALIZED.finditer(text))[1:]:
        word = token(match[0])
        if (
            not match[0][0].isupper()
            or len(word) < 2
            or word in said
            or word in _COMMON
            or number_words(word)
        ):
            continue
        if word not in joined:
            return f"no cited fact names {plain(match[0], 40)!r}"
    return None


def _ordered(text: str, told: Sequence[str], known: set[Stated], orders: frozenset[str]) -> str | None:
    """A word of the answer that no fact holds but a page tells its reader to say; most words are such."""
    words = [t for t in tokens(text) if not is_number(t) and t not in _COMMON]
    joined = "".join(t for line in told for t in tokens(line))
    said = {value.value for value in known}
    ordered = [t for t in words if t in orders and t not in joined and not number_words(t) & said]
    if ordered and 2 * len(ordered) >= len(words):
        return f"only words addressed to the page's reader say {plain(ordered[0], 40)!r}"
    return None


def checked(reply: DraftAnswer, facts: Sequence[Fact]) -> DraftAnswer:
    """The reply as the graph keeps it: bounded, its facts those that exist, an empty text an abstention."""
    known = {fact.id for fact in facts}
    text = plain(reply.text, MAX_ANSWER)
    if not text or text == UNANSWERABLE:
        why = plain(reply.reason, MAX_ANSWER) or "no answer was given"
        return replace(reply, text=UNANSWERABLE, fact_ids=(), reason=why, confidence=0.0, expression=None)
    return replace(
        reply,
        text=text,
        fact_ids=tuple(i for i in dict.fromkeys(reply.fact_ids) if i in known),
        reason=plain(reply.reason, MAX_ANSWER),
        confidence=min(1.0, max(0.0, float(reply.confidence)))
        if reply.confidence == reply.confidence
        else 0.0,
    )


def marked(reply: DraftAnswer, why: str) -> DraftAnswer:
    """An answer that is let through although it does not follow from its facts, and says so."""
    return replace(reply, unsupported=plain(why, MAX_ANSWER), confidence=0.0)


def abstention(reason: str) -> DraftAnswer:
    """An answer that says the document does not say."""
    return DraftAnswer(UNANSWERABLE, (), reason, 0.0)
