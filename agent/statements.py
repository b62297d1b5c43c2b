"""Finding where a page says what a statement says in words of its own."""

from collections import Counter

from agent.forms import Printed, dates, folded, printed_numbers
from agent.matching import PageText
from agent.passages import atoms, find_passage
from agent.support import candidates

SHARE = 0.5  # of a statement's words, by length, that a place must hold to be taken for it
MOST = 0.75  # the same where a number is missing
MAX_SENTENCE = 80  # words


def find_statement(text: str, page: PageText) -> list[tuple[int, int]]:
    """The word ranges of a page that say a statement: most of its words, else its numbers in their context.

    Args:
        text: the statement.
        page: the page.

    Returns:
        Ranges of words, none where the page holds neither.
    """
    found = find_passage(text, page.page)
    if found is not None and found.share >= (SHARE if found.numbers else MOST):
        return list(found.ranges)
    by_numbers = _by_numbers(folded(text), page)
    if by_numbers or found is None or found.share < SHARE:
        return by_numbers
    return list(found.ranges)


def _by_numbers(text: str, page: PageText) -> list[tuple[int, int]]:
    """For each number of a text the row or sentence with it that shares most words with the text."""
    days = dates(text)
    numbers = [
        n
        for n in printed_numbers(text)
        if not _is_year(n) and not any(d.start < n.end and n.start < d.end for d in days)
    ]
    told = Counter(key for key in atoms(text) if len(key) > 2)
    spans: set[tuple[int, int]] = set()
    for number in numbers:
        places = {_sentence(page, page.word_at(seen.start)) for seen, _ in candidates(number, page)}
        ranked = sorted((-_shared(span, told, page), span) for span in places)
        if ranked and (ranked[0][0] < 0 or len(ranked) == 1):
            spans.add(ranked[0][1])
    return sorted(spans)


def _is_year(number: Printed) -> bool:
    return number.text.isdigit() and 1900 <= number.values[0] <= 2100 and number.scale == 1.0


def _shared(span: tuple[int, int], told: Counter[str], page: PageText) -> int:
    """The length of the words that a span shares with a text, its numbers counted too."""
    inside = Counter(key for i in range(*span) for key in atoms(page.page.words.texts[i]))
    return sum(len(key) * n for key, n in (inside & told).items())


def _sentence(page: PageText, word: int) -> tuple[int, int]:
    """The row of a table or the sentence that a word stands in, as a range of words."""
    texts, lines = page.page.words.texts, page.page.words.lines
    block = next((b for b in page.page.blocks if b.start <= word < b.end), None)
    low, high = (block.start, block.end) if block is not None else (0, len(texts))
    first, last = word, word + 1
    if block is not None and block.kind == "table":
        while first > low and lines[first - 1] == lines[word]:
            first -= 1
        while last < high and lines[last] == lines[word]:
            last += 1
        return first, last
    while first > low and not texts[first - 1].endswith((".", "!", "?")) and word - first < MAX_SENTENCE:
        first -= 1
    while last < high and not texts[last - 1].endswith((".", "!", "?")) and last - word < MAX_SENTENCE:
        last += 1
    return first, last
