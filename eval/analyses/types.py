"""What every analysis reads: a question of a benchmark and what came of it, scored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from indexes.types import PageRef

RegionLabel = Literal["covered", "imprecise", "not_covered"]
CORRECT = 0.5
"""A score from which an answer counts as correct where an analysis needs a yes or no."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question and what came of it; what is not known is None, never zero.

    Attributes:
        id: the question's.
        document: what the bootstrap draws: questions on one document are not independent.
        answerable: whether the benchmark says that the documents tell.
        score: of the answer, 0 to 1; None where it is unscored.
        failed: the run has no answer to it, or no row; its score is then 0.
        abstained: whether the answer says that the documents don't tell.
        confidence: the reader's own, 0 to 1; None where it gives none.
        gold_pages: sorted, without repetition.
        predicted_pages: the pages that the answer cites.
        regions: the label of each gold region, by its id; None where nothing is annotated or judged.
        gold_regions: the page of each gold region, by its id.
        facts: whether each gold fact was said, by its id; None where nothing is annotated or judged.
        pages: of the document; None where it is not known, or there are several documents.
        slices: the breakdowns that the benchmark reports, name to values.
    """

    id: str
    document: str
    answerable: bool
    score: float | None
    failed: bool = False
    abstained: bool = False
    confidence: float | None = None
    gold_pages: tuple[PageRef, ...] = ()
    predicted_pages: frozenset[PageRef] = frozenset()
    regions: Mapping[str, RegionLabel] | None = None
    gold_regions: Mapping[str, PageRef] = field(default_factory=dict)
    facts: Mapping[str, bool] | None = None
    pages: int | None = None
    slices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def correct(self) -> bool | None:
        """Whether the answer counts as correct; None where it is unscored."""
        return None if self.score is None else self.score >= CORRECT
