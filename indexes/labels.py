"""Page labels: the PDF's own where they mean something, else the numbers printed on the pages."""

import re
from collections import Counter
from collections.abc import Sequence

from indexes.lines import Line

_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_CANDIDATE = re.compile(
    r"(?P<whole>(?P<prefix>(?:[A-Z]{1,3}|\d{1,2})[-–.])?(?P<number>\d{1,4}|[ivxlcdm]{1,8}|[IVXLCDM]{1,8}))"
)


def roman(text: str) -> int | None:
    """The value of a well-formed roman number, else None."""
    values = [_ROMAN.get(c, 0) for c in text.lower()]
    if not values or 0 in values:
        return None
    total = sum(-v if v < w else v for v, w in zip(values, [*values[1:], 0], strict=True))
    return total if _to_roman(total) == text.lower() else None


def _to_roman(value: int) -> str:
    marks = [(1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl")]
    marks += [(10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")]
    out = ""
    for size, mark in marks:
        while value >= size:
            out, value = out + mark, value - size
    return out


def printed_candidates(lines: Sequence[Line]) -> list[tuple[str, str, int]]:
    """What may be the page's number among its edge lines, as (label, series, value); likeliest first.

    The series says what belongs together: numbers of one script and prefix.
    """
    found = []
    for line in lines:
        parts = line.text.split()
        if len(parts) > 1 and parts[0].endswith((")", ".")) and not parts[0].startswith("("):
            parts = parts[1:]  # an item's or a heading's number
        tokens = [token for token in (part.strip("|-–—[]()<>.,:•·*~") for part in parts) if token]
        places = {0, len(tokens) - 1} if tokens else set()
        places |= {i + 1 for i, token in enumerate(tokens[:-1]) if token.casefold() in ("page", "p", "pg")}
        for token in (tokens[place] for place in sorted(places, reverse=True)):
            match = _CANDIDATE.fullmatch(token)
            if not match:
                continue
            number, prefix = match["number"], match["prefix"] or ""
            value = int(number) if number.isdecimal() else roman(number)
            if value is not None and 0 < value < 5000:
                script = "1" if number.isdecimal() else "i" if number.islower() else "I"
                found.append((match["whole"], f"{prefix}{script}", value))
    return found


def choose_labels(
    pages: int, pdf_labels: Sequence[str], printed: Sequence[Sequence[tuple[str, str, int]]]
) -> list[str | None]:
    """The label of every page, or None.

    Args:
        pages: how many pages there are.
        pdf_labels: the PDF's own, or none.
        printed: each page's candidates.
    """
    if len(pdf_labels) == pages and any(pdf_labels) and not _plain(pdf_labels):
        return [label.strip() or None for label in pdf_labels]
    labels = _runs(printed)
    if any(labels):
        return labels
    if len(pdf_labels) == pages and any(pdf_labels):
        return [label.strip() or None for label in pdf_labels]
    return [None] * pages


def _plain(labels: Sequence[str]) -> bool:
    """True for 1, 2, 3 ...: what programs write that don't know better."""
    return all(label == str(i + 1) for i, label in enumerate(labels))


def _runs(printed: Sequence[Sequence[tuple[str, str, int]]]) -> list[str | None]:
    """Keeps the numbers that grow with the pages: candidates vote for their series and offset.

    A number counts if two others at least go with it, one of them on a page close by; a Roman one needs one
    other, because front matter is short.
    """
    keys = [{(series, value - page) for _, series, value in found} for page, found in enumerate(printed)]
    votes = Counter(key for found in keys for key in found)
    labels: list[str | None] = []
    for page, candidates in enumerate(printed):
        around = set().union(*keys[max(0, page - 2) : page], *keys[page + 1 : page + 3])
        best: tuple[int, str] | None = None
        for label, series, value in candidates:
            key = (series, value - page)
            enough = 3 if series.endswith("1") else 2
            if votes[key] >= enough and key in around and (best is None or votes[key] > best[0]):
                best = (votes[key], label)
        labels.append(best[1] if best else None)
    return labels
