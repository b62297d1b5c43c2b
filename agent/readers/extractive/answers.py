"""From facts to an answer, by the kind of answer asked for; abstains where confidence is low."""

import re
from collections.abc import Callable, Sequence

from agent.listing import as_list
from agent.readers.extractive.attempts import (
    Attempt,
    Value,
    of_year,
    ordered,
    row_of,
    values,
    written,
)
from agent.readers.extractive.computing import computed
from agent.readers.extractive.confidence import calibration, confidence
from agent.readers.extractive.counting import read_count
from agent.readers.extractive.counts import (
    counted,
    dated_row,
    list_count,
    named_list,
    number_cell,
    stated_count,
)
from agent.readers.extractive.evidence import asked_numbers
from agent.readers.extractive.extremes import is_winner
from agent.readers.extractive.formulas import Term
from agent.readers.extractive.lists import enumerated, read_list
from agent.readers.extractive.matching import covered
from agent.readers.extractive.pairs import combined, compared, subject
from agent.readers.extractive.planning import uncovered
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.spans import cell_beside, span
from agent.readers.extractive.statements import bare
from agent.readers.extractive.text import fold, stem, tokens, years
from agent.types import UNANSWERABLE, DraftAnswer, Fact, Plan

Answerer = Callable[[Analysis, Plan, Sequence[Fact]], Attempt | None]


def draft_answer(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> DraftAnswer:
    """Answers from facts, or abstains and says what was looked for."""
    attempt = best_attempt(analysis, plan, facts)
    if attempt is None:
        return _abstention(analysis, facts, 0.0)
    sure = confidence(analysis, attempt, facts)
    if sure < calibration().threshold:
        return _abstention(analysis, facts, sure)
    ids = tuple(dict.fromkeys(f.id for f in attempt.facts))
    return DraftAnswer(attempt.text, ids, attempt.reason, round(sure, 4), attempt.expression)


def best_attempt(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """What would be answered, however unsure."""
    if not facts:
        return None
    for answerer in _BY_TYPE[plan.answer_type]:
        attempt = answerer(analysis, plan, facts)
        if attempt is not None and attempt.text.strip():
            return attempt
    return None


def _abstention(analysis: Analysis, facts: Sequence[Fact], sure: float) -> DraftAnswer:
    words = uncovered(analysis, facts)
    if not facts:
        reason = "no page that was read speaks to the question"
    elif words:
        reason = f"nothing that was read says anything about: {', '.join(words[:8])}"
    else:
        reason = "the words of the question occur, but no fact states the answer clearly enough"
    return DraftAnswer(UNANSWERABLE, (), reason, round(sure, 4))


def _formula(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    return computed(analysis, facts)


def _number(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    if analysis.formula is not None and not isinstance(analysis.formula.tree, Term):
        return None
    for fact in of_year(facts, analysis)[:6]:
        if read_list(fact.text) or read_count(fact.text):
            continue
        found = values(fact, analysis)
        if found and analysis.combine and not _states_change(fact, analysis):
            return None
        stated = _stated_value(fact, analysis, found)
        if stated is not None:
            return Attempt(written(stated, analysis), "stated number", (fact,), "stated in the fact")
        if found and analysis.formula is None:
            kind = "cell" if row_of(fact) else "number"
            return Attempt(written(found[0], analysis), kind, (fact,), "stated in the fact")
    return None


def _stated_value(fact: Fact, analysis: Analysis, found: Sequence[Value]) -> Value | None:
    """The number of a sentence that holds every word and year of the question, where it has no rival.

    Without a rival is the only number, or the only one that comes right behind a word of the question.
    """
    text = bare(fact.text)
    if row_of(fact) or covered(analysis.content, text) < 1 or not set(analysis.years) <= set(years(text)):
        return None
    if len(found) == 1:
        return found[0]
    behind = [v for v in found if any(stem(word) in analysis.content for word in _before(text, v.shown))]
    return behind[0] if len(behind) == 1 else None


def _before(text: str, shown: str) -> list[str]:
    """The two words before a number."""
    return tokens(text.partition(shown)[0])[-2:]


def _states_change(fact: Fact, analysis: Analysis) -> bool:
    """Whether one number can answer where two are to be combined: a sentence that tells of the change."""
    told = re.search(
        r"\b(?:increas|decreas|ris|rose|fell|fall|grew|grow|declin|dropp|gain|chang|difference|gap|more|less|high|"
        r"low)\w*",
        fold(bare(fact.text)),
    )
    about = covered(subject(analysis), fact.text) >= 0.5
    return analysis.combine != "+" and row_of(fact) is None and bool(told) and about


def _cells_by_number(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """`the descriptions of errors 88 and 188`: a cell from the row of each number."""
    ids = sorted(asked_numbers(analysis.text), key=int)
    members: list[str] = []
    used: list[Fact] = []
    for number in ids if len(ids) >= 2 else ():
        for fact in ordered(facts):
            cell = cell_beside(fact, number, analysis)
            if cell:
                members.append(cell)
                used.append(fact)
                break
    if len(members) < 2 or len(members) < len(ids):
        return None
    return Attempt(as_list(members), "cells by number", tuple(used), "the cell in the row of each number")


def _listed(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    best = ordered(facts)[:5]
    for fact in best:
        found = read_list(fact.text)
        if found and 2 <= len(found[1]) <= 12:
            return Attempt(as_list(found[1]), "list", (fact,), "the items of the list")
    for fact in best:
        members = enumerated(bare(fact.text))
        if members:
            return Attempt(as_list(members), "enumeration", (fact,), "the members that the sentence names")
    return None


def _several_numbers(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    if not analysis.percent and "number" not in analysis.target and analysis.form != "list":
        return None
    for fact in ordered(facts)[:3]:
        found = values(fact, analysis)
        if 2 <= len(found) <= 6:
            return Attempt(
                as_list([v.shown for v in found]), "list of numbers", (fact,), "stated in the fact"
            )
    return None


_NEGATIVE = ("no", "not", "none", "never", "neither", "without", "cannot", "n't")


def _yes_no(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    best = ordered(facts)[:1]
    if not best:
        return None
    words = set(fold(best[0].text).split())
    asked = set(fold(analysis.text).split())
    negative = bool(words & set(_NEGATIVE)) != bool(asked & set(_NEGATIVE))
    strong = covered(analysis.content, " ".join(f.text for f in ordered(facts)[:3])) >= 0.6
    text = "Yes" if strong and not negative else "No"
    return Attempt(text, "yes" if text == "Yes" else "no", (best[0],), "by what the nearest fact says")


def _winner(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    if not analysis.extreme:
        return None
    for fact in ordered(facts):
        row = row_of(fact) if is_winner(fact.text) else None
        if row is not None:
            return Attempt(row.label, "winner", (fact,), fact.text.split(" is ")[0])
    return None


def _year(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """`in which year is it lower`: the year over the lowest or highest cell of the row."""
    text = fold(analysis.text)
    if not re.search(r"\b(?:which|what) year\b", text):
        return None
    low = bool(re.search(r"\b(?:lower|lowest|less|least|fewer|fewest|smallest)\b", text))
    if not low and not re.search(r"\b(?:higher|highest|more|most|greater|greatest|largest)\b", text):
        return None
    for fact in ordered(facts)[:4]:
        row = row_of(fact)
        dated = [e for e in row.entries if e.year] if row else []
        if len(dated) >= 2:
            best = min(dated, key=lambda e: e.value) if low else max(dated, key=lambda e: e.value)
            return Attempt(str(best.year), "year of row", (fact,), f"{best.shown} in {best.year}")
    return None


def _page(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """`On what page ...`: the page of the best fact."""
    if not re.search(r"\b(?:which|what) (?:page|slide)(?: number)?\b", fold(analysis.text)):
        return None
    best = next((f for f in ordered(facts) if f.regions), None)
    if best is None:
        return None
    return Attempt(str(best.regions[0].ref.page), "page", (best,), "the page of the fact")


def _span(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    return span(analysis, facts)


_BY_TYPE: dict[str, tuple[Answerer, ...]] = {
    "number": (_page, _year, _formula, _number),
    "difference": (_formula, combined, _number),
    "count": (counted, dated_row, stated_count, named_list, list_count, number_cell),
    "list": (_cells_by_number, _several_numbers, _listed, _span),
    "comparison": (compared,),
    "yes_no": (_yes_no,),
    "span": (_cells_by_number, _page, _year, _winner, _span),
}
