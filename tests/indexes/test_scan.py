"""The scan of 16-bit codes against plain float32 products of the same numbers."""

import numpy as np
import pytest

from indexes import scan
from indexes.maxsim import best_matches
from indexes.scan import Scan, scannable, stripes
from indexes.vectors import to_bfloat16

RNG = np.random.default_rng(11)


def unit(*shape: int) -> np.ndarray:
    vectors = RNG.standard_normal(shape).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def codes_of(rounded: np.ndarray) -> np.ndarray:
    """The bytes of numbers that bfloat16 can hold, at an odd address as in a FAISS file."""
    data = (rounded.view(np.uint32) >> 16).astype("<u2").tobytes()
    codes = np.frombuffer(b"x" + data, np.uint8)[1:]
    assert codes.ctypes.data % 2 or not len(codes)
    return codes


@pytest.mark.parametrize("sizes", [[5, 1, 9, 3], [0, 4, 0, 0, 7, 0], [700], [0], [0, 0], [1]])
@pytest.mark.parametrize("q", [1, 20, 300])
def test_best_matches_equal_plain_products_over_pages_of_any_length(sizes: list[int], q: int) -> None:
    vectors, query = to_bfloat16(unit(sum(sizes), 32)), unit(q, 32)
    offsets = np.cumsum([0, *sizes])
    found = Scan(query, codes_of(vectors)).best_matches(offsets)
    assert np.allclose(found, best_matches(query, vectors, offsets), atol=1e-6)
    assert np.isneginf(found[np.diff(offsets) == 0]).all()


def test_blocks_may_end_anywhere_within_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = RNG.integers(0, 60, 40).tolist()
    vectors, query = to_bfloat16(unit(sum(sizes), 16)), unit(7, 16)
    offsets = np.cumsum([0, *sizes])
    monkeypatch.setattr(scan, "PRODUCTS", 7 * 8 * 17)
    monkeypatch.setattr(scan, "STRIPE", 50)
    scanned = Scan(query, codes_of(vectors))
    assert np.allclose(scanned.best_matches(offsets), best_matches(query, vectors, offsets), atol=1e-6)
    assert np.allclose(
        scanned.best_match(3, 1000), best_matches(query, vectors[3:1000], np.array([0, 997]))[0], atol=1e-6
    )


def test_some_pages_alone_score_as_among_all() -> None:
    vectors, query = to_bfloat16(unit(30, 8)), unit(3, 8)
    offsets = np.array([0, 10, 10, 25, 30])
    whole = Scan(query, codes_of(vectors))
    assert np.array_equal(whole.best_matches(offsets[2:4]), whole.best_matches(offsets)[2:3])
    alone = [whole.best_match(start, end) for start, end in zip(offsets, offsets[1:], strict=False)]
    assert np.allclose(alone, whole.best_matches(offsets), atol=1e-6)


def test_a_query_without_vectors_matches_nothing() -> None:
    found = Scan(np.zeros((0, 8), np.float32), codes_of(to_bfloat16(unit(5, 8)))).best_matches(
        np.array([0, 5])
    )
    assert found.shape == (1, 0)


def test_stripes_hold_whole_pages_and_all_of_them() -> None:
    offsets = np.array([0, 3, 3, 9, 40, 41, 41])
    assert list(stripes(offsets, 9)) == [(0, 3), (3, 4), (4, 6)]
    assert list(stripes(np.array([0]), 9)) == []


def test_odd_dimensions_are_left_to_faiss() -> None:
    assert scannable(128) and not scannable(127)


def test_rounding_is_to_the_nearest_and_ties_go_to_even() -> None:
    step = np.float32(2**-7)  # of a bfloat16 at 1
    given = np.array([1, 1 + step / 2, 1 + 1.5 * step, 1 + 0.6 * step, -1 - step / 2, 0], np.float32)
    assert to_bfloat16(given).tolist() == [1, 1, 1 + 2 * step, 1 + step, -1, 0]
    halves = unit(2000, 64).astype(np.float16).astype(np.float32)
    lean = (np.abs(to_bfloat16(halves)) - np.abs(halves)).mean() / np.abs(halves).mean()
    assert abs(lean) < 1e-4  # by rounding ties up it would be 2e-4 and more
