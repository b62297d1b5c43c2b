"""Two things set against each other: sum, difference, change in percent, the larger of two."""

import re
from collections.abc import Sequence

from agent.readers.extractive.attempts import Attempt, Value, ordered, rounded, values
from agent.readers.extractive.matching import covered, stem_set
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.text import content, fold, shown, stem, tokens, years
from agent.types import Fact, Plan

_ARITHMETIC = frozenset(
    stem(word)
    for word in "percentage percent change difference increase decrease growth rate gap absolute by".split()
)


def subject(analysis: Analysis) -> list[str]:
    """Stems of what is set against each other, without the words of the arithmetic and the years."""
    return [w for w in analysis.content if w not in _ARITHMETIC and not w.isdigit()]


def _printed(value: Value) -> tuple[str, int | None]:
    return value.shown, value.year


def _dated_pair(analysis: Analysis, facts: Sequence[Fact]) -> tuple[list[Value], list[Fact]] | None:
    """The values of two years of the best fact that has both, where the options differ in their year only."""
    asked = [years(phrase) for phrase in analysis.options]
    rests = [[w for w in content(p) if not re.fullmatch(r"(?:19|20)\d\d", w)] for p in analysis.options]
    if rests[0] != rests[1] or any(len(named) != 1 for named in asked) or asked[0] == asked[1]:
        return None
    for fact in ordered(facts)[:6]:
        stated = values(fact, analysis)
        found = [next((v for v in stated if v.year == year), None) for (year,) in asked]
        if found[0] is not None and found[1] is not None and covered(subject(analysis), fact.text) >= 0.5:
            return [found[0], found[1]], [fact, fact]
    return None


def _unrelated(first: Value, second: Value, used: Sequence[Fact]) -> bool:
    """The same amount from two facts: more likely one number met twice than two that happen to agree."""
    return used[0].quote != used[1].quote and first.value * first.scale == second.value * second.scale


def _pair_values(analysis: Analysis, facts: Sequence[Fact]) -> tuple[list[Value], list[Fact]] | None:
    """A value for each of the two options: of two years from one fact, else from a fact of its own part."""
    dated = _dated_pair(analysis, facts)
    if dated is not None:
        return dated
    found: list[Value] = []
    used: list[Fact] = []
    for part, phrase in enumerate(analysis.options):
        for fact in ordered(facts, part)[:4]:
            stated = values(fact, analysis, phrase)
            if used and fact.quote == used[0].quote:
                stated = [v for v in stated if _printed(v) != _printed(found[0])]
            if stated:
                found.append(stated[0])
                used.append(fact)
                break
    return (found, used) if len(found) == 2 else None


def combined(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """The sum, the difference, or the change in percent, of a value for each of the two options."""
    if not analysis.combine:
        return None
    pair = _pair_values(analysis, facts)
    if pair is None:
        return None
    (first, second), used = pair
    if analysis.combine != "+" and _unrelated(first, second, used):
        return None
    if analysis.combine == "%" and any(covered(subject(analysis), f.text) < 0.5 for f in used):
        return None
    if analysis.combine == "%":
        if first.value == 0:
            return None
        change = (second.value * second.scale / (first.value * first.scale) - 1) * 100
        expression = (
            f"({second.shown.rstrip('%')} - {first.shown.rstrip('%')}) / {first.shown.rstrip('%')} * 100"
        )
        text = rounded(change, analysis, 1) + "%"
        return Attempt(text, "change", tuple(used), f"computed: {expression}", expression)
    a, b = sorted((first, second), key=lambda v: -v.value * v.scale)
    amount = a.value + b.value if analysis.combine == "+" else a.value - b.value
    places = max(len(v.shown.rstrip("%").partition(".")[2]) for v in (a, b))
    text = shown(round(amount, places), analysis.places)
    percent = a.percent and b.percent and analysis.form != "int"
    expression = f"{a.shown.rstrip('%')} {analysis.combine} {b.shown.rstrip('%')}"
    kind = "dated combined" if used[0] is used[1] else "combined"
    return Attempt(text + "%" * percent, kind, tuple(used), f"computed: {expression}", expression)


def compared(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """The option with the larger (or smaller) value, else the one that the best fact names."""
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
