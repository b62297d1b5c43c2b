"""Pages written by hand for the extractive reader's tests: lines of words, and blocks over lines."""

from collections.abc import Sequence

import numpy as np

from indexes.types import BBox, BlockKind, LayoutBlock, Page, PageRef, Words

Line = str | Sequence[tuple[float, str]]
WIDTH = 0.009  # of a letter, as a share of the page


def page_of(
    lines: Sequence[Line],
    blocks: Sequence[tuple[BlockKind, int, int]] = (),
    number: int = 1,
    doc: str = "doc",
) -> Page:
    """A page whose lines stand below each other.

    Args:
        lines: a text from the left margin, or pieces `(x, text)` whose first letter stands at `x`.
        blocks: `(kind, first line, line after the last)`.
        number: the page's number.
        doc: the document's id.
    """
    texts: list[str] = []
    boxes: list[list[float]] = []
    numbers: list[int] = []
    starts = [0]
    for place, line in enumerate(lines):
        pieces = [(0.1, line)] if isinstance(line, str) else line
        top = 0.05 + 0.018 * place
        for x, text in pieces:
            for word in text.split():
                texts.append(word)
                boxes.append([x, top, min(1.0, x + WIDTH * len(word)), top + 0.012])
                numbers.append(place)
                x = min(0.99, x + WIDTH * (len(word) + 0.6))
        starts.append(len(texts))
    words = Words(texts, np.array(boxes, dtype=np.float32).reshape(-1, 4), np.array(numbers, dtype=np.int32))
    made = []
    for order, (kind, first, last) in enumerate(blocks):
        start, end = starts[first], starts[last]
        text = "\n".join(" ".join(texts[starts[i] : starts[i + 1]]) for i in range(first, last))
        box = words.bbox(start, end) if end > start else BBox(0.0, 0.0, 0.0, 0.0)
        made.append(LayoutBlock(kind, box, text, order, start, end))
    return Page(PageRef(doc, number), None, (612.0, 792.0), words, tuple(made))


def right(x: float, text: str) -> tuple[float, str]:
    """A piece whose last letter ends at `x`, as numbers stand in a table."""
    letters = sum(len(w) for w in text.split()) + 0.6 * (len(text.split()) - 1)
    return x - WIDTH * letters, text


def statement(number: int = 1) -> Page:
    """A statement of income: years over columns, the scale in the title, a label on two lines."""
    return page_of(
        [
            "CONSOLIDATED STATEMENTS OF INCOME",
            "(in millions, except per share data)",
            [(0.62, "Years ended December 31,")],
            [right(0.7, "2022"), right(0.85, "2021")],
            [(0.1, "Net sales"), right(0.7, "$ 34,229"), right(0.85, "$ 35,355")],
            [(0.1, "Cost of sales"), right(0.7, "19,232"), right(0.85, "18,795")],
            [(0.1, "Operating income"), right(0.7, "6,539"), right(0.85, "7,369")],
            "Interest expense on debt of the company and of its",
            [(0.1, "subsidiaries, net"), right(0.7, "(462)"), right(0.85, "(488)")],
            [(0.1, "Net income"), right(0.7, "5,777"), right(0.85, "5,921")],
            [(0.1, "Diluted earnings per share"), right(0.7, "10.18"), right(0.85, "10.12")],
        ],
        [("title", 0, 2), ("table", 2, 11)],
        number,
    )


def balance(number: int = 2) -> Page:
    """A balance sheet whose older year stands first."""
    return page_of(
        [
            "CONSOLIDATED BALANCE SHEETS (in millions)",
            [right(0.7, "2021"), right(0.85, "2022")],
            "Current assets:",
            [(0.1, "Inventories"), right(0.7, "4,985"), right(0.85, "5,372")],
            [(0.1, "Total current assets"), right(0.7, "15,403"), right(0.85, "14,688")],
            [(0.1, "Total assets"), right(0.7, "47,072"), right(0.85, "46,455")],
            [(0.1, "Total current liabilities"), right(0.7, "9,035"), right(0.85, "9,523")],
            [(0.1, "Total equity"), right(0.7, "15,117"), right(0.85, "14,770")],
        ],
        [("title", 0, 1), ("table", 1, 8)],
        number,
    )
