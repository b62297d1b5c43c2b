"""Page precision, recall and F1, as DocScope's public page scorer computes them, and their two aggregates."""

from collections.abc import Collection, Hashable, Sequence
from typing import TypedDict


class PagePRF(TypedDict):
    """Counts and rates of one question's pages, as sets."""

    tp: int
    fp: int
    fn: int
    precision: float
    recall: float
    f1: float


class PageMeans(TypedDict):
    """Means over questions (macro) and rates of the summed counts (micro); `n` questions."""

    n: int
    precision: float
    recall: float
    f1: float
    micro_precision: float
    micro_recall: float
    micro_f1: float


def page_prf(predicted: Collection[Hashable], gold: Collection[Hashable]) -> PagePRF:
    """Compares predicted pages with gold pages (numbers or page references of one frame) as sets.

    Both empty: 1, 1, 1. Only gold empty: precision 0, recall 1, F1 0. Only predicted empty: 1, 0, 0.
    """
    found, wanted = set(predicted), set(gold)
    tp = len(found & wanted)
    precision = tp / len(found) if found else 1.0
    recall = tp / len(wanted) if wanted else 1.0
    return {
        "tp": tp,
        "fp": len(found) - tp,
        "fn": len(wanted) - tp,
        "precision": precision,
        "recall": recall,
        "f1": harmonic(precision, recall),
    }


def failed_prf(gold: Collection[Hashable]) -> PagePRF:
    """What a question counts that has no answer (a failed or missing row), where that counts as wrong."""
    return {"tp": 0, "fp": 0, "fn": len(set(gold)), "precision": 0.0, "recall": 0.0, "f1": 0.0}


def aggregate(rows: Sequence[PagePRF]) -> PageMeans | None:
    """Macro and micro averages; None without rows.

    Which rows: officially every question with a row of status `ok`, unanswerable ones included; strictly all
    answerable questions, failed and missing ones as `failed_prf`.
    """
    n = len(rows)
    if not n:
        return None
    tp, fp, fn = sum(r["tp"] for r in rows), sum(r["fp"] for r in rows), sum(r["fn"] for r in rows)
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    return {
        "n": n,
        "precision": sum(r["precision"] for r in rows) / n,
        "recall": sum(r["recall"] for r in rows) / n,
        "f1": sum(r["f1"] for r in rows) / n,
        "micro_precision": precision,
        "micro_recall": recall,
        "micro_f1": harmonic(precision, recall),
    }


def harmonic(precision: float, recall: float) -> float:
    """F1; 0 where both are 0."""
    both = precision + recall
    return 2 * precision * recall / both if both else 0.0
