"""From facts to an answer, by the kind of answer asked for; abstains where confidence is low."""

import re
from collections.abc import Callable, Sequence

from agent.readers.extractive.attempts import Attempt, Value, of_year, ordered, row_of, values, written
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
from agent.readers.extractive.lists import enumerated, read_list
from agent.readers.extractive.matching import covered, stem_set
from agent.readers.extractive.planning import uncovered
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.spans import cell_beside, span
from agent.readers.extractive.statements import bare
from agent.readers.extractive.text import fold, shown, stem, tokens
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
    if analysis.formula is not None:
        return None
    for fact in of_year(facts, analysis)[:6]:
        if read_list(fact.text) or read_count(fact.text):
            continue
        found = values(fact, analysis)
        if found:
            kind = "cell" if row_of(fact) else "number"
            return Attempt(written(found[0], analysis), kind, (fact,), "stated in the fact")
    return None


def _pair_values(analysis: Analysis, facts: Sequence[Fact]) -> tuple[list[Value], list[Fact]] | None:
    """A value for each of the two options, from a fact of its own part."""
    found: list[Value] = []
    used: list[Fact] = []
    for part, phrase in enumerate(analysis.options):
        for fact in ordered(facts, part)[:4]:
            stated = values(fact, analysis, phrase)
            if used and fact.quote == used[0].quote:
                stated = [v for v in stated if v != found[0]]
            if stated:
                found.append(stated[0])
                used.append(fact)
                break
    return (found, used) if len(found) == 2 else None


def _combined(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    if not analysis.combine:
        return None
    pair = _pair_values(analysis, facts)
    if pair is None:
        return None
    (first, second), used = pair
    if analysis.combine == "%":
        if first.value == 0:
            return None
        change = (second.value * second.scale / (first.value * first.scale) - 1) * 100
        expression = (
            f"({second.shown.rstrip('%')} - {first.shown.rstrip('%')}) / {first.shown.rstrip('%')} * 100"
        )
        text = shown(change, analysis.places if analysis.places is not None else 1) + "%"
        return Attempt(text, "change", tuple(used), f"computed: {expression}", expression)
    a, b = sorted((first, second), key=lambda v: -v.value * v.scale)
    amount = a.value + b.value if analysis.combine == "+" else a.value - b.value
    places = max(len(v.shown.rstrip("%").partition(".")[2]) for v in (a, b))
    text = shown(round(amount, places), analysis.places)
    percent = a.percent and b.percent and analysis.form != "int"
    expression = f"{a.shown.rstrip('%')} {analysis.combine} {b.shown.rstrip('%')}"
    return Attempt(text + "%" * percent, "combined", tuple(used), f"computed: {expression}", expression)


def _compared(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    if len(analysis.options) != 2 or analysis.combine:
        return None
    pair = _pair_values(analysis, facts)
    text = fold(analysis.text)
    if pair is not None:
        (first, second), used = pair
        fewer = any(
            word in stem_set(text) for word in ("lower", "less", "fewer", "smaller", "lowest", "least")
        )
        larger = first.value * first.scale >= second.value * second.scale
        chosen = analysis.options[0 if larger != fewer else 1]
        reason = f"{first.shown} against {second.shown}"
        return Attempt(_option_text(chosen, analysis), "comparison", tuple(used), reason)
    best = ordered(facts)[:1]
    if not best:
        return None
    scores = [covered([stem(t) for t in tokens(o)], best[0].text) for o in analysis.options]
    if scores[0] == scores[1]:
        return None
    chosen = analysis.options[0 if scores[0] > scores[1] else 1]
    return Attempt(
        _option_text(chosen, analysis), "mentioned option", (best[0],), "the alternative that the fact names"
    )


def _option_text(option: str, analysis: Analysis) -> str:
    """The alternative in the words that the question wants (`answer 'A' or 'B'`), else in its own."""
    shares = [covered([stem(t) for t in tokens(choice)], option) for choice in analysis.choices]
    if shares and max(shares) >= 0.5 and shares[0] != shares[1]:
        return analysis.choices[shares.index(max(shares))]
    return option.strip(" .'\"")


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
    return Attempt(_as_list(members), "cells by number", tuple(used), "the cell in the row of each number")


def _listed(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    best = ordered(facts)[:5]
    for fact in best:
        found = read_list(fact.text)
        if found and 2 <= len(found[1]) <= 12:
            return Attempt(_as_list(found[1]), "list", (fact,), "the items of the list")
    for fact in best:
        members = enumerated(bare(fact.text))
        if members:
            return Attempt(_as_list(members), "enumeration", (fact,), "the members that the sentence names")
    return None


def _several_numbers(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    if not analysis.percent and "number" not in analysis.target and analysis.form != "list":
        return None
    for fact in ordered(facts)[:3]:
        found = values(fact, analysis)
        if 2 <= len(found) <= 6:
            return Attempt(
                _as_list([v.shown for v in found]), "list of numbers", (fact,), "stated in the fact"
            )
    return None


def _as_list(members: Sequence[str]) -> str:
    return "[" + ", ".join("'" + m.replace("'", "’").replace("\\", "") + "'" for m in members) + "]"


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
    "difference": (_formula, _combined, _number),
    "count": (counted, dated_row, stated_count, named_list, list_count, number_cell),
    "list": (_cells_by_number, _several_numbers, _listed, _span),
    "comparison": (_compared,),
    "yes_no": (_yes_no,),
    "span": (_cells_by_number, _page, _year, _winner, _span),
}
