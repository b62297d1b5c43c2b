"""Ceilings of scores by bfloat16 multiplication, and that search by them finds what comparing all finds."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from test_scan import codes_of, unit
from vector_documents import DIM, brute, clustered_pages, query_near, write

from indexes import ceilings as module
from indexes.ceilings import Ceilings, quick
from indexes.encoders.protocol import PageEmbedding, QueryEmbedding
from indexes.index import PageIndex
from indexes.joined import JoinedIndex
from indexes.maxsim import best_matches, best_pages, maxsim, total
from indexes.types import PageRef
from indexes.vectors import part_of, to_bfloat16

torch.set_num_threads(1)
RNG = np.random.default_rng(5)
fast = pytest.mark.skipif(not quick(), reason="this processor does not multiply bfloat16 itself")


def ceilings(query: np.ndarray, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    return total(Ceilings(query).of_all(codes, offsets))


def slack(query: np.ndarray) -> float:
    """More than rounding adds up to: 2**-8 of each similarity and of each query vector's length."""
    return float(2 * 2**-8 * np.linalg.norm(query, axis=1).sum()) * 1.05


@fast
@pytest.mark.parametrize("q", [1, 20, 32, 33, 70])
@pytest.mark.parametrize("sizes", [[16] * 9, [5, 1, 90, 0, 33, 0, 0, 700, 15, 17], [0, 0, 3], [1], [0]])
def test_no_score_is_above_its_ceiling_and_pages_of_whole_folds_stand_close_below(
    sizes: Sequence[int], q: int
) -> None:
    vectors, query = to_bfloat16(unit(sum(sizes), 64)), unit(q, 64)
    offsets = np.cumsum([0, *sizes])
    found, scores = ceilings(query, codes_of(vectors), offsets), maxsim(query, vectors, offsets)
    filled = np.diff(offsets) > 0
    assert np.isneginf(found[~filled]).all()
    assert (found[filled] >= scores[filled]).all()
    each = Ceilings(query).of_all(codes_of(vectors), offsets)
    assert each.shape == (len(sizes), q) and (each >= best_matches(query, vectors, offsets)).all()
    if set(sizes) == {16}:
        positive = np.array(
            [np.maximum((page @ query.T).max(axis=0), 0).sum() for page in vectors.reshape(9, 16, 64)]
        )
        assert (found <= positive + slack(query)).all()


@fast
@pytest.mark.parametrize("copied", [1, 64, 4096])
@pytest.mark.parametrize("sizes", [[5, 1, 90, 0, 33, 0, 700, 15, 17, 0], [0], [16, 32, 16], []])
def test_single_pages_have_close_ceilings_wherever_they_lie(
    monkeypatch: pytest.MonkeyPatch, sizes: Sequence[int], copied: int
) -> None:
    monkeypatch.setattr(module, "COPIED", copied)
    pages, query = [to_bfloat16(unit(size, 64)) for size in sizes], unit(20, 64)
    found = Ceilings(query).of_each([codes_of(page) for page in pages])
    assert found.shape == (len(sizes), 20)
    for page, ceiling in zip(pages, found, strict=True):
        best = (page @ query.T).max(axis=0) if len(page) else np.full(20, -np.inf)
        assert (ceiling >= best).all()
        assert (ceiling <= np.maximum(best, 0) + 0.02).all() or not len(page)


@fast
@pytest.mark.parametrize(
    "sizes", [[64, 65, 1], [64, 64, 65, 1, 0], [700, 511, 3, 2, 600, 1], [0, 31, 999, 1]]
)
def test_a_page_that_ends_within_the_last_fold_need_not_be_the_last(sizes: Sequence[int]) -> None:
    vectors, query = to_bfloat16(unit(sum(sizes), 32)), unit(5, 32)
    offsets = np.cumsum([0, *sizes])
    found, scores = ceilings(query, codes_of(vectors), offsets), maxsim(query, vectors, offsets)
    assert (found >= scores).all()


@fast
@pytest.mark.parametrize("length", [1e-39, 1e-30, 1e-15, 1e15, 1e30, float("nan")])
def test_queries_nearly_0_or_huge_are_compared_with_all_pages(tmp_path: Path, length: float) -> None:
    pages = clustered_pages(40)
    index = write(tmp_path / "a", "a", pages)
    query = query_near(pages[7])
    small = QueryEmbedding((query.vectors * np.float32(length)).astype(np.float32), query.pooled)
    assert index.ceilings(query) is not None and index.ceilings(query, [3, 7]) is not None
    assert index.ceilings(small) is None and index.ceilings(small, [3, 7]) is None
    part = np.concatenate([query.vectors, np.zeros((1, DIM), np.float32)])
    assert index.ceilings(QueryEmbedding(part, query.pooled)) is not None


@fast
@pytest.mark.parametrize("damaged", [0, 39, 40, 79])
def test_what_is_no_number_on_a_page_hides_no_other_page(tmp_path: Path, damaged: int) -> None:
    pages = [np.repeat(page, 25, axis=0) for page in clustered_pages(80)]
    index = write(tmp_path / "a", "a", pages)
    codes, start = index.store._codes, int(index.store.offsets[damaged + 1]) - 1
    assert codes is not None
    codes = codes.copy()
    codes[start * 2 * DIM : start * 2 * DIM + 2] = 0xFF, 0x7F
    index.store._codes = codes
    for near in {min(79, damaged + 1), max(0, damaged - 1), damaged, 20}:
        query = query_near(pages[near])
        scores = index.maxsim(query)
        assert np.isnan(scores).sum() == 1
        expected = [(index.refs[row], float(scores[row])) for row in best_pages(scores, 5)]
        found = index.search(query, 5, "exact")
        assert [ref for ref, _ in found] == [ref for ref, _ in expected]


@fast
def test_blocks_end_anywhere_and_what_an_earlier_block_left_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "ROWS", 64)
    vectors = to_bfloat16(unit(64 + 20, 32))
    vectors[20:64] = to_bfloat16(unit(1, 32))  # beside the last page in memory, where the first block was
    query = vectors[30:31].copy()
    offsets = np.array([0, 64, 84])
    found = ceilings(query, codes_of(vectors), offsets)
    assert found[0] == pytest.approx(1, abs=0.02)
    assert found[1] == pytest.approx(max(0, float((vectors[64:] @ query[0]).max())), abs=0.02)


@fast
def test_rounding_that_lowers_every_similarity_does_not_lower_a_ceiling() -> None:
    # Just below the middle between two bfloat16 numbers, all rounded down: the query before, products after.
    step = 2.0**-7
    query = np.full((1, 64), 0.125 * (1 + 0.499 * step), np.float32)
    page = np.full((16, 64), 0.125 * (1 - step), np.float32)
    score = float((page @ query.T).max())
    assert float((page @ to_bfloat16(query).T).max()) < score
    assert float(ceilings(query, codes_of(to_bfloat16(page)), np.array([0, 16]))[0]) >= score


@fast
@pytest.mark.parametrize("k", [1, 3, 10])
def test_search_finds_with_ceilings_what_it_finds_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, k: int
) -> None:
    pages = clustered_pages(80, empty=[3, 4, 79])
    pages[50] = pages[20]  # a tie
    index = write(tmp_path / "a", "a", pages)
    queries = [query_near(pages[number], seed=number) for number in (0, 20, 61)]
    queries.append(QueryEmbedding(-queries[0].vectors, -queries[0].pooled))
    compare, compared = index.best_matches, []

    def counting(query: QueryEmbedding, rows: Sequence[int] | None = None) -> np.ndarray:
        compared.append(len(pages) if rows is None else len(rows))
        return compare(query, rows)

    monkeypatch.setattr(index, "best_matches", counting)
    for query in queries:
        compared.clear()
        found = index.search(query, k, "exact")
        with monkeypatch.context() as patched:
            patched.setattr(index, "ceilings", lambda query: None)
            plain = index.search(query, k, "exact")
        assert [ref for ref, _ in found] == [ref for ref, _ in plain]
        assert [score for _, score in found] == pytest.approx([score for _, score in plain], abs=1e-6)
        best = np.sort(brute(query, pages))[::-1][:k]
        assert [score for _, score in found] == pytest.approx(best, abs=2e-2)
        *some, everything = compared
        assert everything == len(pages)
        assert sum(some) <= (k + 8 if query is not queries[3] else 2 * len(pages))


@fast
def test_where_all_pages_are_alike_all_are_compared_and_come_in_order(tmp_path: Path) -> None:
    page = clustered_pages(1)[0]
    index = write(tmp_path / "a", "a", [page] * 40)
    assert [ref.page for ref, _ in index.search(query_near(page), 5)] == [1, 2, 3, 4, 5]


@fast
def test_documents_together_have_the_ceilings_of_each_alone(tmp_path: Path) -> None:
    pages = {name: clustered_pages(size, seed=size) for name, size in (("a", 7), ("b", 1), ("c", 30))}
    indexes = [write(tmp_path / name, name, made) for name, made in pages.items()]
    query = query_near(pages["c"][12])
    joined = JoinedIndex(indexes)
    alone = [index.ceilings(query) for index in indexes]
    assert np.array_equal(joined.ceilings(query), np.concatenate(alone))
    rows = [37, 0, 7, 8]
    assert joined.ceilings(query, rows) == pytest.approx(np.concatenate(alone)[rows], abs=1e-6)
    assert (joined.ceilings(query, rows) >= joined.best_matches(query, rows)).all()
    assert joined.search(query, 2)[0][0] == PageRef("c", 13)
    indexes[1].ceilings = lambda query: None  # type: ignore[method-assign]
    assert joined.ceilings(query) is None


def test_without_pytorch_search_compares_all_and_does_not_load_it(tmp_path: Path) -> None:
    pages = clustered_pages(30)
    index = write(tmp_path / "a", "a", pages)
    query = query_near(pages[7])
    np.save(tmp_path / "query.npy", query.vectors)
    code = (
        "import sys, numpy as np; from pathlib import Path; from indexes.index import PageIndex\n"
        "from indexes.encoders.protocol import QueryEmbedding\n"
        "vectors = np.load(sys.argv[2])\n"
        "index = PageIndex.open(Path(sys.argv[1]))\n"
        "found = index.search(QueryEmbedding(vectors, vectors[0]), 3)\n"
        "sys.stdout.write(f\"{[ref.page for ref, _ in found]} {'torch' in sys.modules}\")"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a"), str(tmp_path / "query.npy")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == f"{[ref.page for ref, _ in index.search(query, 3)]} False"


def test_a_processor_without_bfloat16_products_is_not_asked_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = clustered_pages(30)
    index: PageIndex = write(tmp_path / "a", "a", pages)
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda: False, raising=False)
    assert not quick() and index.ceilings(query_near(pages[7])) is None
    assert index.ceilings(query_near(pages[7]), [3]) is None
    assert index.search(query_near(pages[7]), 3)[0][0].page == 8


@pytest.mark.parametrize("length", [1.05, np.nan, np.inf])
def test_vectors_that_are_not_of_length_one_are_not_indexed(length: float) -> None:
    vectors = np.full((2, DIM), DIM**-0.5, np.float32)
    boxes = np.zeros((2, 4), np.float32)
    vectors[1] *= length
    with pytest.raises(ValueError, match=r"vectors of .* one has length .*, expected 1"):
        part_of([PageEmbedding(PageRef("a", 1), vectors, boxes, vectors[:1], boxes[:1])])
