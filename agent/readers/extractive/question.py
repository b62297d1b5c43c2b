"""What a question asks for: the kind of answer, its format, the line items or names it turns on, its queries."""

import re
from dataclasses import dataclass
from functools import lru_cache

from agent.readers.extractive.formulas import (
    Constant,
    Formula,
    Node,
    Operation,
    Term,
    change,
    known_formula,
    mean,
    parse_definition,
    shifted,
    taken,
)
from agent.readers.extractive.lineitems import LineItem, free_item, resolve
from agent.readers.extractive.text import NUMBER_WORDS, SCALES, STOPWORDS, content, fold, stem, years
from agent.types import AnswerType

_STARTERS = frozenset(
    "what which who whom whose when where why how is are was were do does did has have had can could in on at of "
    "from for by to as the a an according among between compared regarding please list give tell name based using "
    "when if although repeat since besides under with during considering looking basing both most top".split()
)
_MONTHS = "january february march april may june july august september october november december".split()


@dataclass(frozen=True, slots=True)
class Analysis:
    """A question taken apart; see `analyse`.

    Attributes:
        text: the question without its instructions about the format of the answer.
        answer_type: the kind of answer.
        form: how the answer is to be written: `int`, `float`, `list`, `yes_no` or `text`.
        content: stems of the content words, in order.
        names: what must occur in the document if the question is about it: quoted words, names, codes.
        years: the years named, in order.
        target: stems of the head of `which X`, `how many X`.
        options: the alternatives of `A or B`, or the two things whose values are to be combined.
        combine: `-`, `+` or `%` where the values of the two options are to be subtracted, added, or the second is to be
            given as a change of the first in percent; else empty.
        extreme: `max` or `min` for highest, lowest and the like, else empty.
        percent: the answer is a percentage.
        scale: the factor the answer is asked in (`in millions`: 1e6), or None.
        places: decimals asked for, or None.
        iso_date: a date is to be written as YYYY-MM-DD.
        choices: the two answers of `answer 'A' or 'B'`, else empty.
        formula: what is to be computed from line items, if it is that.
        pages: pages named by number (`page 14`, `slide 11`).
        visual: it asks what only a picture shows (colours, persons in a photo).
    """

    text: str
    answer_type: AnswerType
    form: str
    content: tuple[str, ...]
    names: tuple[str, ...]
    years: tuple[int, ...]
    target: tuple[str, ...]
    options: tuple[str, ...]
    combine: str
    extreme: str
    percent: bool
    scale: float | None
    places: int | None
    iso_date: bool
    choices: tuple[str, ...]
    formula: Formula | None
    pages: tuple[int, ...]
    visual: bool


_INSTRUCTION = re.compile(
    r"(?:(?<=[.?!])\s*|^)(?:please )?(?:directly )?(?:(?:anw?swer|write|writhe|writeh|give|return|format|round|represent|"
    r"state|respond|address|calculate|base|approach)\b)(?! (?:is|was|are))[^?]*?(?:\.(?=\s|$)|\?|$)",
    re.IGNORECASE,
)


def stripped(question: str) -> str:
    """The question without instructions about the answer's format; itself where nothing else is left."""
    text = _INSTRUCTION.sub(" ", question.strip())
    text = re.sub(r"\b(?:for example|e\.g\.?)[,:]?\s*\[.*?\]\.?", " ", text, flags=re.IGNORECASE)
    text = re.sub(r"\s+", " ", text).strip()
    return text if len(content(text)) >= 2 else " ".join(question.split())


def _form(folded: str, text: str) -> str:
    if re.search(r"list format|format of (?:a )?list|as a list|in (?:the )?list|\[\"", folded):
        return "list"
    if re.search(r"\byes'? or '?no\b", folded):
        return "yes_no"
    if re.search(r"integer|\bint (?:format|form)", folded):
        return "int"
    if re.search(r"float format|decimal", folded):
        return "float"
    if re.search(r"\bhow many\b|\bhow (?:steps|pages|figures)\b|number of\b", text):
        return "int"
    if _is_yes_no(text):
        return "yes_no"
    return "text"


def _is_yes_no(text: str) -> bool:
    last = re.split(r"[.?!]\s+(?=\w)|,\s+(?=(?:do|does|did|is|are|was|were|has|have) )", text)[-1]
    starts = re.match(r"\s*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b", text)
    claim = text.rstrip().endswith(".") and not re.search(
        r"\b(?:what|which|who|whose|whom|when|where|why|how)\b|^(?:please |list|give|tell|name|repeat|write|describe|explain|find|"
        r"identify|compute|calculate)",
        text.strip(),
    )
    return bool(claim or starts or re.match(r"\s*(?:do|does|did|is|are|was|were|has|have)\b", last))


def _asked(folded: str) -> str:
    """The clause that asks: from the last interrogative on."""
    match = list(re.finditer(r"\b(?:what|which|who|whose|when|where|how (?:many|much|steps)|how)\b", folded))
    return folded[match[-1].start() :] if match else folded


def _percent(text: str) -> bool:
    return bool(
        re.search(r"\bpercent(?:age)?s?\b|%|\bproportion\b|\brate\b|\bshare of\b|units of percents", text)
        and not re.search(r"\bhow many (?!percent)", text)
    )


def _answer_type(
    text: str, whole: str, form: str, options: tuple[str, ...], combine: str, formula: Formula | None
) -> AnswerType:
    if formula is not None:
        simple = isinstance(formula.tree, Term)
        return "number" if simple else "difference"
    if combine:
        return "difference"
    if re.search(
        r"\bdifference\b|how many more|how much (?:more|higher|larger|lower|less)|\bgap\b|by how much", text
    ):
        return "difference"
    if options and form != "list":
        return "comparison"
    if form == "yes_no":
        return "yes_no"
    if form == "list" or re.search(r"\blist\b|which (?:two|three|four|five|six|seven|eight)\b", text):
        return "list"
    if re.search(r"\bhow many\b|\bnumber of\b|\bhow (?:steps|pages)\b", text):
        return "number" if re.search(r"how many (?:percent|million|billion|thousand)", text) else "count"
    if re.search(
        r"\b(?:which|who|what) (?!percent|proportion|rate|amount|number|is |are |was |were )[\w' -]{2,40}? (?:has|have|had|is|are|was|were|accounts?) "
        r"(?:the |an? )?(?:\w+ )?(?:highest|lowest|largest|smallest|most|least|biggest|greatest|best|worst)",
        text,
    ):
        return "span"
    if re.search(
        r"how much\b|\bpercent(?:age)?\b|%|\bproportion\b|\bwhat (?:amount|value|number|rate)\b|"
        r"\bwhat (?:is|was) (?:the )?(?:(?!of |name |title |type |kind )\w+ ){0,2}(?:quantity|amount|percentage|ratio|price|cost|rate|size|score|accuracy|"
        r"performance|population)\b",
        text,
    ):
        return "number"
    if form in ("int", "float") or re.search(
        r"\b(?:anw?swer|usd) in (?:usd )?(?:thousand|million|billion)", whole
    ):
        return "number"
    if _plural_target(text):
        return "list"
    return "span"


def _plural_target(text: str) -> bool:
    match = re.match(
        r".*?\b(?:what|which)(?: are| were)? (?:the |all |other )?((?:[a-z-]+ ){0,3}?)([a-z]+)\b", text
    )
    if not match:
        return False
    head = match.group(2)
    plural = head.endswith("s") and not head.endswith(("ss", "us", "is")) and len(head) > 3
    return plural and bool(
        re.search(r"\b(?:what|which)\b.*\b(?:are|were|have|do)\b|^(?:what|which) are", text)
    )


def _options(question: str) -> tuple[str, ...]:
    """The alternatives of a comparison, `A or B` at the end or behind a comma or a colon."""
    text = question.strip().rstrip("?. ")
    match = re.search(
        r"(?:[,:?]\s*|\bbetween\s+|\b(?:are|is) there (?:more )?)([^,?:]{2,70}?),?\s+or\s+([^,?:]{2,70})$",
        text,
    )
    if match and len(match.group(2).split()) <= 10:
        return match.group(1).strip(), match.group(2).strip()
    return ()


def _combine(folded: str) -> str:
    """Whether two values are to be subtracted, added, or set in proportion as a change in percent."""
    if re.search(
        r"percent(?:age)? (?:change|increase|decrease|growth)|% (?:change|increase|decrease)|growth rate",
        folded,
    ):
        return "-" if "absolute" in folded else "%"
    if re.search(
        r"\bdifference\b|how (?:many|much) (?:more|less|fewer|higher|lower|larger|greater)\b|\bgap\b|by how much|"
        r"percent change|\b(?:increase|decrease|change|drop)d?\b.* from\b.* to\b",
        folded,
    ):
        return "-"
    if re.search(
        r"\b(?:sum|combined \w+|total (?:percentage|number|amount|share|proportion)) of\b.*\band\b|"
        r"\bin total\b.*\band\b",
        folded,
    ):
        return "+"
    return ""


_PAIR = (
    re.compile(
        r"^(?P<head>.*?)\b(?:between|from)\s+(?P<a>.+?)\s+(?:and|to)\s+(?P<b>.+?)(?P<tail>[,?].*)?$", re.I
    ),
    re.compile(
        r"^(?P<head>.*?)\bfor\s+(?P<a>.+?)\s+(?:compar(?:ed|ing) (?:to|with)|than|versus|vs\.?)\s+(?P<b>.+?)(?P<tail>\?.*)?$",
        re.I,
    ),
    re.compile(
        r"^(?P<head>.*?)\b(?:does|do|did|is|are|have|has)\s+(?P<a>.+?)\s+(?:compar(?:ed|ing) (?:to|with)|than|versus|vs\.?)\s+(?P<b>.+?)(?P<tail>\?.*)?$",
        re.I,
    ),
    re.compile(
        r"^(?P<head>.*?(?:sum|combined \w+|total \w+)\s+of\s+)(?P<a>.+?)\s+and\s+(?P<b>.+?)(?P<tail>\?.*)?$",
        re.I,
    ),
)


def _pair(text: str, named: tuple[int, ...]) -> tuple[str, ...]:
    """The two things that are set against each other, each with the rest of the question."""
    for pattern in _PAIR:
        match = pattern.match(text)
        if match:
            rest = f"{match['head']} {match['tail'] or ''}"
            first, second = match["a"], match["b"]
            if len(first.split()) > 12 or len(second.split()) > 14:
                continue
            return f"{first} {rest}".strip(" ,?"), f"{second} {rest}".strip(" ,?")
    if len(named) == 2:
        rest = re.sub(r"\b(?:19|20)\d\d\b", " ", text)
        return f"{named[0]} {rest}", f"{named[1]} {rest}"
    return ()


def _pages(folded: str) -> tuple[int, ...]:
    """Pages named by number, `pages 51-53` as its ends; the cover and the first page are page 1."""
    found = [int(p) for p in re.findall(r"\b(?:pages?|slides?|p\.)\s*\(?(\d{1,4})\b", folded)]
    span = re.search(r"\b(?:pages|slides)\s*(\d{1,4})\s*(?:-|to|and)\s*(\d{1,4})\b", folded)
    if span:
        found += [int(span.group(1)), int(span.group(2))]
    if re.search(r"\b(?:cover|first|title) page\b|\bon the cover\b", folded):
        found.append(1)
    return tuple(dict.fromkeys(found))


def _choices(question: str) -> tuple[str, ...]:
    match = re.search(
        r"answer (?:with )?['\"‘“]([^'\"’”]{1,40})['\"’”],? or ['\"‘“]([^'\"’”]{1,40})['\"’”]", question, re.I
    )
    return (match.group(1), match.group(2)) if match else ()


def _extreme(text: str) -> str:
    if re.search(
        r"\b(?:highest|largest|most|biggest|greatest|maximum|longest|best|top|latest|lastest|oldest)\b", text
    ):
        return "max"
    if re.search(r"\b(?:lowest|smallest|least|fewest|minimum|shortest|worst|earliest|youngest)\b", text):
        return "min"
    return ""


def _names(text: str, document_words: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Quoted phrases, capitalised names (not the first word of a sentence), codes with digits or capitals."""
    found = [m.group(1).strip() for m in re.finditer(r"[\"“`']([^\"”`']{2,60})[\"”`'](?!\w)", text)]
    sentence_start = True
    run: list[str] = []
    for word in re.findall(r"[\w&'’./+-]+|[,;:?!()]", text):
        plain = re.sub(r"['’]s$", "", word.strip("'’."))
        named = (
            plain[:1].isupper()
            and plain.lower() not in _STARTERS
            and (not sentence_start or not plain.istitle() or len(run) > 0 or plain.lower() not in STOPWORDS)
        ) or (bool(re.search(r"\d", plain)) and bool(re.search(r"[A-Za-z]", plain)))
        if sentence_start and plain.lower() in _STARTERS:
            named = False
        if named and not re.fullmatch(r"(?:FY|Q)?\s*\d{2,4}|Answer|I", plain):
            run.append(plain)
        else:
            if run:
                found.append(" ".join(run))
            run = []
        sentence_start = word.endswith(("?", "!")) or (word.endswith(".") and len(word) > 3)
    if run:
        found.append(" ".join(run))
    return tuple(dict.fromkeys(n for n in found if n.lower() not in STOPWORDS and n.lower() not in _MONTHS))


def _target(text: str) -> tuple[str, ...]:
    match = re.search(
        r"\b(?:how many|which|what|whose)\s+(?:(?:is|are|was|were)\s+)?(?:the\s+)?((?:[\w'-]+\s*){1,5})", text
    )
    if not match:
        return ()
    words: list[str] = []
    for word in match.group(1).split():
        if word in STOPWORDS or word in ("is", "are", "have", "has", "per"):
            if words:
                break
            continue
        words.append(stem(word))
        if len(words) == 3:
            break
    return tuple(words)


def _scale(folded: str) -> float | None:
    match = re.search(
        r"(?:anw?swer|represent|express|units?|usd|dollars?|apps? does it have)?\s*\bin (?:usd |us dollars? )?"
        r"(thousand|million|billion)s?\b|\busd (thousand|million|billion)s?|\bin usd (million|billion)",
        folded,
    )
    if not match:
        return None
    return SCALES[next(g for g in match.groups() if g)]


def _places(folded: str) -> int | None:
    match = re.search(r"(?:to|with|at) (\w+)\s*(?:th )?decimal", folded)
    if not match and re.search(
        r"round (?:your )?(?:answer )?to (three|two|one|\d) ?(?:decimal|$|\W)", folded
    ):
        match = re.search(r"round (?:your )?(?:answer )?to (\w+)", folded)
    if not match:
        return None
    word = match.group(1)
    return int(word) if word.isdigit() else NUMBER_WORDS.get(word)


_VISUAL = re.compile(
    r"\b(?:colou?rs?|red|blue|green|yellow|gr[ae]y|purple|orange|black|white|pink|brown)\b|"
    r"\b(?:photo|photograph|icon|logo|arrow|triangle|rectangle|snowflake|wearing|screenshot|cartoon|"
    r"picture|image)s?\b"
)


@lru_cache(maxsize=256)
def analyse(question: str) -> Analysis:
    """Takes a question apart by rules; deterministic, in any language without an error."""
    text = stripped(question)
    folded, whole = fold(text), fold(" ".join(question.split()))
    named_years = years(text) or years(question)
    formula = _formula(whole, folded, named_years)
    form = _form(whole, folded)
    options = _options(text)
    combine = "" if options else _combine(folded)
    if combine:
        quoted = [m.group(1) for m in re.finditer(r"[\"“`]([^\"”`]{2,60})[\"”`]", text)]
        pair = combine == "+" and len(quoted) == 2
        options = (quoted[0], quoted[1]) if pair else _pair(text, named_years)
    answer_type = _answer_type(folded, whole, form, options, combine if options else "", formula)
    pages = _pages(folded)
    return Analysis(
        text=text,
        answer_type=answer_type,
        form=form,
        content=tuple(s for s in content(text)),
        names=_names(text),
        years=named_years,
        target=_target(_asked(folded)),
        options=options,
        combine=combine if options else "",
        extreme=_extreme(folded),
        percent=_percent(_asked(folded)) or bool(formula and formula.percent),
        scale=_scale(whole),
        places=_places(whole),
        iso_date="yyyy-mm" in whole,
        choices=_choices(question),
        formula=formula,
        pages=pages,
        visual=bool(_VISUAL.search(folded)),
    )


# ---- formulas in questions


def _formula(whole: str, folded: str, named: tuple[int, ...]) -> Formula | None:
    year = max(named) if named else None
    if re.search(
        r"\b(?:what|which \w+) (?:drove|caused|led|explains?)\b|\bwhy\b(?! is)|components of", folded
    ):
        return None
    defined = re.search(
        r"\b(?:is defined as|define ([\w\s%&()-]+?) as|defined as):?\s*(.+?)(?:\.\s|\.?$)", whole
    )
    if defined and "ebitda" not in (defined.group(1) or ""):
        tree = parse_definition(defined.group(2), year)
        if tree is not None:
            return Formula("as defined", tree, "%" in whole or "percent" in whole)
    if not named and not re.search(
        r"\b(?:fy|fiscal|balance sheet|income statement|statement of|10-?k)\b", whole
    ):
        return None
    base = _base_formula(folded, whole, year)
    if base is None:
        return None
    return _over_years(base, folded, named)


def _base_formula(folded: str, whole: str, year: int | None) -> Formula | None:
    known = known_formula(whole, year)
    pair = _ratio_items(re.sub(r",? (?:taking|adding|including) .*", "", folded))
    if known is not None and (
        pair is None or known[0].percent or "turnover" in known[1] or "debt" in known[1]
    ):
        return known[0]
    if pair:
        tree = Operation("/", Term(pair[0]), Term(pair[1]))
        return Formula(f"{pair[0].key} to {pair[1].key}", taken(tree, whole, year), True)
    if known is not None:
        return known[0]
    item = asked_item(folded)
    return Formula(item.key, taken(Term(item), whole, year)) if item else None


def _ratio_items(folded: str) -> tuple[LineItem, LineItem] | None:
    for match in re.finditer(r"\bto\b|\bas (?:a )?(?:%|percent(?:age)?|share) of\b|\bdivided by\b|/", folded):
        left = _item_before(folded[: match.start()])
        right = _item_after(folded[match.end() :])
        if left and right and left != right and not re.match(r"\s*(?:fy|20\d\d)", folded[match.end() :]):
            return left, right
    return None


def _item_before(text: str) -> LineItem | None:
    words = text.split()
    for size in range(min(6, len(words)), 0, -1):
        item = resolve(" ".join(words[-size:]))
        if item:
            return item
    return None


def _item_after(text: str) -> LineItem | None:
    words = re.sub(r"[?,.]", " ", text).split()
    for size in range(min(6, len(words)), 0, -1):
        item = resolve(re.sub(r" ratio$", "", " ".join(words[:size])))
        if item:
            return item
    return None


_FILLERS = frozenset(
    "what how much year end total amount value number of usd million billion thousand dollar be have at did do report "
    "fy fiscal for in the its their company worth balance record spend s chang growth increas decreas year-over-year "
    "over percent averag unadjust net much many".split()
)


def asked_item(folded: str) -> LineItem | None:
    """The longest line item that the asking clause names, if the clause names nothing else that narrows it."""
    clause = re.sub(r"(?:[\w&.-]+ ){0,2}?[\w&.-]+'s\b|[?,.;:]", " ", _asked(folded))
    words = clause.split()
    for size in range(min(7, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            item = resolve(" ".join(words[start : start + size]))
            if item is None:
                continue
            rest = [*words[max(0, start - 4) : start], *words[start + size : start + size + 1]]
            narrowing = [
                w
                for w in rest
                if stem(w) not in _FILLERS
                and w not in STOPWORDS
                and not re.match(r"(?:fy)?\d|in$|for$|at$|as$|of$", w)
            ]
            return None if len(narrowing) > (1 if item.statement == "balance" else 0) else item
    return None


def _over_years(base: Formula, folded: str, named: tuple[int, ...]) -> Formula:
    tree = base.tree
    years_mean = re.search(r"\b(\w+)[- ]year average\b", folded)
    if years_mean and len(named) <= 2:
        word = years_mean.group(1)
        count = int(word) if word.isdigit() else NUMBER_WORDS.get(word, 0)
        if 2 <= count <= 10:
            return Formula(
                f"{count} year average", mean([shifted(tree, i) for i in range(count)]), base.percent
            )
    span = max(named) - min(named) if len(named) >= 2 else 1
    span = min(max(span, 1), 10)
    growing = (
        r"year[- ]over[- ]year|\byoy\b|growth rate|\bgrowth\b|percent(?:age)? (?:change|increase|decrease)|"
        r"(?:change|increase|decrease) in .*percent|% (?:change|increase|growth)"
    )
    if re.search(growing, folded):
        return Formula(f"change of {base.name}", change(tree, span), True)
    if len(named) >= 2 and re.search(
        r"\b(?:change[ds]?|difference|increase[ds]?|decrease[ds]?|grow|grew)\b", folded
    ):
        return Formula(f"difference of {base.name}", Operation("-", tree, shifted(tree, span)), base.percent)
    if len(named) >= 2 and re.search(r"\baverage\b", folded):
        return Formula(f"average of {base.name}", mean([tree, shifted(tree, span)]), base.percent)
    return base


# ---- parts and queries


def formula_parts(formula: Formula, year: int | None) -> tuple[str, ...]:
    """A part for each line item of a formula: its words and the years it is needed in."""
    needed: dict[LineItem, set[int]] = {}
    for term in formula.terms():
        needed.setdefault(term.item, set()).add(term.back)
    parts = []
    for item, backs in needed.items():
        named = ", ".join(str(year - back) for back in sorted(backs)) if year else ""
        parts.append(f"{item.query}, {named}" if named else item.query)
    return tuple(parts)


_STATEMENT_QUERY = {
    "balance": "consolidated balance sheets",
    "income": "consolidated statements of operations income",
    "cash": "consolidated statements of cash flows",
}


def formula_queries(formula: Formula, year: int | None) -> tuple[str, ...]:
    """A query for each statement that a formula draws on, with its line items and the year."""
    grouped: dict[str, list[str]] = {}
    for term in formula.terms():
        words = grouped.setdefault(term.item.statement, [])
        if term.item.query not in words:
            words.append(term.item.query)
    suffix = f" {year}" if year else ""
    queries = []
    for statement, words in grouped.items():
        head = _STATEMENT_QUERY.get(statement, "")
        queries.append(f"{head} {' '.join(words)}{suffix}".strip())
    return tuple(queries)


def free_term(phrase: str) -> Node:
    """A term for a phrase, a known line item or a free one."""
    return Term(resolve(phrase) or free_item(phrase))


__all__ = [
    "Analysis",
    "Constant",
    "analyse",
    "asked_item",
    "formula_parts",
    "formula_queries",
    "free_term",
    "stripped",
]
