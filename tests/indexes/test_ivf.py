"""The inverted file: with every page a candidate equal to brute force; of other vectors it is built again."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from vector_documents import DIM, brute, clustered_pages, query_near, write

from indexes import ivf as module
from indexes.encoders.protocol import QueryEmbedding
from indexes.errors import InputError
from indexes.ivf import Ivf, IvfSettings, open_or_build_ivf
from indexes.joined import JoinedIndex
from indexes.search import LATEST, compared
from indexes.types import PageRef
from indexes.vectors import IndexSettings, MismatchError

torch.set_num_threads(1)  # loaded, so that pages are compared by ceilings where the processor can
ALL = IvfSettings(nprobe=10**9, neighbours=10**9, candidates=10**9, doubt=np.inf)


def test_with_every_page_a_candidate_the_ranking_equals_brute_force(tmp_path: Path) -> None:
    pages = clustered_pages(80, empty=[3])
    index = write(tmp_path / "a", "a", pages)
    index.ivf = open_or_build_ivf(index, tmp_path / "ivf", ALL)
    for number in (0, 40, 79):
        query = query_near(pages[number], seed=number)
        scores = brute(query, pages)
        found = index.search(query, 79, "ivf")
        assert found == index.search(query, 79, "exact")
        assert [score for _, score in found] == pytest.approx(np.sort(scores)[::-1][:79], abs=5e-3)
        order = [scores[ref.page - 1] for ref, _ in found]
        assert (np.diff(order) < 5e-3).all()  # only pages closer than the rounding may have changed places


def test_all_neighbours_over_all_lists_reach_every_page_that_has_vectors(tmp_path: Path) -> None:
    pages = clustered_pages(60, empty=[3])
    index = write(tmp_path / "a", "a", pages)
    ivf = open_or_build_ivf(index, tmp_path / "ivf", ALL)
    rows, estimates = ivf.candidates(query_near(pages[0]).vectors, 1)
    assert sorted(rows.tolist()) == [row for row in range(60) if row != 3]
    assert rows[0] == 0 and (np.diff(estimates.scores) <= 0).all()


def test_few_candidates_of_several_documents_hold_the_best_pages(tmp_path: Path) -> None:
    documents = {name: clustered_pages(100, seed=seed) for seed, name in enumerate("abc")}
    joined = JoinedIndex([write(tmp_path / name, name, pages) for name, pages in documents.items()])
    settings = IvfSettings(neighbours=400, candidates=40)
    joined.ivf = open_or_build_ivf(joined, tmp_path / "ivf", settings)
    hits = []
    for number in range(0, 100, 10):
        query = query_near(documents["b"][number], seed=number)
        exact, found = joined.search(query, 5, "exact"), joined.search(query, 5, "ivf")
        assert found[0] == exact[0] and found[0][0] == PageRef("b", number + 1)
        assert all(dict(exact).get(ref, score) == score for ref, score in found)  # rescored exactly
        hits.append(len(set(exact) & set(found)) / 5)
    assert np.mean(hits) >= 0.9
    assert len(joined.ivf.candidates(query.vectors, 5)[0]) == 40


def test_vectors_of_few_bits_are_brought_back_to_one_space_for_all_documents(tmp_path: Path) -> None:
    settings = IndexSettings(dim=24, bits=4)  # each document has a projection of its own
    documents = {name: clustered_pages(40, seed=seed) for seed, name in enumerate("ab")}
    joined = JoinedIndex([write(tmp_path / name, name, pages, settings) for name, pages in documents.items()])
    joined.ivf = open_or_build_ivf(joined, tmp_path / "ivf", IvfSettings(candidates=8))
    for name in "ab":
        assert joined.search(query_near(documents[name][7]), 1, "ivf")[0][0] == PageRef(name, 8)


def test_where_too_few_pages_are_found_all_are_compared(tmp_path: Path) -> None:
    pages = clustered_pages(60)
    index = write(tmp_path / "a", "a", pages)
    index.ivf = open_or_build_ivf(index, tmp_path / "ivf", IvfSettings(nprobe=1, neighbours=1, candidates=1))
    query = query_near(pages[5], count=1)
    assert len(index.ivf.candidates(query.vectors, 10)[0]) < 10
    assert index.search(query, 10, "ivf") == index.search(query, 10, "exact")


def test_auto_takes_the_inverted_file_only_where_pages_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = clustered_pages(60)
    index = write(tmp_path / "a", "a", pages)
    index.ivf = open_or_build_ivf(index, tmp_path / "ivf")
    asked: list[int] = []
    candidates = Ivf.candidates
    monkeypatch.setattr(
        Ivf, "candidates", lambda self, query, k: asked.append(k) or candidates(self, query, k)
    )
    index.search(query_near(pages[5]), 3)
    assert asked == []
    monkeypatch.setattr("indexes.search.SMALL", 59)
    index.search(query_near(pages[5]), 3)
    assert asked == [3]


def test_it_is_found_again_and_refused_when_a_member_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write(tmp_path / "a", "a", clustered_pages(20))
    second = write(tmp_path / "b", "b", clustered_pages(20, seed=1))
    changed = write(tmp_path / "c", "b", clustered_pages(20, seed=2))
    joined = JoinedIndex([first, second])
    open_or_build_ivf(joined, tmp_path / "ivf")
    built: list[int] = []
    real = module._build
    monkeypatch.setattr(module, "_build", lambda *args: built.append(1) or real(*args))
    open_or_build_ivf(joined, tmp_path / "ivf")
    assert built == []
    for other in (JoinedIndex([first, changed]), JoinedIndex([second, first]), first):
        with pytest.raises(MismatchError, match="members changed"):
            Ivf.open(tmp_path / "ivf", other)
    open_or_build_ivf(JoinedIndex([first, changed]), tmp_path / "ivf")
    open_or_build_ivf(JoinedIndex([first, changed]), tmp_path / "ivf", IvfSettings(nlist=3))
    assert built == [1, 1]
    assert json.loads((tmp_path / "ivf" / "manifest.json").read_text())["nlist"] == 3


@pytest.mark.parametrize("name", ["ivf.faiss", "manifest.json"])
@pytest.mark.parametrize("damage", ["cut", "flip", "remove"])
def test_a_damaged_one_is_built_again(tmp_path: Path, name: str, damage: str) -> None:
    pages = clustered_pages(40)
    index = write(tmp_path / "a", "a", pages)
    query = query_near(pages[4])
    before, _ = open_or_build_ivf(index, tmp_path / "ivf", IvfSettings(candidates=5)).candidates(
        query.vectors, 1
    )
    path = tmp_path / "ivf" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.unlink()
    if damage != "remove":
        path.write_bytes(data if damage == "flip" else data[: len(data) // 2])
    again = open_or_build_ivf(index, tmp_path / "ivf", IvfSettings(candidates=5))
    assert np.array_equal(again.candidates(query.vectors, 1)[0], before)
    assert sorted(p.name for p in (tmp_path / "ivf").iterdir()) == ["ivf.faiss", "manifest.json"]


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tests/indexes"]
from indexes import ivf
from indexes.index import PageIndex
ivf.publish_dir = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
ivf.open_or_build_ivf(PageIndex.open(Path(sys.argv[2]) / "a"), Path(sys.argv[2]) / "ivf")
"""


def test_a_kill_leaves_none_that_is_trusted(tmp_path: Path) -> None:
    index = write(tmp_path / "a", "a", clustered_pages(20))
    root = str(Path(__file__).parents[2])
    killed = subprocess.run([sys.executable, "-c", KILLED, root, str(tmp_path)], env=dict(os.environ))
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "ivf").exists()
    assert [path.name for path in tmp_path.glob(".*.tmp")]
    assert open_or_build_ivf(index, tmp_path / "ivf").settings.nlist
    assert not [path.name for path in tmp_path.glob(".*.tmp")]


@pytest.mark.parametrize("vectors", [1, 2, 15, 16, 17])
def test_the_smallest_indexes_can_be_searched(tmp_path: Path, vectors: int) -> None:
    page = clustered_pages(1)[0][:vectors]
    index = write(tmp_path / "a", "a", [page[:0], page, page[:0]])
    index.ivf = open_or_build_ivf(index, tmp_path / "ivf", IvfSettings(candidates=1))
    found = index.search(query_near(page, count=1), 1, "ivf")
    assert [ref.page for ref, _ in found] == [2]


def test_an_index_without_vectors_and_settings_below_one_are_refused(tmp_path: Path) -> None:
    index = write(tmp_path / "a", "a", clustered_pages(2, empty=[0, 1]))
    with pytest.raises(InputError, match="a: no page has vectors"):
        open_or_build_ivf(index, tmp_path / "ivf")
    with pytest.raises(InputError, match="nprobe 0: expected at least 1"):
        IvfSettings(nprobe=0)
    for doubt in (-1.0, np.nan):
        with pytest.raises(InputError, match=f"doubt {doubt}: expected at least 0"):
            IvfSettings(doubt=doubt)


@pytest.mark.parametrize("quick", [True, False])
def test_more_doubt_looks_at_more_pages_and_none_at_those_alone_that_tell_how_far_sums_are_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    pages = clustered_pages(400)
    index = write(tmp_path / "a", "a", pages)
    query = query_near(pages[200])
    expected = index.search(query, 5, "exact")
    looked: list[int] = []

    def ceilings(query: QueryEmbedding, rows: Sequence[int] | None = None) -> np.ndarray | None:
        looked.append(len(rows or ()))
        return index.best_matches(query, rows) if quick else None

    monkeypatch.setattr(index, "ceilings", ceilings)
    sizes = []
    for doubt in (0, 4, np.inf):
        settings = IvfSettings(neighbours=10**9, candidates=390, doubt=doubt)
        index.ivf = open_or_build_ivf(index, tmp_path / "ivf", settings)
        looked.clear()
        rows, scores = compared(index, query, 5, "ivf")
        sizes.append(sum(looked))
        assert (np.diff(rows) > 0).all() and 5 <= len(rows) == len(scores) < 20
        found = index.search(query, 5, "ivf")
        assert found[0] == expected[0]
    assert [ref for ref, _ in found] == [ref for ref, _ in expected]
    assert sizes[0] == LATEST < sizes[1] < sizes[2] == 390


def test_settings_follow_the_size_where_they_are_left_open() -> None:
    small, large = IvfSettings().for_size(700_000, 1000), IvfSettings().for_size(75_000_000, 100_000)
    assert small == IvfSettings(1024, 16, 1000, 200, 3.7)
    assert large == IvfSettings(16384, 1024, 40_000, 20_000, large.doubt)
    assert large.doubt == pytest.approx(4.56, abs=0.01)
    assert IvfSettings(nprobe=7).for_size(700_000, 1000) == IvfSettings(1024, 7, 1000, 200, 3.7)
    assert IvfSettings(doubt=0).for_size(700_000, 1000).doubt == 0
    assert IvfSettings().for_size(10, 3) == IvfSettings(4, 4, 10, 3, 3.7)


@pytest.mark.parametrize("quick", [True, False])
def test_a_likely_page_that_is_damaged_is_left_out_and_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: bool
) -> None:
    pages = clustered_pages(200)
    index = write(tmp_path / "a", "a", pages)
    index.ivf = open_or_build_ivf(index, tmp_path / "ivf", IvfSettings(neighbours=10**9, candidates=150))
    query = query_near(pages[100])
    expected = [ref for ref, _ in index.search(query, 6, "ivf")]
    assert expected[0].page == 101
    codes, start = index.store._codes, int(index.store.offsets[100])
    assert codes is not None
    codes = codes.copy()
    codes[start * 2 * DIM : start * 2 * DIM + 2] = 0xFF, 0x7F
    index.store._codes = codes
    if not quick:
        monkeypatch.setattr(index, "ceilings", lambda *_: None)
    assert np.isnan(index.maxsim(query)[100])
    assert [ref for ref, _ in index.search(query, 5, "ivf")] == expected[1:]
