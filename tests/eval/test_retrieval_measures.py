"""The retrieval measures, against counting by hand and against scikit-free formulas written the other way."""

import math
import random

import pytest

from eval.metrics.retrieval import all_hit_at_k, any_hit_at_k, mrr, ndcg_at_k, recall_at_k

RANKED = [7, 3, 9, 1, 4]


def test_recall_is_the_share_of_gold_pages_among_the_first_k():
    assert recall_at_k(RANKED, {3, 4}, 1) == 0
    assert recall_at_k(RANKED, {3, 4}, 2) == 0.5
    assert recall_at_k(RANKED, {3, 4}, 5) == 1


def test_a_gold_page_beyond_the_ranking_still_counts_in_the_denominator():
    assert recall_at_k(RANKED, {3, 4, 100, 200}, 10) == 0.5


def test_any_hit_and_all_hit_differ_where_some_gold_pages_are_found():
    assert any_hit_at_k(RANKED, {3, 4}, 2) == 1
    assert all_hit_at_k(RANKED, {3, 4}, 2) == 0
    assert all_hit_at_k(RANKED, {3, 4}, 5) == 1
    assert any_hit_at_k(RANKED, {100}, 5) == 0


def test_an_empty_ranking_scores_zero():
    assert recall_at_k([], {1}, 4) == any_hit_at_k([], {1}, 4) == ndcg_at_k([], {1}, 4) == mrr([], {1}) == 0


def test_mrr_is_the_inverse_of_the_first_gold_place():
    assert mrr(RANKED, {9, 4}) == pytest.approx(1 / 3)
    assert mrr(RANKED, {100}) == 0


def test_ndcg_agrees_with_the_sum_over_all_places():
    rng = random.Random(0)
    for _ in range(200):
        n, k = rng.randint(1, 12), rng.randint(1, 15)
        ranked = rng.sample(range(20), n)
        gold = set(rng.sample(range(20), rng.randint(1, 6)))
        gains = [1.0 if p in gold else 0.0 for p in ranked[:k]]
        ideal = sorted([1.0] * len(gold) + [0.0] * k, reverse=True)[:k]
        dcg = sum(g / math.log2(i) for i, g in enumerate(gains, 2))
        best = sum(g / math.log2(i) for i, g in enumerate(ideal, 2))
        assert ndcg_at_k(ranked, gold, k) == pytest.approx(dcg / best)


def test_a_perfect_ranking_has_ndcg_one():
    assert ndcg_at_k([2, 1], {1, 2}, 2) == pytest.approx(1)


@pytest.mark.parametrize("measure", [recall_at_k, any_hit_at_k, all_hit_at_k, ndcg_at_k])
def test_no_gold_pages_k_below_one_and_repeated_pages_are_refused(measure):
    with pytest.raises(ValueError, match="no gold pages"):
        measure(RANKED, set(), 1)
    with pytest.raises(ValueError, match="k = 0"):
        measure(RANKED, {1}, 0)
    with pytest.raises(ValueError, match="twice"):
        measure([1, 1], {1}, 2)
