"""From facts to an answer, by the kind of answer that the question asks for; abstains where confidence is low."""

import re
from collections.abc import Callable, Sequence

from agent.readers.extractive.attempts import Attempt, Value, ordered, row_of, values, written
from agent.readers.extractive.computing import computed
from agent.readers.extractive.confidence import calibration, confidence
from agent.readers.extractive.counting import counted_kind, counted_names, read_count
from agent.readers.extractive.extremes import is_winner
from agent.readers.extractive.lists import enumerated, read_list
from agent.readers.extractive.matching import covered, stem_set
from agent.readers.extractive.planning import uncovered
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.series import by_year
from agent.readers.extractive.spans import span
from agent.readers.extractive.statements import bare
from agent.readers.extractive.text import NUMBER_WORDS, fold, numbers, shown, stem, tokens
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


# ---- numbers


def _formula(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    return computed(analysis, facts)


def _number(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    if analysis.formula is not None:
        return None
    for fact in ordered(facts)[:6]:
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


# ---- counts


def _counted(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    if not counted_kind(analysis):
        return None
    counts = [(fact, count) for fact in facts if (count := read_count(fact.text)) is not None]
    if analysis.pages:
        counts = [(f, c) for f, c in counts if c[0] in _page_range(analysis)]
    if not counts:
        return None
    kept: list[tuple[Fact, int]] = []
    names: set[str] = set()
    for fact, (_, stated) in counts:
        fresh = set(counted_names(fact.text)) - names
        names |= fresh
        number = len(fresh) if counted_names(fact.text) else stated
        if number:
            kept.append((fact, number))
    total = sum(number for _, number in kept)
    expression = " + ".join(str(number) for _, number in kept) if len(kept) > 1 else None
    used = tuple(fact for fact, _ in kept)
    return Attempt(
        str(total), f"count {counted_kind(analysis)}", used, "counted on the pages read", expression
    )


def _page_range(analysis: Analysis) -> range | tuple[int, ...]:
    return range(min(analysis.pages), max(analysis.pages) + 1) if len(analysis.pages) == 2 else analysis.pages


def _stated_count(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """`seven quality levels`: a number before the thing that is counted."""
    if not analysis.target:
        return None
    head = analysis.target[-1]
    for fact in ordered(facts)[:8]:
        if read_list(fact.text) or read_count(fact.text):
            continue
        words = fold(bare(fact.text)).replace("-", " ").split()
        other = _of_other_years(bare(fact.text), analysis)
        for place, word in enumerate(words):
            number = _small_number(word)
            if number is None or number in other:
                continue
            after = [stem(t) for w in words[place + 1 : place + 2 + len(analysis.target)] for t in tokens(w)]
            unit = _UNITS.get(analysis.target[0], ())
            named = sum(t in after for t in analysis.target) / len(analysis.target)
            if (head in after and named > 0.5) or any(a in unit for a in after[:1]):
                return Attempt(number, "stated count", (fact,), "the fact states the number")
    return None


_UNITS: dict[str, tuple[str, ...]] = {
    stem(word): tuple(names.split())
    for word, names in (
        ("grams", "g gr"),
        ("kilograms", "kg"),
        ("meters", "m"),
        ("kilometers", "km"),
        ("centimeters", "cm"),
        ("millimeters", "mm"),
        ("liters", "l"),
        ("milliliters", "ml"),
        ("hours", "h hr hrs"),
        ("minutes", "min mins"),
        ("seconds", "s sec"),
        ("degrees", "c f"),
        ("watts", "w"),
        ("volts", "v"),
        ("gigabytes", "gb"),
    )
}


def _of_other_years(text: str, analysis: Analysis) -> set[str]:
    """Numbers that a sentence gives for years that are not asked for."""
    dated = by_year(text)
    if not analysis.years or not set(analysis.years) & set(dated):
        return set()
    return {str(int(n.value)) for year, ns in dated.items() if year not in analysis.years for n in ns}


def _small_number(word: str) -> str | None:
    plain = word.strip("()[],.;:")
    if plain in NUMBER_WORDS:
        return str(NUMBER_WORDS[plain])
    found = numbers(plain)
    if len(found) == 1 and found[0].text == plain and found[0].value == int(found[0].value):
        return str(int(found[0].value)) if not 1900 <= found[0].value <= 2099 else None
    return None


def _named_list(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """A list whose own head names what is counted."""
    for fact in ordered(facts):
        found = read_list(fact.text)
        if found and analysis.target and covered(analysis.target, found[0]) >= 0.6 and fact.score >= 0.5:
            return Attempt(str(len(found[1])), "named list", (fact,), "counted the items of the list")
    return None


def _list_count(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    for fact in ordered(facts):
        found = read_list(fact.text)
        if found:
            return Attempt(str(len(found[1])), "list count", (fact,), "counted the items of the list")
    return None


def _number_cell(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    """A whole number in a row or sentence that speaks to the question."""
    for fact in ordered(facts)[:4]:
        if read_list(fact.text) or read_count(fact.text):
            continue
        for value in values(fact, analysis):
            like_year = 1900 <= value.value <= 2099 and "," not in value.shown
            if value.value == int(value.value) >= 0 and not value.percent and not like_year:
                kind = "count cell" if row_of(fact) else "count number"
                return Attempt(str(int(value.value)), kind, (fact,), "stated in the fact")
    return None


# ---- lists, yes and no


def _listed(analysis: Analysis, plan: Plan, facts: Sequence[Fact]) -> Attempt | None:
    best = ordered(facts)[:5]
    for fact in best:
        found = read_list(fact.text)
        if found and 2 <= len(found[1]) <= 12:
            return Attempt(_as_list(found[1]), "list", (fact,), "the items of the list")
    for fact in best:
        members = enumerated(bare(fact.text), analysis.target)
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


# ---- spans


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
    "count": (_counted, _stated_count, _named_list, _list_count, _number_cell),
    "list": (_several_numbers, _listed, _span),
    "comparison": (_compared,),
    "yes_no": (_yes_no,),
    "span": (_page, _year, _winner, _span),
}
