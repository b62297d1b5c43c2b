"""Page precision, recall and F1 of one question, as DocScope's public page scorer computes them."""

from collections.abc import Collection
from typing import TypedDict


class PagePRF(TypedDict):
    """Counts and rates of one question's pages, as sets."""

    tp: int
    fp: int
    fn: int
    precision: float
    recall: float
    f1: float


def page_prf(predicted: Collection[int], gold: Collection[int]) -> PagePRF:
    """Compares predicted pages with gold pages, both 1-based, as sets.

    Both empty: 1, 1, 1. Only gold empty: precision 0, recall 1, F1 0. Only predicted empty: 1, 0, 0.
    """
    found, wanted = set(predicted), set(gold)
    tp = len(found & wanted)
    precision = tp / len(found) if found else 1.0
    recall = tp / len(wanted) if wanted else 1.0
    both = precision + recall
    return {
        "tp": tp,
        "fp": len(found) - tp,
        "fn": len(wanted) - tp,
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / both if both else 0.0,
    }
