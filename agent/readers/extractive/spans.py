"""Short spans: dates, names, addresses, cells, and else the words that the question lacks."""

import re
from collections.abc import Sequence
from datetime import datetime

from agent.readers.extractive.attempts import Attempt, ordered, row_of
from agent.readers.extractive.counting import read_count
from agent.readers.extractive.labelled import answers, asked_word, label_value, nearness
from agent.readers.extractive.lists import read_list
from agent.readers.extractive.matching import covered, stem_set
from agent.readers.extractive.naming import common_words, names_in, places_in
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.statements import bare
from agent.readers.extractive.text import STOPWORDS, fold, stem, tokens
from agent.types import Fact

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DATE = re.compile(
    rf"\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? (?:19|20)\d\d\b|\b\d{{1,2}} {_MONTH},? (?:19|20)\d\d\b|"
    r"\b\d{1,2}/\d{1,2}/(?:19|20)?\d\d\b|\b(?:19|20)\d\d-\d\d-\d\d\b",
    re.IGNORECASE,
)
_TYPED: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("date", r"\bdate\b|\bwhen\b|what day", _DATE),
    (
        "time",
        r"\bwhat time\b|\btime\b (?:is|on|of)",
        re.compile(r"\b\d{1,2}[:.]\d\d ?(?:[ap]\.?m\.?)?|\b\d{1,2} ?[ap]\.?m\.?", re.I),
    ),
    ("year", r"\b(?:what|which) year\b", re.compile(r"\b(?:19|20)\d\d\b")),
    ("phone", r"\bphone\b|\btelephone\b|\bfax\b", re.compile(r"\+?\(?\d[\d() .-]{6,}\d")),
    ("e-mail", r"\be-?mail\b", re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.]+")),
    (
        "address",
        r"\bwebsite\b|\burl\b|\bweb address\b|\blink\b",
        re.compile(r"(?:https?://|www\.)\S+|\b[\w-]{1,63}\.(?:com|org|net|edu|gov)\S*"),
    ),
    (
        "number",
        r"\b(?:case|phone|serial|model|file|registration|account) (?:number|no)\b",
        re.compile(r"\b[\dA-Z]+(?:-[\dA-Z]+)+\b|\b\d{4,}\b"),
    ),
)
_FIRM = re.compile(
    r"\b(?:Inc|Corp|Corporation|LLC|L\.?P|Ltd|Company|Co|PLC|Party|Association|Foundation|Bank)\b",
    re.IGNORECASE,
)
_FORMATS = (
    "%B %d, %Y",
    "%B %d %Y",
    "%b %d, %Y",
    "%b. %d, %Y",
    "%d %B %Y",
    "%d %b %Y",
    "%m/%d/%Y",
    "%m/%d/%y",
    "%Y-%m-%d",
)


_NAME_ASKED = (
    r"\bwho\b|\bwhose\b|\bname of\b|\b(?:which|what) (?:\w+ ){0,2}(?:company|person|author|"
    r"organi[sz]ation|city|country|"
    r"university|department|agency|group|dataset|model|method)\b"
)


def span(analysis: Analysis, facts: Sequence[Fact]) -> Attempt | None:
    """The span that answers: of the type asked for where there is one, else by what the question lacks."""
    best = [f for f in ordered(facts)[:8] if not read_list(f.text) and not read_count(f.text)]
    folded = fold(analysis.text)
    if re.search(r"\bwhy\b|\bwhat (?:drove|caused|led)|\breasons? (?:for|of|why)\b", folded):
        cause = _cause(best)
        if cause:
            return cause
    labelled = _labelled(best, analysis)
    if labelled is not None:
        return labelled
    word = asked_word(analysis)
    if word == "when" and not analysis.iso_date:
        return _when(best, analysis)
    for name, asked, pattern in _TYPED:
        if re.search(asked, folded):
            return _of_type(name, pattern, best, analysis)
    if re.search(_NAME_ASKED, folded):
        found = _named(best, analysis)
        if found:
            return Attempt(
                found[0], "name", (found[1],), "a name in the fact that the question does not hold"
            )
    if word == "who":
        return None
    cell = _cell(best, analysis)
    if word == "where":
        placed = cell is not None and re.search(_PLACE_LABEL, fold(cell.reason))
        return cell if placed else _place(best, analysis)
    return cell if cell is not None else _phrase(best, analysis)


_PLACE_LABEL = r"\b(?:location|place|city|country|site|venue|address|region|office|state|where)\b"


def _of_type(
    name: str, pattern: re.Pattern[str], facts: Sequence[Fact], analysis: Analysis
) -> Attempt | None:
    found = _typed(pattern, facts, analysis)
    if not found:
        return None
    text = iso_date(found[0]) if name == "date" and analysis.iso_date else found[0]
    return Attempt(text, f"typed {name}", (found[1],), f"the {name} in the fact")


def _phrase(facts: Sequence[Fact], analysis: Analysis) -> Attempt | None:
    for fact in facts[:3]:
        row = row_of(fact)
        if row is not None and covered(analysis.target, row.title + " " + row.label) < 1:
            continue
        text = _rest(bare(fact.text), analysis)
        if text:
            return Attempt(text, "phrase", (fact,), "the words of the fact that the question lacks")
    return None


def _cell(facts: Sequence[Fact], analysis: Analysis) -> Attempt | None:
    """The cell under the header that the question asks for, in a row that the question describes."""
    asked = stem_set(analysis.text)
    for fact in facts[:3]:
        pairs = [part.split(": ", 1) for part in bare(fact.text).split("; ") if ": " in part]
        if len(pairs) < 2:
            continue
        free = [(k, v) for k, v in pairs if len(stem_set(v) & asked) < 0.6 * max(len(stem_set(v)), 1)]
        known = len(pairs) > len(free)
        best = max(free, key=lambda kv: covered(analysis.target, kv[0]), default=None)
        if known and best is not None and covered(analysis.target, best[0]) >= 0.5:
            return Attempt(best[1].strip(), "table cell", (fact,), f"the cell under {best[0]}")
    return None


def cell_beside(fact: Fact, number: str, analysis: Analysis) -> str:
    """The cell under the header asked for in a row of words that a number names; empty where it is none."""
    pairs = [part.split(": ", 1) for part in bare(fact.text).split("; ") if ": " in part]
    if not any(value.strip() == number for _, value in pairs):
        return ""
    others = [(key, value) for key, value in pairs if value.strip() != number]
    best = max(others, key=lambda pair: covered(analysis.target, pair[0]), default=("", ""))
    return best[1].strip()


def _cause(facts: Sequence[Fact]) -> Attempt | None:
    """What stands behind `due to`, `because of`, `driven by` in the best fact that has it."""
    for fact in facts:
        match = re.search(
            r"\b(?:due to|because(?: of)?|driven by|as a result of|attributable to|result(?:ed|"
            r"ing) from) (.+)",
            bare(fact.text),
        )
        if match:
            return Attempt(match.group(1).rstrip(". "), "cause", (fact,), "the cause that the fact names")
    return None


def _typed(pattern: re.Pattern[str], facts: Sequence[Fact], analysis: Analysis) -> tuple[str, Fact] | None:
    asked = fold(analysis.text)
    for fact in facts:
        for match in pattern.finditer(fact.quote):
            text = match.group().strip(" .,;")
            if fold(text) not in asked:
                return text, fact
    return None


def iso_date(text: str) -> str:
    """A date as `YYYY-MM-DD`; the text itself where it is none."""
    plain = re.sub(r"(\d)(?:st|nd|rd|th)\b", r"\1", text.strip()).title()
    for form in _FORMATS:
        try:
            return datetime.strptime(plain, form).date().isoformat()
        except ValueError:
            continue
    return text


def _labelled(facts: Sequence[Fact], analysis: Analysis) -> Attempt | None:
    """The value of the line of a form whose label meets the question best: `Inspector: Marek Dvorak`."""
    lines = [
        (f, line)
        for f in facts
        if (line := label_value(bare(f.text))) and answers(line, analysis) and _is_about(f, facts, analysis)
    ]
    if not lines:
        return None
    fact, (label, value) = max(lines, key=lambda pair: nearness(pair[1][0], analysis))
    dates = [m.group() for _, pattern in _WHEN if (m := pattern.search(value))]
    text = dates[0] if dates and asked_word(analysis) == "when" else value.rstrip(" .,;")
    return Attempt(text, "labelled", (fact, *_beside(fact, facts, analysis)), f"the value of {label}")


def _is_about(fact: Fact, facts: Sequence[Fact], analysis: Analysis) -> bool:
    """Whether a line, with the one that says what its form is about, holds half of the question's words."""
    texts = " ".join(f.text for f in (fact, *_beside(fact, facts, analysis)))
    return covered(analysis.content, texts) >= 0.5


def _beside(fact: Fact, facts: Sequence[Fact], analysis: Analysis) -> list[Fact]:
    """The line of the same form that says what the form is about, where the answer's own line does not."""
    here = [f for f in facts if f.regions and fact.regions and f.regions[0].ref == fact.regions[0].ref]
    own = covered(analysis.content, fact.text)
    more = [f for f in here if label_value(bare(f.text)) and covered(analysis.content, f.text) > own]
    return more[:1]


_WHEN = (
    ("date", _DATE),
    ("date", re.compile(rf"\b{_MONTH},? (?:19|20)\d\d\b|\b\d{{1,2}} {_MONTH}\b|\b{_MONTH} \d{{1,2}}\b")),
    ("year", re.compile(r"\b(?:19|20)\d\d\b")),
)


def _when(facts: Sequence[Fact], analysis: Analysis) -> Attempt | None:
    """The date, month or year of the first fact that has one."""
    for fact in facts[:4]:
        for name, pattern in _WHEN:
            found = _typed(pattern, [fact], analysis)
            if found:
                return Attempt(found[0], f"typed {name}", (fact,), f"the {name} in the fact")
    return None


def _place(facts: Sequence[Fact], analysis: Analysis) -> Attempt | None:
    """A capitalised phrase after a preposition of place that the question does not hold."""
    asked, common = stem_set(analysis.text), common_words(facts)
    for fact in facts[:4]:
        for place in places_in(fact, common):
            if not stem_set(place) <= asked:
                return Attempt(place, "place", (fact,), "a place in the fact that the question does not hold")
    return None


def _named(facts: Sequence[Fact], analysis: Analysis) -> tuple[str, Fact] | None:
    asked, common = stem_set(analysis.text), common_words(facts)
    who = asked_word(analysis) == "who"
    for fact in facts[:4]:
        found = names_in(fact, common, who=who)
        names = [_without(n, asked) for n in found if not stem_set(n) <= asked]
        firms = [n for n in names if _FIRM.search(n)]
        if firms and re.search(r"\bcompan|\borgani[sz]ation|\bfirm\b|\bcorporation", fold(analysis.text)):
            return firms[0], fact
        if names:
            return max(names[:4], key=lambda n: len(n.split())), fact
    return None


def _without(name: str, asked: frozenset[str]) -> str:
    """A name without words of the question at its ends, such as the office of a person asked for."""
    words = name.split()
    while len(words) > 1 and {stem(t) for t in tokens(words[-1])} <= asked:
        words = words[:-1]
    while len(words) > 1 and {stem(t) for t in tokens(words[0])} <= asked:
        words = words[1:]
    return " ".join(words)


_LABEL = re.compile(r"(?:^|(?<=; ))[A-Z][^:;,.]{1,40}: ")


def _rest(text: str, analysis: Analysis) -> str:
    """The longest run of a sentence's words, within punctuation, that the question does not hold."""
    asked = stem_set(analysis.text)
    best: list[str] = []
    for clause in re.split(r"[;:()]|,\s|\.\s", _LABEL.sub(" ", text)):
        run: list[str] = []
        for word in [*clause.split(), ""]:
            known = [stem(t) for t in tokens(word)]
            if known and not set(known) <= asked:
                run.append(word)
                continue
            if known and run and set(known) <= asked and all(k in STOPWORDS or len(k) < 4 for k in known):
                run.append(word)
                continue
            run = _trimmed(run)
            if len(run) > len(best):
                best = run
            run = []
    return " ".join(best[:25]).strip(" .,;")


def _trimmed(words: list[str]) -> list[str]:
    while words and fold(words[0]).strip(".,") in STOPWORDS:
        words = words[1:]
    while words and fold(words[-1]).strip(".,") in STOPWORDS:
        words = words[:-1]
    return words
