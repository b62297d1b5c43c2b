"""What a model is told of before: the ledger and the outline, within a budget, never a growing transcript."""

from collections.abc import Callable, Sequence

from agent.readers.generative.safe import between, safe
from agent.types import Fact, Plan
from indexes.types import OutlineEntry

Count = Callable[[str], int]

MAX_PART = 400  # characters of a sub-question


def facts_text(facts: Sequence[Fact], count: Count, budget: int) -> tuple[str, tuple[Fact, ...]]:
    """The ledger between delimiters, the best facts where not all fit, in the order of recording.

    Returns:
        The text and the facts that are in it.
    """
    several = len({region.ref.doc_id for fact in facts for region in fact.regions}) > 1
    left = budget - count(between("facts", "")) - count(_notice(len(facts))) - 1
    kept: dict[str, str] = {}
    for fact in sorted(facts, key=lambda fact: (-fact.score, int(fact.id[1:]))):
        line = _line(fact, several)
        cost = count(line) + 1
        if cost <= left:
            kept[fact.id] = line
            left -= cost
    told = tuple(fact for fact in facts if fact.id in kept)
    lines = [kept[fact.id] for fact in told]
    if len(told) < len(facts):
        lines.append(_notice(len(facts) - len(told)))
    return between("facts", "\n".join(lines) or "(none)"), told


def _notice(left_out: int) -> str:
    return f"({left_out} weaker facts are left out to fit)"


def _line(fact: Fact, several: bool) -> str:
    ref = fact.regions[0].ref
    document = f"{safe(ref.doc_id, 60)}, " if several else ""
    place = f"part {fact.part + 1}, {document}page {ref.page}, support {fact.support}"
    quote = f' | quote: "{safe(fact.quote, 300)}"' if fact.quote and fact.quote != fact.text else ""
    return f"[{fact.id}] ({place}) {safe(fact.text, 500)}{quote}"


def outline_text(outline: Sequence[OutlineEntry], count: Count, budget: int) -> str:
    """The outline between delimiters, without its deepest levels where it is too long; empty without one."""
    for deepest in sorted({entry.level for entry in outline}, reverse=True):
        lines = [
            f"{'  ' * (entry.level - 1)}{safe(entry.title, 120)} ... page {entry.page}"
            for entry in outline
            if entry.level <= deepest
        ]
        text = between("outline", "\n".join(lines))
        if count(text) <= budget:
            return text
    return ""


def question_text(question: str, plan: Plan) -> str:
    """The question, the kind of answer, the numbered sub-questions."""
    parts = "\n".join(f"{i}. {safe(part, MAX_PART)}" for i, part in enumerate(plan.parts, start=1))
    return f"Question: {safe(question)}\nKind of answer: {plan.answer_type}\nSub-questions:\n{parts}"
