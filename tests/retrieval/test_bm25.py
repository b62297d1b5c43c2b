"""BM25 against the formula written out."""

import math
import random

import numpy as np
import pytest

from retrieval.bm25 import Bm25, max_pool


def by_formula(units, query, k1=1.5, b=0.75):
    """Lucene's variant, as in Kamphuis et al. (2020), "Which BM25 do you mean?", table 1."""
    n, average = len(units), sum(map(len, units)) / len(units)
    scores = []
    for unit in units:
        score = 0.0
        for term, weight in query.items():
            found = sum(term in u for u in units)
            idf = math.log(1 + (n - found + 0.5) / (found + 0.5))
            tf = unit.count(term)
            score += weight * idf * tf / (tf + k1 * (1 - b + b * len(unit) / average))
        scores.append(score)
    return scores


def test_scores_agree_with_the_formula():
    rng = random.Random(1)
    units = [[rng.choice("abcdefgh") for _ in range(rng.randint(1, 30))] for _ in range(40)]
    query = {"a": 1.0, "c": 0.4, "z": 1.0}
    assert Bm25(units).scores(query) == pytest.approx(by_formula(units, query), rel=1e-4)


def test_units_without_terms_score_zero():
    scores = Bm25([["a", "b"], [], ["b"]]).scores({"a": 1.0})
    assert scores[0] > 0
    assert scores[1] == scores[2] == 0


@pytest.mark.parametrize("units", [[], [[]], [[], [], []]])
def test_a_document_without_any_text_scores_zero_and_does_not_raise(units):
    index = Bm25(units)
    assert index.scores({"a": 1.0}).tolist() == [0.0] * len(units)
    assert index.idf("a") >= 0


def test_a_query_without_terms_or_with_unknown_ones_scores_zero():
    index = Bm25([["a"], ["b"]])
    assert index.scores({}).tolist() == [0, 0]
    assert index.scores({"unknown": 1.0}).tolist() == [0, 0]


def test_a_single_unit_can_be_searched():
    assert Bm25([["a", "b"]]).scores({"a": 1.0})[0] > 0


def test_rarer_terms_are_worth_more():
    index = Bm25([["a", "b"], ["a"], ["a"]])
    assert index.worth({"a", "b"}, {"b": 1.0}) > index.worth({"a", "b"}, {"a": 1.0}) > 0
    assert index.idf("unknown") > index.idf("b") > index.idf("a")


def test_max_pool_takes_each_owners_best():
    scores = np.array([1, 3, 2, 5], np.float32)
    assert max_pool(scores, np.array([0, 0, 2, 2]), 4).tolist() == [3, 0, 5, 0]
