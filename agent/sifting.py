"""A page without the words that are addressed to its reader: what is left is evidence."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, takewhile

from agent import orders
from agent.instructions import addressed
from agent.matching import tokens
from agent.orders import bare
from indexes.plain import plain
from indexes.types import LayoutBlock, Page, Words

LEFT_OUT = "…"  # stands for a word that is left out; a quote is looked for on either side of it

_ALWAYS = frozenset(
    "yes no none true false and the for not but all any one only with from that this are was were has have "
    "had its his her their our you your who what when where which than then there here into per ja nein oui "
    "non si answer".split()
)


@dataclass(frozen=True, slots=True)
class Sifted:
    """A page without the words that are addressed to its reader.

    Attributes:
        page: the page as evidence: each of these words is `LEFT_OUT`, all else is where it was.
        whole: the page as it is printed.
        words: indices of the words left out.
        passages: these words, sentence by sentence.
        told: tokens of what they tell to say, without those of the orders themselves.
    """

    page: Page
    whole: Page
    words: frozenset[int] = frozenset()
    passages: tuple[str, ...] = ()
    told: frozenset[str] = frozenset()


def sifted(page: Page, question: str = "") -> Sifted:
    """A page without the words addressed to its reader, unless the question asks about such words.

    Args:
        page: with its layout.
        question: what is asked; empty where nothing is.
    """
    spans, found = addressed(page)
    if not spans or asks_about(question):
        return Sifted(page, page)
    words = frozenset(i for span in spans for i in range(*span))
    order = {i for match in found for i in range(match.start, match.end)}
    told = frozenset(t for i in words - order for t in tokens(page.words.texts[i]))
    passages = tuple(plain(" ".join(page.words.texts[slice(*span)])) for span in spans)
    return Sifted(without(page, words), page, words, passages, told - _ALWAYS - set(tokens(question)))


def asks_about(question: str) -> bool:
    """Whether a question asks about words addressed to a model: two different words say so."""
    words = {match[0][:5] for match in _about().finditer(bare(question))}
    return len(words) > 1 and any(orders.CORE.match(word) for word in words)


def without(page: Page, words: frozenset[int]) -> Page:
    """The page with words left out of its lines, its blocks and their cells."""
    texts = [LEFT_OUT if i in words else text for i, text in enumerate(page.words.texts)]
    spans = page.line_spans()
    ends = [end for _, end in spans]
    blocks = tuple(
        _block(block, texts, islice(spans, bisect_right(ends, block.start), None))
        if not words.isdisjoint(range(block.start, block.end))
        else block
        for block in page.blocks
    )
    return replace(page, words=Words(texts, page.words.boxes, page.words.lines), blocks=blocks)


def _block(block: LayoutBlock, texts: Sequence[str], spans: Iterable[tuple[int, int]]) -> LayoutBlock:
    """A block in other words; `spans` are the page's lines from its first one on."""
    lines = [
        " ".join(texts[max(start, block.start) : min(end, block.end)])
        for start, end in takewhile(lambda span: span[0] < block.end, spans)
    ]
    cells = tuple(replace(cell, text=" ".join(texts[cell.start : cell.end])) for cell in block.cells)
    return replace(block, text="\n".join(lines), cells=cells)


@cache
def _about() -> re.Pattern[str]:
    return re.compile(r"(?<![a-z])(?:" + orders.ABOUT.replace(" ?", r"\s?") + ")")
