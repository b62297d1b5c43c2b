"""The plan of a question: parts and first queries; later queries from what is not covered."""

from collections.abc import Sequence

from agent.readers.extractive.asked import formula_parts, formula_queries
from agent.readers.extractive.counting import counted_kind
from agent.readers.extractive.lineitems import LineItem
from agent.readers.extractive.matching import covered
from agent.readers.extractive.question import Analysis, analyse
from agent.readers.extractive.text import STOPWORDS, stem, tokens
from agent.types import DecideTask, Decision, Fact, Plan

MAX_PARTS = 6


def make_plan(question: str) -> Plan:
    """Splits a question into its parts and the queries for them."""
    analysis = analyse(question)
    year = max(analysis.years) if analysis.years else None
    sweep = analysis.answer_type == "list" or bool(counted_kind(analysis))
    if analysis.formula is not None:
        parts = formula_parts(analysis.formula, year)[:MAX_PARTS]
        return Plan(
            analysis.answer_type, parts, (*formula_queries(analysis.formula, year), analysis.text)[:4]
        )
    if analysis.options:
        parts = analysis.options
        return Plan(analysis.answer_type, parts, (analysis.text, *parts), sweep=sweep)
    return Plan(analysis.answer_type, (analysis.text,), (analysis.text,), sweep=sweep)


def part_items(analysis: Analysis) -> tuple[LineItem, ...]:
    """The line item of each part of a formula's plan, in the order of the parts."""
    if analysis.formula is None:
        return ()
    return tuple(dict.fromkeys(term.item for term in analysis.formula.terms()))[:MAX_PARTS]


def item_years(analysis: Analysis, item: LineItem) -> tuple[int, ...]:
    """The years in which a formula needs a line item; empty where the question names none."""
    if analysis.formula is None or not analysis.years:
        return ()
    latest = max(analysis.years)
    return tuple(sorted({latest - t.back for t in analysis.formula.terms() if t.item == item}, reverse=True))


def uncovered(analysis: Analysis, facts: Sequence[Fact]) -> tuple[str, ...]:
    """Words of the question, as written, whose stems no fact holds."""
    known = " ".join(f"{fact.text} {fact.quote}" for fact in facts)
    words = []
    for token in tokens(analysis.text):
        if token not in STOPWORDS and covered([stem(token)], known) < 0.5:
            words.append(token)
    return tuple(dict.fromkeys(words))


def make_decision(task: DecideTask) -> Decision:
    """Goes back for the parts that are missing, with a query made from what is not covered; else answers."""
    if not task.missing:
        return Decision("answer", "every part of the question is covered")
    parts = "; ".join(task.plan.parts[i] for i in task.missing if i < len(task.plan.parts))
    if task.rounds_left <= 0 or task.pages_left <= 0:
        return Decision("retrieve", f"the budget is spent; not covered: {parts}")
    analysis = analyse(task.question)
    queries = _next_queries(task, analysis)
    return Decision("retrieve", f"not covered yet: {parts}", queries)


def _next_queries(task: DecideTask, analysis: Analysis) -> tuple[str, ...]:
    missing = [task.plan.parts[i] for i in task.missing if i < len(task.plan.parts)]
    if analysis.formula is not None:
        return tuple(missing[:3]) or task.plan.queries
    if counted_kind(analysis):
        return task.plan.queries
    words = uncovered(analysis, task.facts)
    queries = [*missing[:2]]
    if words and len(words) < len(analysis.content):
        queries.append(" ".join(words))
    return tuple(dict.fromkeys(queries)) or task.plan.queries
