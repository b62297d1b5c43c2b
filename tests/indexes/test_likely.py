"""Likely pages: their estimates, and how comparing some of them betters those of the others."""

import numpy as np
import pytest

from indexes.likely import PRIOR, Estimates, likely_pages

RNG = np.random.default_rng(5)


def test_likely_pages_sum_each_vectors_best_and_what_it_did_not_bring_counts_as_its_least() -> None:
    for _ in range(20):
        similarities = -np.sort(-RNG.random((4, 12)).astype(np.float32), axis=1)
        rows = RNG.integers(0, 9, (4, 12))
        rows[2, 7:] = -1
        rows[3] = -1
        expected = {}
        for page in set(rows.ravel().tolist()) - {-1}:
            score = 0.0
            for values, owners in zip(similarities, rows, strict=True):
                brought = [float(v) for v, o in zip(values, owners, strict=True) if o >= 0]
                mine = [float(v) for v, o in zip(values, owners, strict=True) if o == page]
                score += max(mine) if mine else min(brought, default=0)
            expected[page] = score
        best = sorted(expected, key=lambda page: -expected[page])[:3]
        found, estimates = likely_pages(similarities, rows, 9, 3)
        assert found.tolist() == best
        assert estimates.scores == pytest.approx([expected[page] for page in best], abs=1e-5)
    assert not len(likely_pages(similarities[:1], np.full((1, 12), -1), 9, 3)[0])


def test_pages_that_were_compared_tell_how_far_off_the_others_are() -> None:
    truth = RNG.random((400, 6)).astype(np.float32)
    least = np.full(6, 0.5, np.float32)
    off, short = RNG.normal(0, 0.1, 6), RNG.random(6) / 4
    brought = np.where(truth > 0.5, truth + off, np.nan).astype(np.float32)
    truth = np.where(truth > 0.5, truth, 0.5 - short).astype(np.float32)
    estimates = Estimates(brought, least)
    before = np.abs(estimates.scores - truth.sum(axis=1))[200:]
    estimates.learn(np.arange(200), truth[:200])
    after = np.abs(estimates.scores - truth.sum(axis=1))[200:]
    assert after.mean() < before.mean() / 5 and after.max() < 0.1
    estimates.learn(np.arange(400), truth)
    assert np.abs(estimates.scores - truth.sum(axis=1)).max() < after.max()


def test_few_pages_speak_for_all_query_vectors_rather_than_for_each() -> None:
    estimates = Estimates(np.full((3, 2), 0.5, np.float32), np.zeros(2, np.float32))
    estimates.learn(np.array([1]), np.array([[0.5, 0.7]], np.float32))
    # On average 0.1 too low; the second by 0.2, of one page among PRIOR that say 0.1.
    shares = (0 + PRIOR * 0.1) / (1 + PRIOR), (0.2 + PRIOR * 0.1) / (1 + PRIOR)
    assert estimates.scores == pytest.approx([1 + sum(shares)] * 3)


def test_what_was_not_brought_is_corrected_by_pages_where_it_was_not_either() -> None:
    brought = np.array([[0.9], [np.nan], [np.nan], [0.8]], np.float32)
    estimates = Estimates(brought, np.array([0.6], np.float32))
    estimates.learn(np.array([0, 1]), np.array([[0.9], [0.4]], np.float32))
    assert estimates.scores == pytest.approx([0.9, 0.4, 0.4, 0.8])


def test_a_page_of_a_damaged_file_and_no_pages_at_all_teach_nothing() -> None:
    brought = np.array([[0.9, np.nan], [0.5, 0.7], [0.4, 0.4]], np.float32)
    estimates = Estimates(brought, np.array([0.3, 0.3], np.float32))
    before = estimates.scores
    for bad in (np.nan, np.inf, -np.inf):
        estimates.learn(np.array([0, 1]), np.array([[bad, 0], [0, bad]], np.float32))
        assert np.array_equal(estimates.scores, before)
    estimates.learn(np.zeros(0, np.int64), np.zeros((0, 2), np.float32))
    assert np.array_equal(estimates.scores, before)
