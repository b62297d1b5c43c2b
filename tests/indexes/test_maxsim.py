"""MaxSim against two nested loops, and what padding and empty pages may not do."""

import numpy as np
import pytest

from indexes.maxsim import best_matches, best_matches_padded, maxsim, total

RNG = np.random.default_rng(7)


def unit(*shape: int) -> np.ndarray:
    vectors = RNG.standard_normal(shape).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def brute_force(query: np.ndarray, page: np.ndarray) -> float:
    return sum(max(float(q @ p) for p in page) for q in query)


def test_maxsim_equals_two_nested_loops_over_pages_of_any_length() -> None:
    sizes = [3, 1, 12, 5]
    pages = [unit(size, 16) for size in sizes]
    query = unit(6, 16)
    scores = maxsim(query, np.concatenate(pages), np.cumsum([0, *sizes]))
    assert scores == pytest.approx([brute_force(query, page) for page in pages], abs=1e-5)


def test_a_page_without_vectors_scores_minus_infinity_wherever_it_stands() -> None:
    offsets = np.array([0, 0, 2, 2, 5, 5])
    vectors, query = unit(5, 8), unit(3, 8)
    scores = maxsim(query, vectors, offsets)
    assert np.isneginf(scores[[0, 2, 4]]).all()
    assert scores[1] == pytest.approx(brute_force(query, vectors[:2]), abs=1e-5)
    assert scores[3] == pytest.approx(brute_force(query, vectors[2:]), abs=1e-5)


def test_negative_similarities_are_not_beaten_by_padding() -> None:
    query = unit(1, 8)
    pages = np.zeros((2, 4, 8), np.float32)
    pages[0, :2] = -query
    pages[1, :3] = query
    mask = np.array([[True, True, False, False], [True, True, True, False]])
    assert total(best_matches_padded(query, pages, mask)) == pytest.approx([-1, 1], abs=1e-6)


def test_the_padded_and_the_ragged_form_agree_whatever_the_padding_holds() -> None:
    sizes = [4, 1, 7, 0]
    query = unit(5, 8)
    padded = np.full((4, 7, 8), 100, np.float32)
    mask = np.arange(7) < np.array(sizes)[:, None]
    padded[mask] = unit(sum(sizes), 8)
    ragged = best_matches(query, padded[mask], np.cumsum([0, *sizes]))
    assert np.allclose(best_matches_padded(query, padded, mask), ragged, atol=1e-6)


def test_a_batch_padded_to_nothing_scores_minus_infinity() -> None:
    empty = np.zeros((2, 0, 8), np.float32)
    assert np.isneginf(total(best_matches_padded(unit(2, 8), empty, np.zeros((2, 0), bool)))).all()


def test_an_empty_query_scores_zero_everywhere() -> None:
    assert maxsim(np.zeros((0, 8), np.float32), unit(5, 8), np.array([0, 2, 5])).tolist() == [0, 0]


@pytest.mark.parametrize("offsets", [[], [0, 3], [1, 5], [0, 4, 3, 5]])
def test_offsets_that_do_not_divide_the_vectors_are_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="do not divide 5 vectors"):
        maxsim(unit(1, 8), unit(5, 8), np.array(offsets, np.int64))
