"""Search of one index and of several as one, against brute force; what is refused and why."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from vector_documents import DIM, brute, clustered_pages, query_near, write

from indexes.document import Document
from indexes.encoders import load_encoder
from indexes.encoders.protocol import QueryEmbedding
from indexes.errors import InputError
from indexes.index import PageIndex
from indexes.joined import JoinedIndex
from indexes.maxsim import best_pages
from indexes.types import PageRef
from indexes.vectors import IndexSettings

NOTHING = QueryEmbedding(np.zeros((0, DIM), np.float32), np.zeros(DIM, np.float32))


def test_exact_search_ranks_as_brute_force(tmp_path: Path) -> None:
    pages = clustered_pages(60)
    index = write(tmp_path / "a", "a", pages)
    for number in (0, 17, 59):
        query = query_near(pages[number], seed=number)
        scores = brute(query, pages)
        found = index.search(query, 10, "exact")
        assert [ref.page - 1 for ref, _ in found][0] == number
        assert [score for _, score in found] == pytest.approx(np.sort(scores)[::-1][:10], abs=5e-3)
        assert found == index.search(query, 10)  # what `auto` does with few pages


def test_k_beyond_the_document_gives_all_pages_that_have_vectors(tmp_path: Path) -> None:
    pages = clustered_pages(5, empty=[0, 3])
    found = write(tmp_path / "a", "a", pages).search(query_near(pages[1]), 100, "exact")
    assert sorted(ref.page for ref, _ in found) == [2, 3, 5]
    assert all(np.isfinite(score) for _, score in found)


def test_a_document_of_one_page_and_one_without_vectors(tmp_path: Path) -> None:
    pages = clustered_pages(1)
    query = query_near(pages[0])
    assert [ref for ref, _ in write(tmp_path / "a", "a", pages).search(query, 3)] == [PageRef("a", 1)]
    assert write(tmp_path / "b", "b", clustered_pages(3, empty=range(3))).search(query, 3) == []


def test_a_query_without_vectors_finds_nothing_and_k_must_be_positive(tmp_path: Path) -> None:
    pages = clustered_pages(3)
    index = write(tmp_path / "a", "a", pages)
    assert index.search(NOTHING, 3) == []
    assert index.maxsim(NOTHING).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="k 0: expected at least 1"):
        index.search(query_near(pages[0]), 0)


def test_negative_similarities_are_ranked_and_not_lifted_to_zero(tmp_path: Path) -> None:
    page = clustered_pages(1)[0][:1]
    index = write(tmp_path / "a", "a", [page, page[:0], page])
    found = index.search(QueryEmbedding(-page, -page[0]), 3)
    assert [ref.page for ref, _ in found] == [1, 3]
    assert [score for _, score in found] == pytest.approx([-1, -1], abs=5e-3)


def test_ties_keep_the_order_of_the_pages() -> None:
    scores = np.array([1, 3, -np.inf, 3, 2, 3], np.float32)
    assert best_pages(scores, 2) == [1, 3]
    assert best_pages(scores, 5) == [1, 3, 5, 4, 0]
    assert best_pages(scores[2:3], 5) == []


def test_unknown_methods_and_an_inverted_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    pages = clustered_pages(3)
    index = write(tmp_path / "a", "a", pages)
    with pytest.raises(InputError, match="'fast': unknown; known are auto, exact, ivf"):
        index.search(query_near(pages[0]), 1, "fast")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'ivf': nothing was built for it"):
        index.search(query_near(pages[0]), 1, "ivf")


def test_a_query_of_only_stop_words_ranks_all_pages(sample_pdf: Path) -> None:
    encoder = load_encoder("minilm")
    with Document.open(sample_pdf, ocr=False) as document:
        index = PageIndex.open_or_build(document, encoder)
    found = index.search(encoder.encode_query("of the and to"), 20)
    assert len(found) == 14  # the twelfth is a scan
    assert all(np.isfinite(score) for _, score in found)


def test_joined_indexes_score_as_each_alone(tmp_path: Path) -> None:
    documents = {name: clustered_pages(size, seed=size) for name, size in (("a", 7), ("b", 1), ("c", 30))}
    indexes = [write(tmp_path / name, name, pages) for name, pages in documents.items()]
    joined = JoinedIndex(indexes)
    query = query_near(documents["b"][0])
    assert joined.refs[7] == PageRef("b", 1) and len(joined.refs) == 38
    assert np.array_equal(joined.maxsim(query), np.concatenate([index.maxsim(query) for index in indexes]))
    assert np.array_equal(joined.pooled(query), np.concatenate([index.pooled(query) for index in indexes]))
    rows = [37, 0, 7, 8]
    assert np.array_equal(joined.best_matches(query, rows), joined.best_matches(query)[rows])
    assert joined.search(query, 3)[0][0] == PageRef("b", 1)
    alone = indexes[2].match(query, PageRef("c", 2))
    assert np.array_equal(joined.match(query, PageRef("c", 2)).similarities, alone.similarities)
    assert joined.member(PageRef("c", 30)) is indexes[2]
    with pytest.raises(ValueError, match="none of the 3 indexes has this page"):
        joined.match(query, PageRef("d", 1))


def test_indexes_that_differ_are_not_joined_and_the_reason_is_said(tmp_path: Path) -> None:
    pages = clustered_pages(2)
    first = write(tmp_path / "a", "a", pages)
    cases = {
        "encoder, 'test' and 'other'": {"encoder": "other"},
        "revision, '1' and '2'": {"revision": "2"},
        "settings": {"settings": IndexSettings(16, bits=16)},
    }
    for number, (reason, about) in enumerate(cases.items()):
        with pytest.raises(InputError, match=f"a and b cannot be searched together: .*{reason}"):
            JoinedIndex([first, write(tmp_path / f"b{number}", "b", pages, **about)])
    with pytest.raises(InputError, match="a: more than one document of this name"):
        JoinedIndex([first, write(tmp_path / "again", "a", pages)])
    with pytest.raises(InputError, match="no indexes"):
        JoinedIndex([])


def test_an_index_is_opened_without_its_document(tmp_path: Path) -> None:
    pages = clustered_pages(4)
    written = write(tmp_path / "a", "a", pages)
    query = query_near(pages[2])
    opened = PageIndex.open(tmp_path / "a")
    assert opened.refs == written.refs and opened.search(query, 2) == written.search(query, 2)
    renamed = PageIndex.open(tmp_path / "a", [PageRef("mine", number) for number in range(1, 5)])
    assert renamed.search(query, 1)[0][0] == PageRef("mine", 3)
    with pytest.raises(InputError, match="is of 4 pages, not 1"):
        PageIndex.open(tmp_path / "a", [PageRef("mine", 1)])


def test_an_index_that_is_absent_or_damaged_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no manifest; build it again"):
        PageIndex.open(tmp_path / "none")
    write(tmp_path / "a", "a", clustered_pages(4))
    file = tmp_path / "a" / "vectors.faiss"
    data = bytearray(file.read_bytes())
    data[-5] ^= 1
    file.write_bytes(data)
    with pytest.raises(InputError, match="vectors.faiss is damaged"):
        PageIndex.open(tmp_path / "a")
    assert len(PageIndex.open(tmp_path / "a", checksums=False).refs) == 4
    file.write_bytes(data[:-1])
    with pytest.raises(InputError, match="vectors.faiss is damaged"):
        PageIndex.open(tmp_path / "a", checksums=False)
    (tmp_path / "a" / "manifest.json").write_text('{"format": 3}')
    with pytest.raises(InputError, match="does not list the files"):
        PageIndex.open(tmp_path / "a")
    shutil.rmtree(tmp_path / "a")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of open files")
def test_a_corpus_of_many_documents_holds_no_files_open(tmp_path: Path) -> None:
    pages = clustered_pages(2)
    before = len(list(Path("/proc/self/fd").iterdir()))
    joined = JoinedIndex([write(tmp_path / f"d{i}", f"d{i}", pages) for i in range(20)])
    query = query_near(pages[0])
    assert len(joined.search(query, 40)) == 40
    assert len(joined.match(query, PageRef("d7", 1)).boxes) == len(pages[0])
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2


def test_odd_dimensions_are_searched_all_the_same(tmp_path: Path) -> None:
    pages = [
        page[:, :31] / np.linalg.norm(page[:, :31], axis=1, keepdims=True) for page in clustered_pages(6)
    ]
    index = write(tmp_path / "a", "a", pages, IndexSettings(31, bits=16))
    query = QueryEmbedding(pages[3][:5], pages[3][0])
    assert index.maxsim(query) == pytest.approx(brute(query, pages), abs=1e-2)
