"""How well a ranking finds a question's gold pages: recall@k, any_hit@k, all_hit@k, ndcg@k, mrr.

All are pure functions of a ranking (pages, best first, each once) and the gold pages (at least one): a
question without gold pages has no retrieval measure, so it is refused and never counted as 0 or 1. "Hit"
alone means any_hit in one paper and all_hit in another: both are here, under their own names.
"""

from collections.abc import Collection, Hashable, Sequence
from math import log2


def _gold(gold: Collection[Hashable]) -> set[Hashable]:
    wanted = set(gold)
    if not wanted:
        raise ValueError(
            "no gold pages: retrieval measures are defined on answerable questions with gold pages"
        )
    return wanted


def _first(ranked: Sequence[Hashable], k: int) -> Sequence[Hashable]:
    if k < 1:
        raise ValueError(f"k = {k}: expected at least 1")
    first = ranked[:k]
    if len(set(first)) != len(first):
        raise ValueError("a page stands in the ranking twice")
    return first


def recall_at_k(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """Share of the gold pages among the first `k`.

    Raises:
        ValueError: no gold pages, `k` below 1, or a page ranked twice.
    """
    wanted = _gold(gold)
    return len(wanted.intersection(_first(ranked, k))) / len(wanted)


def any_hit_at_k(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """1 if at least one gold page is among the first `k`, else 0; raises as `recall_at_k` does."""
    return float(recall_at_k(ranked, gold, k) > 0)


def all_hit_at_k(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """1 if all gold pages are among the first `k`, else 0; raises as `recall_at_k` does."""
    return float(recall_at_k(ranked, gold, k) == 1)


def ndcg_at_k(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """Normalized discounted cumulative gain with binary gains (Järvelin and Kekäläinen 2002, log base 2).

    A gold page at place i (from 1) gains 1 / log2(i + 1); the sum over the first `k` is divided by that of
    the best ranking. Raises as `recall_at_k` does.
    """
    wanted = _gold(gold)
    gain = sum(1 / log2(i + 2) for i, page in enumerate(_first(ranked, k)) if page in wanted)
    return gain / sum(1 / log2(i + 2) for i in range(min(k, len(wanted))))


def mrr(ranked: Sequence[Hashable], gold: Collection[Hashable]) -> float:
    """Reciprocal rank of the first gold page, 0 if none is ranked; raises as `recall_at_k` does."""
    wanted = _gold(gold)
    places = (i for i, page in enumerate(_first(ranked, max(1, len(ranked))), 1) if page in wanted)
    return 1 / next(places, float("inf"))
