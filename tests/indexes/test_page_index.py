"""The index on disk: equal to brute force, refused when it does not match, safe from a kill."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indexes.build import main as build
from indexes.cache import cache_root
from indexes.documents import documents_in
from indexes.encoders.protocol import PageEmbedding, QueryEmbedding
from indexes.errors import InputError
from indexes.index import PageIndex
from indexes.types import Page, PageRef, Words
from indexes.vectors import IndexSettings, part_of, write_index

EXACT = IndexSettings(dim=64, bits=16)


class PatchEncoder:
    """Random vectors in a grid of boxes, as an image encoder gives; counts what it encodes."""

    name = "patches"
    revision = "1"

    def __init__(self, dim: int = 64, empty: Sequence[int] = (), fails_at: int | None = None) -> None:
        self.dim, self.empty, self.fails_at = dim, empty, fails_at
        self.seen: list[int] = []

    def vectors(self, page: int) -> np.ndarray:
        """The vectors of a page, the same at every call."""
        rng = np.random.default_rng(page)
        vectors = rng.standard_normal((0 if page in self.empty else 12 + page % 5, self.dim))
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    def encode_pages(self, pages: Sequence[Page]) -> list[PageEmbedding]:
        """As an encoder does."""
        result = []
        for page in pages:
            number = page.ref.page
            if number == self.fails_at:
                raise RuntimeError("the encoder broke")
            self.seen.append(number)
            vectors = self.vectors(number)
            corners = np.array([[i % 4 / 4, i // 4 / 5] for i in range(len(vectors))], np.float32).reshape(
                -1, 2
            )
            boxes = np.concatenate([corners, corners + [0.25, 0.2]], axis=1).astype(np.float32)
            result.append(PageEmbedding(page.ref, vectors, boxes, vectors[:2], boxes[:2]))
        return result

    def encode_query(self, text: str) -> QueryEmbedding:
        """A vector for each word."""
        rng = np.random.default_rng(len(text))
        vectors = rng.standard_normal((len(text.split()), self.dim)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return QueryEmbedding(vectors, vectors[0] if len(vectors) else np.zeros(self.dim, np.float32))


class Pictures:
    """A document of pages without words."""

    doc_id = "pictures"
    labels = ()

    def __init__(self, pages: int, key: str) -> None:
        self.count, self.sha256, self.key = pages, f"sha of {key}", key

    def __len__(self) -> int:
        return self.count

    def pages(self, numbers: Sequence[int]) -> Iterator[Page]:
        """Pages without words."""
        nothing = Words([], np.zeros((0, 4), np.float32), np.zeros(0, np.int32))
        return (Page(PageRef(self.doc_id, n), None, (10, 10), nothing) for n in numbers)


def opened(doc: Pictures, encoder: PatchEncoder, settings: IndexSettings = EXACT) -> PageIndex:
    return PageIndex.open_or_build(doc, encoder, settings=settings)  # type: ignore[arg-type]


def folder_of(key: str) -> Path:
    manifests = cache_root().glob("index/*/*/manifest.json")
    return next(m.parent for m in manifests if json.loads(m.read_text())["words"] == key)


def maxsim_of(encoder: PatchEncoder, query: QueryEmbedding, page: int) -> float:
    vectors = encoder.vectors(page)
    return sum(max(float(q @ v) for v in vectors) for q in query.vectors) if len(vectors) else -np.inf


def test_scores_equal_brute_force_over_the_encoders_own_vectors() -> None:
    encoder = PatchEncoder(empty=[1, 20, 40])
    index = opened(Pictures(40, "brute force"), encoder)
    query = encoder.encode_query("one two three four")
    expected = [maxsim_of(encoder, query, page) for page in range(1, 41)]
    assert index.refs == tuple(PageRef("pictures", page) for page in range(1, 41))
    assert index.maxsim(query) == pytest.approx(expected, abs=2e-3)
    best = [max((encoder.vectors(p)[:2] @ query.pooled), default=-np.inf) for p in range(1, 41)]
    assert index.pooled(query) == pytest.approx(best, abs=2e-3)


def test_eight_bits_keep_the_ranking_of_pages_that_differ_by_more_than_their_error() -> None:
    encoder = PatchEncoder()
    query = encoder.encode_query("one two three four")
    index = opened(Pictures(40, "eight bits"), encoder, IndexSettings(dim=64, bits=8))
    exact = np.array([maxsim_of(encoder, query, page) for page in range(1, 41)])
    error = np.abs(index.maxsim(query) - exact).max()
    assert error < 0.03
    order = np.argsort(-index.maxsim(query), kind="stable")
    assert (np.diff(exact[order]) < 2 * error + 1e-6).all()


def test_four_bits_after_a_rotation_come_close_to_the_exact_scores() -> None:
    encoder = PatchEncoder(dim=256)
    query = encoder.encode_query("one two three four")
    index = opened(Pictures(40, "four bits"), encoder, IndexSettings())
    exact = np.array([maxsim_of(encoder, query, page) for page in range(1, 41)])
    assert np.abs(index.maxsim(query) - exact).max() < 0.15
    assert np.corrcoef(index.maxsim(query), exact)[0, 1] > 0.99


def test_no_vector_takes_more_than_192_bytes_by_default() -> None:
    settings = IndexSettings()
    assert [settings.bits_for(dim) for dim in (64, 128, 192, 320, 384, 1024)] == [8, 8, 8, 4, 4, 4]


def test_a_projection_keeps_what_lies_in_few_dimensions() -> None:
    encoder = PatchEncoder(dim=64)
    whole = encoder.vectors
    encoder.vectors = lambda page: np.pad(whole(page)[:, :16], ((0, 0), (0, 48)))  # type: ignore[method-assign]
    query = encoder.encode_query("one two three")
    index = opened(Pictures(20, "projection"), encoder, IndexSettings(dim=16, bits=16))
    exact = [maxsim_of(encoder, query, page) for page in range(1, 21)]
    assert index.maxsim(query) == pytest.approx(exact, abs=2e-3)
    assert (folder_of("projection") / "vectors.faiss").stat().st_size < 20 * 17 * 16 * 2 + 1000


def test_faiss_itself_finds_the_same_vectors_in_the_file() -> None:
    import faiss

    encoder = PatchEncoder()
    opened(Pictures(20, "faiss"), encoder)
    index = faiss.read_index(str(folder_of("faiss") / "vectors.faiss"))
    query = encoder.encode_query("one two three")
    vectors = np.concatenate([encoder.vectors(page) for page in range(1, 21)])
    _, found = index.search(query.vectors, 1)
    assert found[:, 0].tolist() == (vectors @ query.vectors.T).argmax(axis=0).tolist()


def test_a_second_opening_encodes_nothing_and_scores_the_same() -> None:
    encoder, again = PatchEncoder(), PatchEncoder()
    first = opened(Pictures(20, "twice"), encoder)
    second = opened(Pictures(20, "twice"), again)
    query = encoder.encode_query("one two")
    assert len(encoder.seen) == 20 and again.seen == []
    assert np.array_equal(first.maxsim(query), second.maxsim(query))


def test_one_page_an_empty_query_and_a_document_without_vectors() -> None:
    encoder = PatchEncoder()
    single = opened(Pictures(1, "single"), encoder)
    assert single.maxsim(encoder.encode_query("one")).shape == (1,)
    assert single.maxsim(encoder.encode_query("")).tolist() == [0]
    nothing = PatchEncoder(empty=range(100))
    blank = opened(Pictures(3, "blank"), nothing, IndexSettings(dim=16, bits=8))
    query = nothing.encode_query("one two")
    assert np.isneginf(blank.maxsim(query)).all() and np.isneginf(blank.pooled(query)).all()
    assert blank.match(query, blank.refs[0]).regions(3) == []


@pytest.mark.parametrize("name", ["vectors.faiss", "pooled_boxes.npy", "manifest.json"])
@pytest.mark.parametrize("damage", ["cut", "flip", "remove"])
def test_a_damaged_index_is_refused_and_built_again(
    name: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    doc = Pictures(20, f"{name} {damage}")
    encoder, again = PatchEncoder(), PatchEncoder()
    query = encoder.encode_query("one two")
    before = opened(doc, encoder).maxsim(query).copy()
    path = folder_of(doc.key) / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.unlink()
    if damage != "remove":
        path.write_bytes(data if damage == "flip" else data[: len(data) // 2])
    with caplog.at_level(logging.WARNING):
        after = opened(doc, again)
    assert np.array_equal(after.maxsim(query), before)
    assert len(again.seen) == 20
    assert "building it again" in caplog.text


def test_another_revision_document_or_setting_is_another_index() -> None:
    opened(Pictures(3, "a"), PatchEncoder())
    other = PatchEncoder()
    other.revision = "2"
    opened(Pictures(3, "a"), other)
    opened(Pictures(3, "b"), other)
    opened(Pictures(3, "b"), other, IndexSettings(dim=32, bits=8))
    assert len(other.seen) == 9


def test_a_manifest_of_another_document_in_its_place_is_refused() -> None:
    encoder = PatchEncoder()
    opened(Pictures(3, "mine"), encoder)
    path = folder_of("mine") / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "document": "sha of another"}))
    opened(Pictures(3, "mine"), encoder)
    assert encoder.seen == [1, 2, 3, 1, 2, 3]


def test_a_build_that_fails_leaves_no_index_and_the_next_goes_on_from_its_parts() -> None:
    doc = Pictures(40, "resumed")
    with pytest.raises(RuntimeError, match="the encoder broke"):
        opened(doc, PatchEncoder(fails_at=36))
    with pytest.raises(StopIteration):
        folder_of("resumed")
    rest, whole = PatchEncoder(), PatchEncoder()
    query = rest.encode_query("one two three")
    scores = opened(doc, rest).maxsim(query)
    assert rest.seen == list(range(33, 41))
    assert np.array_equal(scores, opened(Pictures(40, "at once"), whole).maxsim(query))
    assert not list(cache_root().glob("index/*/*.parts"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "name", ["projection.npy", "vectors.faiss", "vectors_boxes.npy", "pooled.faiss", "pooled_offsets.npy"]
)
def test_a_full_disk_is_said_for_every_file_of_an_index(tmp_path: Path, name: str) -> None:
    pages = list(Pictures(3, "full").pages([1, 2, 3]))
    part = part_of(PatchEncoder().encode_pages(pages))
    (tmp_path / name).symlink_to("/dev/full")
    with pytest.raises(InputError, match="no space left to write"):
        write_index(tmp_path, lambda: iter([part]), {"settings": {"dim": 16, "bits": 4}})


def test_a_part_that_is_damaged_is_encoded_again() -> None:
    doc = Pictures(40, "damaged part")
    with pytest.raises(RuntimeError):
        opened(doc, PatchEncoder(fails_at=36))
    part = max(cache_root().glob("index/*/*.parts/000001*.npz"), key=lambda p: p.stat().st_mtime)
    part.write_bytes(part.read_bytes()[:-200])
    rest = PatchEncoder()
    opened(doc, rest)
    assert rest.seen == [*range(1, 17), *range(33, 41)]


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from tests.indexes.test_page_index import Pictures, PatchEncoder, opened
class Killed(PatchEncoder):
    def encode_pages(self, pages):
        if pages[0].ref.page > 16:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode_pages(pages)
opened(Pictures(40, "killed"), Killed())
"""


def test_a_killed_build_leaves_nothing_that_is_trusted_and_its_finished_parts_are_used() -> None:
    root = Path(__file__).parents[2]
    killed = subprocess.run([sys.executable, "-c", KILLED, str(root)], cwd=root, env=dict(os.environ))
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(StopIteration):
        folder_of("killed")
    encoder = PatchEncoder()
    query = encoder.encode_query("one two three")
    scores = opened(Pictures(40, "killed"), encoder).maxsim(query)
    assert encoder.seen == list(range(17, 41))
    assert scores == pytest.approx([maxsim_of(encoder, query, p) for p in range(1, 41)], abs=2e-3)


def test_regions_of_a_page_that_is_not_there_are_refused() -> None:
    encoder = PatchEncoder()
    index = opened(Pictures(3, "three"), encoder)
    query = encoder.encode_query("one two")
    assert 0 < len(index.match(query, index.refs[1]).regions(2)) <= 2
    with pytest.raises(ValueError, match="has 3 pages"):
        index.match(query, PageRef("pictures", 4))


def test_the_sample_document_is_built_by_the_command_and_finds_its_pages(
    sample_pdf: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_text("no PDF")
    assert build([str(sample_pdf), str(broken), "--no-ocr", "--quiet"]) == 2
    output = capsys.readouterr()
    assert output.out.startswith("sample.pdf: 15 pages, ")
    assert output.err.startswith(f"error: {broken}: no PDF")
    assert build([str(sample_pdf), "--no-ocr", "--quiet"]) == 0


def test_a_folder_stands_for_its_documents_in_natural_order(tmp_path: Path) -> None:
    for name in ("p_10.pdf", "p_2.pdf", "notes.txt"):
        (tmp_path / name).touch()
    images = tmp_path / "pages"
    images.mkdir()
    (images / "1.png").touch()
    assert documents_in(tmp_path) == [tmp_path / "p_2.pdf", tmp_path / "p_10.pdf", images]
    assert documents_in(images) == [images]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="without PDFs"):
        documents_in(tmp_path / "empty")


def test_the_manifest_says_what_the_index_is_of() -> None:
    manifest: dict[str, Any] = opened(Pictures(3, "told"), PatchEncoder()).manifest
    assert manifest["document"] == "sha of told"
    assert (manifest["encoder"], manifest["revision"]) == ("patches", "1")
    assert manifest["settings"] == {"dim": 64, "bits": 16}
    assert manifest["counts"]["vectors"] == sum(12 + page % 5 for page in (1, 2, 3))
    assert set(manifest["versions"]) >= {"python", "faiss-cpu", "numpy"}
