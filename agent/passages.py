"""Finding a passage on a page where its words stand in another order, with slips, or with others between.

A text taken out of a PDF seldom keeps the order of the page: tables come column by column, lines are
shuffled, hyphens and line breaks are lost, the end is cut off. So a passage is looked for as a bag of words
that stand close together: the run of lines that holds most of them and little else, then a second run for
what the first has not, and so on.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from indexes.types import Page

MAX_RUNS = 4  # places on a page that a passage may be put together from
CANDIDATES = 16  # runs of lines that are compared word by word
STRANGE = 0.7  # what a word costs that the passage does not have, as a share of what a word of it gains
PIECE = 0.12  # share of the passage that a further place must add
DENSE = 0.6  # share of a place's words from which the words between them are taken too

_APOSTROPHES = re.compile(r"['’ʼ`´]")
_DIGIT_COMMA = re.compile(r"(?<=\d),(?=\d)")
LONGEST = 100  # letters of two words glued together: each place in them is tried
_ATOM = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+")
_HYPHENS = ("-", "\u00ad", "\u2010", "\u2011")


@dataclass(frozen=True, slots=True)
class Passage:
    """Where a passage stands.

    Attributes:
        ranges: `(start, end)` word ranges of the page, in order.
        share: of the passage's words, by length, how many stand there.
        numbers: whether all of its numbers do.
    """

    ranges: tuple[tuple[int, int], ...]
    share: float
    numbers: bool


def atoms(text: str) -> list[str]:
    """The runs of letters and the numbers of a text: `(3M's 1,577.5` is `3`, `ms`, `1577.5`."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _ATOM.findall(_DIGIT_COMMA.sub("", _APOSTROPHES.sub("", folded)))


@dataclass(slots=True)
class _Told:
    """A word of the page as the passage sees it: which of its atoms it is, and what it weighs."""

    keys: tuple[str, ...]
    weight: float


@dataclass(slots=True)
class _Need:
    """How often each atom of a passage is still looked for."""

    counts: Counter[str]
    total: float = field(init=False)

    def __post_init__(self) -> None:
        self.total = sum(n * _weight(key) for key, n in self.counts.items())


def find_passage(quote: str, page: Page, hint: Collection[int] = ()) -> Passage | None:
    """The places of a page that hold a passage's words in any order, None where hardly any does.

    Args:
        quote: the passage.
        page: the page.
        hint: word indices where it should stand; of two equal places the one there is taken.
    """
    own = [atoms(word) for word in page.words.texts]
    seen = Counter(key for keys in own for key in keys)
    wanted = [part for key in atoms(quote) for part in _parted(key, seen)]
    need = _Need(Counter(wanted))
    if not need.total or not seen:
        return None
    cut = "" if len(wanted[-1]) < 2 or wanted[-1] in seen else wanted[-1]  # a text may end within a word
    told = _told(page, own, need.counts, cut)
    spans = page.line_spans()
    left = Counter(need.counts)
    taken: set[int] = set()
    for _ in range(MAX_RUNS):
        words = _best_run(told, spans, left, hint)
        found, gained = _found(told, words, left)
        if gained < PIECE * need.total or (taken and not _dense(told, words, found)):
            break
        left -= Counter(key for i in found for key in told[i].keys)
        taken.update(words if _dense(told, words, found) else found)
        for i in words:
            told[i] = _Told((), told[i].weight)
    missed = sum(n * _weight(key) for key, n in left.items())
    if not taken:
        return None
    numbers = not cut[:1].isdigit() and not any(key[0].isdigit() for key in left)
    return Passage(tuple(_ranges(sorted(taken))), 1.0 - missed / need.total, numbers)


def _weight(key: str) -> float:
    """Long words and numbers say more about where a passage is than short words do."""
    return min(len(key), 8) + 2.0 if key[:1].isdigit() else float(min(len(key), 8))


def _told(page: Page, own: list[list[str]], counts: Counter[str], cut: str) -> list[_Told]:
    """Each word of the page with the passage's atoms that it is, words cut or glued together included."""
    known = {key for keys in own for key in keys}
    lone = [key for key in counts if len(key) >= 5 and not key[0].isdigit() and key not in known]
    slips = {seen: key for key in lone for seen in known - set(counts) if one_slip(key, seen)}
    slips |= {seen: cut for seen in known - set(counts) if cut and seen.startswith(cut)}
    made: list[_Told] = []
    for i, keys in enumerate(own):
        if i + 1 < len(own) and keys and own[i + 1] and page.words.texts[i].endswith(_HYPHENS):
            glued = keys[-1] + own[i + 1][0]
            if glued in counts:  # `re-` and `ported` are one word of the passage
                own[i + 1][0], keys = glued, keys[:-1]
        # A word may be several of the passage's glued together: `netincome`.
        parts = [part for key in keys for part in _parted(slips.get(key, key), counts)]
        inside = tuple(part for part in parts if part in counts)
        made.append(_Told(inside, sum(map(_weight, parts))))
    return made


def _parted(key: str, counts: Counter[str]) -> Sequence[str]:
    """An atom, or the two of `counts` that it is made of where they stand apart there."""
    if key in counts or key[0].isdigit() or not 6 <= len(key) <= LONGEST:
        return (key,)
    for cut in range(2, len(key) - 1):
        if key[:cut] in counts and key[cut:] in counts:
            return key[:cut], key[cut:]
    return (key,)


def one_slip(a: str, b: str) -> bool:
    """Whether two words differ by at most one letter changed, dropped or added."""
    if abs(len(a) - len(b)) > 1:
        return False
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    return max(len(a), len(b)) - head - tail <= 1


def _best_run(
    told: Sequence[_Told], spans: Sequence[tuple[int, int]], left: Counter[str], hint: Collection[int]
) -> list[int]:
    """The run of words that holds most of what is left to find, and least of anything else.

    Runs of lines are compared first; the best few are cut at both ends to the words of the passage.
    """
    lines = [_line(told, span, left) for span in spans]
    runs = [_run_from(first, lines, left) for first, (hits, _) in enumerate(lines) if hits]
    runs.sort(reverse=True)
    best: tuple[float, bool, int] = (0.0, False, 0)
    chosen: list[int] = []
    for _, first, last in runs[:CANDIDATES]:
        around = spans[max(0, first - 1)][0], spans[min(len(spans) - 1, last + 1)][1]
        score, words = _trimmed(told, (spans[first][0], spans[last][1]), around, left)
        key = round(score, 6), any(i in hint for i in words), -first
        if score > 0 and key > best:
            best, chosen = key, words
    return chosen


def _run_from(
    first: int, lines: Sequence[tuple[list[str], float]], left: Counter[str]
) -> tuple[float, int, int]:
    """The score, first and last line of the best run that begins on a line."""
    have: Counter[str] = Counter()
    score, best = 0.0, (-math.inf, first, first)
    for last in range(first, len(lines)):
        hits, strange = lines[last]
        for key in hits:
            have[key] += 1
            score += _weight(key) if have[key] <= left[key] else -STRANGE * _weight(key)
        score -= STRANGE * strange
        if score > best[0]:
            best = score, first, last
    return best


def _line(told: Sequence[_Told], span: tuple[int, int], left: Counter[str]) -> tuple[list[str], float]:
    """What of the passage a line holds, and the weight of its other words."""
    hits = [key for i in range(*span) for key in told[i].keys if left[key] > 0]
    return hits, sum(told[i].weight for i in range(*span)) - sum(map(_weight, hits))


def _trimmed(
    told: Sequence[_Told], run: tuple[int, int], around: tuple[int, int], left: Counter[str]
) -> tuple[float, list[int]]:
    """A run's best part and its score, to the word; of the lines around it an end may belong to it too."""
    hits = [i for i in range(*run) if any(left[key] > 0 for key in told[i].keys)]
    _, back = _best_end(told, range(hits[-1], around[0] - 1, -1), left)
    start = hits[-1] + 1 - back
    _, ahead = _best_end(told, range(hits[0], around[1]), left)
    end = hits[0] + ahead
    # The beginning first, then the end, and the other way round: words at one end may hide the other.
    forward, count = _best_end(told, range(start, around[1]), left)
    backward, other = _best_end(told, range(end - 1, around[0] - 1, -1), left)
    if forward >= backward:
        return forward, list(range(start, start + count))
    return backward, list(range(end - other, end))


def _best_end(told: Sequence[_Told], words: Sequence[int], left: Counter[str]) -> tuple[float, int]:
    """The score of the best beginning of a run, and how many words it has."""
    have: Counter[str] = Counter()
    score, best, end = 0.0, -math.inf, 0
    for count, i in enumerate(words, start=1):
        strange = told[i].weight
        for key in told[i].keys:
            have[key] += 1
            if have[key] <= left[key]:
                score += _weight(key)
                strange -= _weight(key)
        score -= STRANGE * strange
        if score > best:
            best, end = score, count
    return best, end


def _found(told: Sequence[_Told], words: Sequence[int], left: Counter[str]) -> tuple[list[int], float]:
    """The words that are the passage's, and what they weigh."""
    have: Counter[str] = Counter()
    found, gained = [], 0.0
    for i in words:
        fresh = []
        for key in told[i].keys:
            have[key] += 1
            if have[key] <= left[key]:
                fresh.append(key)
        if fresh:
            found.append(i)
            gained += sum(map(_weight, fresh))
    return found, gained


def _dense(told: Sequence[_Told], words: Sequence[int], found: Sequence[int]) -> bool:
    return sum(told[i].weight for i in found) >= DENSE * sum(told[i].weight for i in words)


def _ranges(words: Sequence[int]) -> Iterator[tuple[int, int]]:
    start = previous = words[0]
    for i in words[1:]:
        if i != previous + 1:
            yield start, previous + 1
            start = i
        previous = i
    yield start, previous + 1
