"""Fusing rankings: by the formula, and in the corners."""

import numpy as np
import pytest

from retrieval.fusion import fuse, ranking, reciprocal_ranks, with_neighbours

MINUS = -np.inf


def array(*values):
    return np.array(values, np.float32)


def test_votes_follow_the_formula():
    k = 0.5 * 4**0.5
    expected = [(k + 1) / (k + rank) for rank in (2, 4, 1, 3)]
    assert reciprocal_ranks(array(5, 1, 9, 3)) == pytest.approx(expected)


def test_pages_without_a_score_get_no_vote():
    assert reciprocal_ranks(array(MINUS, 2, MINUS)).tolist() == [0, 1, 0]
    assert reciprocal_ranks(array(MINUS, MINUS)).tolist() == [0, 0]


def test_a_signal_that_rates_all_pages_alike_says_nothing():
    assert reciprocal_ranks(array(3, 3, 3)).tolist() == [0, 0, 0]


def test_ties_keep_the_order_of_the_pages():
    assert ranking(array(1, 2, 2, 0)) == [1, 2, 0, 3]


def test_fusing_is_a_weighted_sum_of_votes_and_strengths():
    signals = {"a": array(3, 2, 1), "lookups": array(0, 0, 0.5), "unknown": array(9, 9, 0)}
    votes = reciprocal_ranks(signals["a"])
    expected = 2 * votes + 3 * signals["lookups"]
    assert fuse(signals, {"a": 2.0, "lookups": 3.0}) == pytest.approx(expected)


def test_fusing_signals_of_different_lengths_is_refused():
    with pytest.raises(ValueError, match="lengths"):
        fuse({"a": array(1, 2), "b": array(1)}, {"a": 1.0, "b": 1.0})
    with pytest.raises(ValueError, match="lengths"):
        fuse({})


def test_neighbours_of_the_best_pages_rise_but_never_past_the_first():
    raised = with_neighbours(array(0, 9, 0, 0, 0, 5, 4.9), share=0.5, best=2)
    assert ranking(raised)[0] == 1
    assert raised[0] == raised[2] == 4.5
    assert raised[4] == 2.5
    assert raised[6] == pytest.approx(4.9 + 2.5)


@pytest.mark.parametrize("scores", [array(), array(1), array(0, 0)])
def test_neighbours_of_few_pages_are_no_trouble(scores):
    assert len(with_neighbours(scores)) == len(scores)
