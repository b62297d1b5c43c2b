"""What a question sets against each other: alternatives, and two values to be subtracted or added."""

import re


def alternatives(question: str) -> tuple[str, ...]:
    """The alternatives of a comparison, `A or B` at the end or behind a comma or a colon."""
    text = question.strip().rstrip("?. ")
    match = re.search(
        r"(?:[,:?]\s*|\bbetween\s+|\b(?:are|is) there (?:more )?)([^,?:]{2,70}?),?\s+or\s+([^,?:]{2,70})$",
        text,
    )
    if match and len(match.group(2).split()) <= 10:
        return match.group(1).strip(), match.group(2).strip()
    return ()


def combination(folded: str) -> str:
    """Whether two values are to be subtracted, added, or set in proportion as a change in percent."""
    if re.search(
        r"percent(?:age)? (?:change|increase|decrease|growth)|% (?:change|increase|decrease)|growth rate",
        folded,
    ):
        return "-" if "absolute" in folded else "%"
    if re.search(
        r"\bdifference\b|how (?:many|much) (?:more|less|fewer|higher|lower|larger|greater)\b|"
        r"\bgap\b|by how much|"
        r"percent change|\b(?:increased?|decreased?|changed?|drop|fall|fell|rise|rose|grow|grew|declined?)\b"
        r".* from\b.* to\b",
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
        r"^(?P<head>.*?)\bfor\s+(?P<a>.+?)\s+(?:compar(?:ed|ing) (?:to|with)|than|versus|vs\.?)"
        r"\s+(?P<b>.+?)(?P<tail>\?.*)?$",
        re.I,
    ),
    re.compile(
        r"^(?P<head>.*?)\b(?:does|do|did|is|are|have|has)\s+(?P<a>.+?)\s+(?:compar(?:ed|ing) "
        r"(?:to|with)|than|versus|vs\.?)\s+(?P<b>.+?)(?P<tail>\?.*)?$",
        re.I,
    ),
    re.compile(
        r"^(?P<head>.*?(?:sum|combined \w+|total \w+)\s+of\s+)(?P<a>.+?)\s+and\s+(?P<b>.+?)(?P<tail>\?.*)?$",
        re.I,
    ),
)


_ONE_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def combined_pair(text: str, named: tuple[int, ...]) -> tuple[str, ...]:
    """The two things that are set against each other, each with the rest of the question."""
    for pattern in _PAIR:
        match = pattern.match(text)
        if match:
            rest = f"{match['head']} {match['tail'] or ''}"
            first, second = match["a"], match["b"]
            if len(first.split()) > 12 or len(second.split()) > 14:
                continue
            if _ONE_YEAR.fullmatch(second.strip(" .")) and len(years := _ONE_YEAR.findall(first)) == 1:
                second = first.replace(years[0], second)
            return f"{first} {rest}".strip(" ,?"), f"{second} {rest}".strip(" ,?")
    if len(named) == 2:
        rest = re.sub(r"\b(?:19|20)\d\d\b", " ", text)
        return f"{named[0]} {rest}", f"{named[1]} {rest}"
    return ()


def answer_choices(question: str) -> tuple[str, ...]:
    """The two answers that a question allows: `answer 'A' or 'B'`."""
    match = re.search(
        r"answer (?:with )?['\"‘“]([^'\"’”]{1,40})['\"’”],? or ['\"‘“]([^'\"’”]{1,40})['\"’”]", question, re.I
    )
    return (match.group(1), match.group(2)) if match else ()
