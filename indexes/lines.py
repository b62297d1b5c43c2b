"""The visual lines of a page with what block rules ask of them; what a whole document says about lines."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from indexes.raw import RawPage
from indexes.tables import is_number, split_cells

EDGE = 0.1  # share of the page at its top and bottom where running headers and footers stand


@dataclass(frozen=True, slots=True)
class Line:
    """A visual line of a page, words `start` to `end`; its `cells` are parted by wide gaps."""

    start: int
    end: int
    box: tuple[float, float, float, float]
    text: str
    size: float
    bold: bool
    group: int
    cells: tuple[tuple[int, int], ...]
    numbers: int

    @property
    def height(self) -> float:
        """Height of its box, as a share of the page."""
        return self.box[3] - self.box[1]

    @property
    def tabular(self) -> bool:
        """True where it looks like a row of a table: columns apart, numbers among them."""
        return len(self.cells) >= 3 or (len(self.cells) == 2 and self.numbers >= 1)


@dataclass(frozen=True, slots=True)
class DocStats:
    """What the whole document says: its body's font size, and running lines by their signature."""

    body: float
    running: frozenset[str]


def page_lines(raw: RawPage) -> list[Line]:
    """The visual lines of a page, with their cells (words split at wide gaps)."""
    count = len(raw.texts)
    if not count:
        return []
    starts = np.concatenate([[0], np.flatnonzero(np.diff(raw.lines)) + 1])
    ends = [*starts[1:].tolist(), count]
    low = np.minimum.reduceat(raw.boxes[:, :2], starts).tolist()
    high = np.maximum.reduceat(raw.boxes[:, 2:], starts).tolist()
    sizes = np.maximum.reduceat(raw.heights, starts).tolist()
    bold = np.logical_and.reduceat(raw.bold, starts).tolist()
    xs = (raw.boxes[:, [0, 2]] * raw.size[0]).tolist()
    tall = ((raw.boxes[:, 3] - raw.boxes[:, 1]) * raw.size[1]).tolist()
    lines = []
    for i, start in enumerate(starts.tolist()):
        end = ends[i]
        cells = tuple(split_cells(raw.texts, xs, start, end, sorted(tall[start:end])[(end - start) // 2]))
        numbers = sum(1 for a, b in cells if is_number("".join(raw.texts[a:b])))
        box = (low[i][0], low[i][1], high[i][0], high[i][1])
        text = " ".join(raw.texts[start:end])
        lines.append(Line(start, end, box, text, sizes[i], bold[i], int(raw.groups[start]), cells, numbers))
    return lines


def signature(text: str) -> str:
    """A line with its numbers blotted out, so that running lines of different pages are the same."""
    return re.sub(r"[ivxlcdm]{1,6}$|\d+", "#", text.casefold().strip())


def edge_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines at the page's upper and lower edge, at most four each, and its very first and last line."""
    down = sorted(lines, key=lambda line: line.box[1])
    top = [line for line in down[:4] if line is down[0] or line.box[3] <= EDGE + 0.02]
    low = [line for line in down[:-5:-1] if line is down[-1] or line.box[1] >= 1 - EDGE]
    return top + [line for line in low if line not in top]


def document_stats(sizes: Counter[float], edges: Iterable[Sequence[str]]) -> DocStats:
    """Statistics over all pages.

    Args:
        sizes: characters by font size.
        edges: signatures of each page's edge lines.
    """
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    pages, seen = 0, Counter[str]()
    for found in edges:
        pages += 1
        seen.update(set(found))
    enough = max(3.0, 0.05 * pages)
    running = {text for text, count in seen.items() if count >= enough and sum(map(str.isalpha, text)) >= 3}
    return DocStats(body, frozenset(running))
