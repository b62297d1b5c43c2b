"""How well predicted boxes cover gold regions: overlap measures, labels made of them, and P, R, F1.

A label (covered, imprecise, not_covered) comes from a judge or, without one, from an overlap measure:
DocScope finds that IoU, IoM and gold recall agree with people at Kendall tau-b 0.83 to 0.86. Precision,
recall and F1 are the paper's formula 2, over gold pages that were predicted: h = covered (strict) or covered
+ imprecise (lenient) regions of a page; R = sum h / sum gold; P = sum min(h, predicted boxes) / sum predicted
boxes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

from eval.metrics.pages import harmonic
from indexes.types import BBox

Label = Literal["covered", "imprecise", "not_covered"]
LABELS: tuple[Label, ...] = get_args(Label)
Measure = Literal["iou", "iom", "gold_recall"]

THRESHOLDS: Mapping[Measure, tuple[float, float]] = {
    "gold_recall": (0.75, 0.1),
    "iom": (0.75, 0.1),
    "iou": (0.5, 0.1),
}
"""By measure, from where a region counts as covered and as imprecise; the defaults, not fitted to anything.

The judge's instructions call a region covered where its content is (nearly) all inside the boxes, however
loose they are; tight boxes around the words of a region leave out its margins, hence 0.75 and not 1.
"""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Areas shared by a gold region G and the union U of the predicted boxes of its page, 0 to 1.

    Attributes:
        iou: |G and U| / |G or U|.
        iom: |G and U| / min(|G|, |U|).
        gold_recall: |G and U| / |G|.
    """

    iou: float
    iom: float
    gold_recall: float


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """A gold page that was predicted: the labels of its gold regions and how many boxes were predicted on it.

    Attributes:
        labels: None for a region that a judge could not label: it is left out and counted.
    """

    labels: tuple[Label | None, ...]
    predicted: int


class RegionPRF(TypedDict):
    """Rates over pages; None where the denominator is 0.

    `hits` of `gold` labelled regions, `matched` of `predicted` boxes; `recall_all` divides the hits by all
    gold regions, those on pages that were not predicted too; `unscored` regions are in no rate.
    """

    hits: int
    gold: int
    matched: int
    predicted: int
    unscored: int
    precision: float | None
    recall: float | None
    f1: float | None
    recall_all: float | None


def union_area(boxes: Sequence[BBox]) -> float:
    """Area that boxes cover together, overlaps counted once."""
    xs = sorted({x for box in boxes for x in (box.x1, box.x2)})
    total = 0.0
    for left, right in zip(xs, xs[1:], strict=False):
        spans = sorted((box.y1, box.y2) for box in boxes if box.x1 <= left and box.x2 >= right)
        covered, end = 0.0, 0.0
        for top, bottom in spans:
            if bottom > end:
                covered += bottom - max(top, end)
                end = bottom
        total += (right - left) * covered
    return total


def overlap(gold: BBox, predicted: Sequence[BBox]) -> Overlap:
    """Compares a gold region with the predicted boxes of its page; without any it is 0."""
    united = union_area(predicted)
    inside = [
        BBox(max(gold.x1, b.x1), max(gold.y1, b.y1), min(gold.x2, b.x2), min(gold.y2, b.y2))
        for b in predicted
        if gold.intersection(b) > 0
    ]
    shared = union_area(inside)
    if not shared:
        return Overlap(0.0, 0.0, 0.0)
    smaller, both = min(gold.area, united), gold.area + united - shared
    return Overlap(*(min(1.0, shared / area) for area in (both, smaller, gold.area)))


def geometric_label(
    gold: BBox,
    predicted: Sequence[BBox],
    measure: Measure = "gold_recall",
    thresholds: tuple[float, float] | None = None,
) -> Label:
    """The label that an overlap measure gives, by default gold recall.

    Args:
        gold: the gold region.
        predicted: the predicted boxes of its page.
        measure: which overlap measure decides.
        thresholds: from where a region is covered and imprecise, if not as `THRESHOLDS` say.
    """
    covered, imprecise = thresholds or THRESHOLDS[measure]
    value: float = getattr(overlap(gold, predicted), measure)
    return "covered" if value >= covered else "imprecise" if value >= imprecise else "not_covered"


def region_prf(pages: Sequence[LabelledPage], *, lenient: bool = False, missed: int = 0) -> RegionPRF:
    """Precision, recall and F1 over gold pages that were predicted (formula 2).

    Args:
        pages: the pages, of one question or of many.
        lenient: imprecise regions count as hits too.
        missed: gold regions on pages that were not predicted; only `recall_all` knows them.
    """
    counted = ("covered", "imprecise") if lenient else ("covered",)
    hits = gold = matched = predicted = unscored = 0
    for page in pages:
        labelled = [label for label in page.labels if label is not None]
        unscored += len(page.labels) - len(labelled)
        if not labelled:
            continue
        h = sum(label in counted for label in labelled)
        hits, gold = hits + h, gold + len(labelled)
        matched, predicted = matched + min(h, page.predicted), predicted + page.predicted
    precision, recall = _rate(matched, predicted), _rate(hits, gold)
    return {
        "hits": hits,
        "gold": gold,
        "matched": matched,
        "predicted": predicted,
        "unscored": unscored,
        "precision": precision,
        "recall": recall,
        "f1": None if precision is None or recall is None else harmonic(precision, recall),
        "recall_all": _rate(hits, gold + missed),
    }


def _rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None
