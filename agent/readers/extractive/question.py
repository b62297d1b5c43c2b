"""What a question asks for: the kind of answer, its format, the line items or names it turns on."""

import re
from dataclasses import dataclass
from functools import lru_cache

from agent.readers.extractive.asked import (
    asked_formula,
    asking_clause,
)
from agent.readers.extractive.comparing import alternatives, answer_choices, combination, combined_pair
from agent.readers.extractive.formulas import Formula, Term
from agent.readers.extractive.text import NUMBER_WORDS, SCALES, STOPWORDS, content, fold, stem, years
from agent.types import AnswerType

_STARTERS = frozenset(
    "what which who whom whose when where why how is are was were do does did has have had can "
    "could in on at of "
    "from for by to as the a an according among between compared regarding please list give tell "
    "name based using "
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
        combine: `-`, `+` or `%` where the values of the two options are to be subtracted, added, or the
            second is to be given as a change of the first in percent; else empty.
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
    r"(?:(?<=[.?!])\s*|^)(?:please )?(?:directly )?(?:(?:anw?swer|write|writhe|writeh|give|return|"
    r"format|round|represent|"
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
        r"\b(?:what|which|who|whose|whom|when|where|why|how)\b|^(?:please |list|give|tell|name|"
        r"repeat|write|describe|explain|find|"
        r"identify|compute|calculate)",
        text.strip(),
    )
    return bool(claim or starts or re.match(r"\s*(?:do|does|did|is|are|was|were|has|have)\b", last))


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
        r"\b(?:which|who|what) (?!percent|proportion|rate|amount|number|is |are |was |were )[\w' "
        r"-]{2,40}? (?:has|have|had|is|are|was|were|accounts?) "
        r"(?:the |an? )?(?:\w+ )?(?:highest|lowest|largest|smallest|most|least|biggest|greatest|best|worst)",
        text,
    ):
        return "span"
    if re.search(
        r"how much\b|\bpercent(?:age)?\b|%|\bproportion\b|\bwhat (?:amount|value|number|rate)\b|"
        r"\bwhat (?:is|was) (?:the )?(?:(?!of |name |title |type |kind )\w+ ){0,2}(?:quantity|"
        r"amount|percentage|ratio|price|cost|rate|size|score|accuracy|"
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


def _pages(folded: str) -> tuple[int, ...]:
    """Pages named by number, `pages 51-53` as its ends; the cover and the first page are page 1."""
    found = [int(p) for p in re.findall(r"\b(?:pages?|slides?|p\.)\s*\(?(\d{1,4})\b", folded)]
    span = re.search(r"\b(?:pages|slides)\s*(\d{1,4})\s*(?:-|to|and)\s*(\d{1,4})\b", folded)
    if span:
        found += [int(span.group(1)), int(span.group(2))]
    if re.search(r"\b(?:cover|first|title) page\b|\bon the cover\b", folded):
        found.append(1)
    return tuple(dict.fromkeys(found))


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
        r"(?:anw?swer|represent|express|units?|usd|dollars?|apps? does it have)?\s*\bin (?:usd |"
        r"us dollars? )?"
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
    formula = asked_formula(whole, folded, named_years)
    form = _form(whole, folded)
    options = alternatives(text)
    combine = "" if options else combination(folded)
    if combine:
        quoted = [m.group(1) for m in re.finditer(r"[\"“`]([^\"”`]{2,60})[\"”`]", text)]
        pair = combine == "+" and len(quoted) == 2
        options = (quoted[0], quoted[1]) if pair else combined_pair(text, named_years)
    answer_type = _answer_type(folded, whole, form, options, combine if options else "", formula)
    pages = _pages(folded)
    return Analysis(
        text=text,
        answer_type=answer_type,
        form=form,
        content=tuple(s for s in content(text)),
        names=_names(text),
        years=named_years,
        target=_target(asking_clause(folded)),
        options=options,
        combine=combine if options else "",
        extreme=_extreme(folded),
        percent=_percent(asking_clause(folded)) or bool(formula and formula.percent),
        scale=_scale(whole),
        places=_places(whole),
        iso_date="yyyy-mm" in whole,
        choices=answer_choices(question),
        formula=formula,
        pages=pages,
        visual=bool(_VISUAL.search(folded)),
    )
