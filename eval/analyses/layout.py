"""Accuracy against how the evidence lies in the document: six factors, binned.

The factors are those of DocScope's analysis (arXiv:2605.08888): number of gold pages, span, largest adjacent
gap, mean pairwise distance, clusters of consecutive pages, normalized mean position. The bins are fixed, so
that runs compare. Questions whose gold pages lie in several documents have no distances and are left out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from eval.analyses.types import Outcome

FACTORS: dict[str, str] = {
    "pages": "gold pages",
    "span": "pages from the first gold page to the last",
    "gap": "largest step between neighbouring gold pages",
    "distance": "mean distance of two gold pages",
    "clusters": "runs of consecutive gold pages",
    "position": "mean gold page / pages of the document",
}


def factors(pages: Sequence[int], length: int | None = None) -> dict[str, float]:
    """The six factors of a question.

    Args:
        pages: the gold pages, 1-based, at least one.
        length: pages of the document; without it there is no `position`.

    Returns:
        Factor to value; with one page `span` is 1, `gap` and `distance` are 0.

    Raises:
        ValueError: no page.
    """
    found = sorted(set(pages))
    if not found:
        raise ValueError("no gold pages: their layout is not defined")
    steps = [after - before for before, after in pairwise(found)]
    distances = [after - before for before, after in combinations(found, 2)]
    values = {
        "pages": float(len(found)),
        "span": float(found[-1] - found[0] + 1),
        "gap": float(max(steps, default=0)),
        "distance": sum(distances) / len(distances) if distances else 0.0,
        "clusters": float(1 + sum(step > 1 for step in steps)),
    }
    if length:
        values["position"] = sum(found) / len(found) / length
    return values


@dataclass(frozen=True, slots=True)
class Bin:
    """A bin of a factor: the values from `low` on and below `high`."""

    label: str
    low: float
    high: float


def _bins(*edges: tuple[str, float]) -> tuple[Bin, ...]:
    highs = [low for _, low in edges[1:]] + [float("inf")]
    return tuple(Bin(label, low, high) for (label, low), high in zip(edges, highs, strict=True))


BINS: dict[str, tuple[Bin, ...]] = {
    "pages": _bins(("1", 1), ("2", 2), ("3", 3), ("4", 4), ("5 or more", 5)),
    "span": _bins(("1", 1), ("2-5", 2), ("6-20", 6), ("21-50", 21), ("over 50", 51)),
    "gap": _bins(("one page", 0), ("1", 1), ("2-5", 2), ("6-20", 6), ("over 20", 21)),
    "distance": _bins(("one page", 0), ("below 2", 0.5), ("2 to 5", 2), ("5 to 20", 5), ("20 or more", 20)),
    "clusters": _bins(("1", 1), ("2", 2), ("3", 3), ("4 or more", 4)),
    "position": _bins(("first fifth", 0), ("second", 0.2), ("third", 0.4), ("fourth", 0.6), ("last", 0.8)),
}


@dataclass(frozen=True, slots=True)
class BinOutcomes:
    """The scored answerable questions of a bin."""

    bin: Bin
    outcomes: tuple[Outcome, ...]


def layout_of(outcome: Outcome) -> dict[str, float] | None:
    """A question's factors; None where it is unanswerable, names no gold pages or several documents."""
    documents = {ref.doc_id for ref in outcome.gold_pages}
    if not outcome.answerable or len(documents) != 1:
        return None
    return factors([ref.page for ref in outcome.gold_pages], outcome.pages)


def by_layout(outcomes: Iterable[Outcome]) -> dict[str, tuple[BinOutcomes, ...]]:
    """The scored answerable questions by factor and bin; bins without any are kept, empty."""
    placed = [(o, layout) for o in outcomes if o.score is not None and (layout := layout_of(o)) is not None]

    def members(name: str, within: Callable[[float], bool]) -> tuple[Outcome, ...]:
        return tuple(o for o, layout in placed if name in layout and within(layout[name]))

    return {
        name: tuple(
            BinOutcomes(b, members(name, lambda value, b=b: b.low <= value < b.high))  # type: ignore[misc]
            for b in BINS[name]
        )
        for name in FACTORS
    }
