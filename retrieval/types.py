"""What a retriever returns: ranked pages with the regions that matched."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from indexes.types import BBox, PageRef


@dataclass(frozen=True, slots=True)
class RetrievedPage:
    """A page that a query found.

    Attributes:
        score: higher is better; comparable within one ranking only.
        rank: place in the ranking, from 1.
        regions: the places on the page that matched, best first.
        region_scores: how well each region matches by late interaction: the mean over the query's vectors of
            the highest similarity there, None where no vector stands; empty where they are not known.
        matched: what found it, such as `late interaction`, `bm25` or `lookup: Table 4.16`.
    """

    ref: PageRef
    score: float
    rank: int
    regions: tuple[BBox, ...] = ()
    matched: tuple[str, ...] = ()
    region_scores: tuple[float | None, ...] = ()

    @property
    def scored(self) -> tuple[tuple[BBox, float | None], ...]:
        """The regions with their scores."""
        scores = self.region_scores or (None,) * len(self.regions)
        return tuple(zip(self.regions, scores, strict=True))


class Retriever(Protocol):
    """Ranks the pages of what it was opened on."""

    def retrieve(self, query: str, k: int, exclude: Collection[PageRef] = ()) -> list[RetrievedPage]:
        """Returns the best `k` pages that are not in `exclude` (fewer if there are fewer), best first."""
        ...
