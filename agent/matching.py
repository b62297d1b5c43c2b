"""Finding a quote among a page's words: tolerant of form, exact in numbers."""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from agent.arithmetic import number_words
from agent.forms import Day, Printed, currencies, dates, folded, printed_numbers, stated_scales
from agent.passages import find_passage, one_slip
from indexes.types import Page

MIN_SHARE = 0.75  # of a quote's tokens that an approximate match must find
MIN_PASSAGE = 4  # tokens from which a quote may stand in another order
SHORT = 12  # characters below which a match must begin and end with words

_NTH = {
    word: float(i)
    for i, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), 1
    )
}
_ELLIPSIS = re.compile(r"(?:(?<!\s)\s+)?(?:\.\.\.+|…)\s*")
_DIGIT_COMMA = re.compile(r"(?<=\d),(?=\d)")
_KEPT = re.compile(r"(?<=\d)\.(?=\d)|[^\W_]")
_RUN = re.compile(r"[^\W_]+")
_QUOTES = str.maketrans(dict.fromkeys("“”„«»‟", '"'))
_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Letters of scripts that put no space between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where a quote stands.

    Attributes:
        ranges: `(start, end)` word ranges of the page, in order.
        exact: whether every token stands there in order (case, punctuation, hyphens and forms aside).
    """

    ranges: tuple[tuple[int, int], ...]
    exact: bool


def token(text: str) -> str:
    """A word in the form in which words are compared.

    Unicode compatibility forms (ligatures, full-width digits) are folded, letters lower-cased, everything but
    letters, digits and decimal points dropped: `(1,577.50)` is `1577.50`, `e-mail` is `email`.
    """
    if text.isascii() and text.isalnum():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(_KEPT.findall(_DIGIT_COMMA.sub("", folded)))


def tokens(text: str) -> list[str]:
    """The tokens of a text, empty ones left out."""
    return [t for t in map(token, text.split()) if t]


def is_number(text: str) -> bool:
    """Whether a token holds a digit."""
    return any(character.isdigit() for character in text)


def runs(text: str) -> list[str]:
    """The runs of letters and digits in a text: `=X("a",b_1)` is `x`, `a`, `b`, `1`."""
    return _RUN.findall(folded(text).casefold())


def _printed(text: str) -> str:
    """A text as it is printed, but for letter case, compatibility forms and the shape of quotation marks."""
    return " ".join(folded(text).casefold().translate(_QUOTES).split())


class PageText:
    """A page's words prepared once for many look-ups.

    Attributes:
        whole: the page with the words that are addressed to its reader; None where it has none.
        orders: indices of those words.
        told: tokens that only they tell to say.
    """

    def __init__(
        self,
        page: Page,
        whole: Page | None = None,
        orders: frozenset[int] = frozenset(),
        told: frozenset[str] = frozenset(),
    ) -> None:
        self.page, self.orders, self.told = page, orders, told
        self.whole = None if whole is None or not orders else PageText(whole)
        self.tokens = [token(word) for word in page.words.texts]
        self.vocabulary = frozenset(self.tokens)
        self._starts: list[int] = []
        length = 0
        for text in self.tokens:
            self._starts.append(length)
            length += len(text)
        self._text = "".join(self.tokens)

    @cached_property
    def plain(self) -> str:
        """The words as one text, compatibility forms made plain."""
        return folded(" ".join(self.page.words.texts))

    @cached_property
    def known(self) -> frozenset[str]:
        """The vocabulary, and the runs of letters and digits that punctuation divides within its words."""
        return self.vocabulary | frozenset(run for word in self.page.words.texts for run in runs(word))

    @cached_property
    def numbers(self) -> dict[float, list[Printed]]:
        """The printed numbers by what they may mean."""
        found: dict[float, list[Printed]] = {}
        for number in printed_numbers(self.plain):
            for value in {*number.values, *number.parts}:
                found.setdefault(value, []).append(number)
        return found

    @cached_property
    def days(self) -> list[Day]:
        """The dates."""
        return dates(self.plain)

    @cached_property
    def scales(self) -> frozenset[float]:
        """The factors that the page says its numbers are in."""
        return stated_scales(self.plain)

    @cached_property
    def currencies(self) -> frozenset[str]:
        """The currencies it names, as signs."""
        return currencies(self.plain)

    @cached_property
    def spoken(self) -> set[float]:
        """The values of number words, months and ordinals."""
        return number_words(self.page.text) | {n for word, n in _NTH.items() if word in self.vocabulary}

    @cached_property
    def _places(self) -> list[int]:
        """Where each word begins in `plain`."""
        starts, at = [], 0
        for word in self.page.words.texts:
            starts.append(at)
            at += len(folded(word)) + 1
        return starts

    @cached_property
    def _verbatim_text(self) -> tuple[str, list[int]]:
        """The words as they are printed, as one text, and where each begins in it."""
        words = [_printed(word) for word in self.page.words.texts]
        starts, at = [], 0
        for word in words:
            starts.append(at)
            at += len(word) + 1
        return " ".join(words), starts

    def word_at(self, character: int) -> int:
        """The word that holds a character of `plain`."""
        return max(0, bisect_right(self._places, character) - 1)

    def holds(self, text: str) -> bool:
        """Whether a token stands on the page, be it cut or glued to others."""
        return text in self._text

    def find(self, quote: str, hint: Collection[int] = ()) -> Match | None:
        """Where a quote stands; parts around an ellipsis are looked for one by one.

        Args:
            quote: words said to be the page's own.
            hint: word indices where it should stand; a match there wins over one elsewhere.
        """
        parts = [part for part in (tokens(piece) for piece in _ELLIPSIS.split(quote)) if part]
        whole = self._contiguous([t for part in parts for t in part], hint) if parts else None
        whole = whole or (self._verbatim(quote, hint) if parts else None)
        if whole is not None:
            return whole
        matches = [self._find(part, hint) for part in parts]
        found = [match for match in matches if match is not None]
        if not found or len(found) < len(matches):
            return None
        ranges = sorted({span for match in found for span in match.ranges})
        return Match(tuple(ranges), all(match.exact for match in found))

    def _find(self, quote: list[str], hint: Collection[int]) -> Match | None:
        near = self._contiguous(quote, hint) or self._scattered(quote, hint)
        return near if near is not None and near.exact else self._passage(quote, hint) or near

    def _passage(self, quote: list[str], hint: Collection[int]) -> Match | None:
        """Words that stand near each other in whatever order, and all numbers of the quote among them."""
        if len(quote) < MIN_PASSAGE:
            return None
        found = find_passage(" ".join(quote), self.page, hint)
        if found is None or found.share < MIN_SHARE or not found.numbers:
            return None
        return Match(found.ranges, exact=False)

    def _word(self, character: int) -> int:
        """The word of a character; words without any character of their own are passed over."""
        return bisect_right(self._starts, character) - 1

    def _contiguous(self, quote: list[str], hint: Collection[int]) -> Match | None:
        wanted = "".join(quote)
        best: tuple[int, int] | None = None
        at = self._text.find(wanted)
        while at >= 0:
            span = self._word(at), self._word(at + len(wanted) - 1) + 1
            if self._whole(at, at + len(wanted), span):
                best = best or span
                if not hint or any(index in hint for index in range(*span)):
                    best = span
                    break
            at = self._text.find(wanted, at + 1)
        return Match((best,), exact=True) if best else None

    def _verbatim(self, quote: str, hint: Collection[int]) -> Match | None:
        """A quote letter by letter, within a longer word too: `"a"` in `=X("a","b")`, but not in `cat`."""
        wanted = _printed(quote)
        first = next((i for i, c in enumerate(wanted) if c.isalnum()), len(wanted))
        last = next((i for i in range(len(wanted), 0, -1) if wanted[i - 1].isalnum()), 0)
        wanted = wanted[first:last]
        text, starts = self._verbatim_text
        best: tuple[int, int] | None = None
        at = text.find(wanted) if wanted else -1
        while at >= 0:
            end = at + len(wanted)
            if _bounded(text, at, end):
                span = bisect_right(starts, at) - 1, bisect_right(starts, end - 1)
                best = best or span
                if not hint or any(index in hint for index in range(*span)):
                    best = span
                    break
            at = text.find(wanted, at + 1)
        return Match((best,), exact=True) if best else None

    def _whole(self, start: int, end: int, span: tuple[int, int]) -> bool:
        """Whether a match begins and ends where words do; a long one may not where letters are glued."""
        first, last = self._starts[span[0]], self._starts[span[1] - 1] + len(self.tokens[span[1] - 1])
        text = self._text
        if end - start < SHORT:
            several = end - start > 1
            begins = start == first or (several and _SPACELESS.match(text[start]))
            return bool(begins and (end == last or (several and _SPACELESS.match(text[end - 1]))))
        cuts_number = (start > first and is_number(text[start - 1 : start + 1])) or (
            end < last and is_number(text[end - 1 : end + 1])
        )
        return not cuts_number

    def _scattered(self, quote: list[str], hint: Collection[int]) -> Match | None:
        """The tightest run of words that holds most of a quote's tokens and all of its numbers."""
        if len(quote) < 2:
            return None
        need = Counter(quote)
        same = self._near(need)
        filled = [(i, same.get(t, t)) for i, t in enumerate(self.tokens) if t]
        places = [(at, i, name) for at, (i, name) in enumerate(filled) if name in need]
        width = len(quote) + max(2, len(quote) // 2)
        best, have, count, left = (0, 0, 0, 0), Counter[str](), 0, 0
        numbers = {t: n for t, n in need.items() if is_number(t)}
        for at, i, name in places:
            have[name] += 1
            count += have[name] <= need[name]
            while at - places[left][0] >= width or have[places[left][2]] > need[places[left][2]]:
                dropped = places[left][2]
                have[dropped] -= 1
                count -= have[dropped] < need[dropped]
                left += 1
            if all(have[t] >= n for t, n in numbers.items()):
                span = places[left][1], i + 1
                inside = int(not hint or any(index in hint for index in range(*span)))
                best = max(best, (count, inside, span[0] - span[1], span[0]))
        count, _, negative, start = best
        if count < MIN_SHARE * len(quote):
            return None
        span = start, start - negative
        lines = self.page.words.lines
        one_line = bool(lines[span[0]] == lines[span[1] - 1]) and not same
        return Match((span,), exact=count == len(quote) and one_line)

    def _near(self, need: Counter[str]) -> dict[str, str]:
        """Page tokens that differ from a quote's token by a slip of recognition: `revenuc` for `revenue`."""
        missing = [t for t in need if len(t) >= 5 and not is_number(t) and t not in self.vocabulary]
        near = {}
        for wanted in missing:
            for seen in self.vocabulary:
                if seen not in need and not is_number(seen) and one_slip(wanted, seen):
                    near[seen] = wanted
        return near


def _bounded(text: str, start: int, end: int) -> bool:
    """Whether neither a letter nor a digit goes on at the ends of a part, nor a number: `577` in `1,577`."""
    for inner, outer, beyond in ((start, start - 1, start - 2), (end - 1, end, end + 1)):
        if not 0 <= outer < len(text):
            continue
        spaceless = end - start > 1 and _SPACELESS.match(text[inner])
        if not spaceless and (text[outer].isalnum() or unicodedata.category(text[outer])[0] == "M"):
            return False
        far = text[beyond] if 0 <= beyond < len(text) else ""
        if text[inner].isdigit() and text[outer] in ".,'" and far.isdigit():
            return False
    return True


def same_words(a: Sequence[str], b: Sequence[str]) -> float:
    """Share of tokens two token lists have in common (Jaccard over multisets); 0 where numbers differ."""
    left, right = Counter(a), Counter(b)
    if {t: n for t, n in left.items() if is_number(t)} != {t: n for t, n in right.items() if is_number(t)}:
        return 0.0
    union = sum((left | right).values())
    return sum((left & right).values()) / union if union else 1.0
