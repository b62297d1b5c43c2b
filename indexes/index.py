"""The index of a document: its pages' vectors on disk, for late interaction and single-vector search."""

import logging
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from indexes.cache import digest, entry, lock, publish_dir, scratch_dir
from indexes.embedding import embed_pages
from indexes.encoders.protocol import ImageEncoder, PageEncoder, QueryEmbedding
from indexes.maxsim import best_matches, total
from indexes.progress import bar
from indexes.regions import matched_regions
from indexes.types import BBox, PageRef
from indexes.vectors import (
    FULL,
    PROJECTION,
    IndexSettings,
    MismatchError,
    Part,
    check_index,
    load_part,
    part_of,
    project,
    save_part,
    settings_dict,
    write_index,
)

if TYPE_CHECKING:
    from indexes.document import Document

Floats = NDArray[np.float32]
PART_PAGES = 16
BLOCK = 8192  # vectors decoded at a time

_log = logging.getLogger(__name__)


class PageIndex:
    """The index of one document by one encoder, memory-mapped.

    Attributes:
        refs: the document's pages in order; scores come in the same order.
        manifest: what the index is of: document, encoder, settings, versions, counts, files.
    """

    def __init__(self, folder: Path, refs: Sequence[PageRef], manifest: dict[str, Any]) -> None:
        self.refs = tuple(refs)
        self.manifest = manifest
        self._vectors = _Store(folder, "vectors")
        self._pooled = _Store(folder, "pooled")
        self._rows = {ref: i for i, ref in enumerate(self.refs)}

    @classmethod
    def open_or_build(
        cls,
        doc: "Document",
        encoder: PageEncoder,
        *,
        quiet: bool = True,
        settings: IndexSettings | None = None,
    ) -> Self:
        """Opens the index of a document, building it first where there is none or it does not match.

        Raises:
            InputError: the cache cannot be written.
        """
        image_encoder = encoder if isinstance(encoder, ImageEncoder) else None
        if settings is None:
            settings = IndexSettings(image_encoder.dim, bits=16) if image_encoder else IndexSettings()
        about = {
            "document": doc.sha256,
            "words": doc.key if image_encoder is None else "",
            "pages": len(doc),
            "encoder": encoder.name,
            "revision": encoder.revision,
            "settings": settings_dict(settings),
        }
        folder = entry("index", digest(*about.values()))
        refs = [PageRef(doc.doc_id, number) for number in range(1, len(doc) + 1)]
        try:
            return cls(folder, refs, check_index(folder, about))
        except MismatchError as reason:
            if folder.exists():
                _log.warning("index of %s: %s; building it again", doc.doc_id, reason)
        with lock(folder):
            try:
                manifest = check_index(folder, about)  # another process may have built it meanwhile
            except MismatchError:
                _build(doc, encoder, folder, about, quiet)
                manifest = check_index(folder, about)
        return cls(folder, refs, manifest)

    def maxsim(self, query: QueryEmbedding) -> Floats:
        """Exact late interaction: `(n_pages,)`, -inf for pages without vectors."""
        return total(self.best_matches(query))

    def best_matches(self, query: QueryEmbedding) -> Floats:
        """Each query vector's highest similarity on each page: `(n_pages, q)`, -inf where none."""
        return self._vectors.best_matches(query.vectors)

    def pooled(self, query: QueryEmbedding) -> Floats:
        """The best pooled vector's cosine: `(n_pages,)`, -inf for pages without vectors."""
        return self._pooled.best_matches(query.pooled[None])[:, 0]

    def regions(self, query: QueryEmbedding, ref: PageRef, n: int = 3) -> list[BBox]:
        """Where on a page the query matched: at most `n` boxes, best first."""
        if ref not in self._rows:
            raise ValueError(f"{ref}: the index has {len(self.refs)} pages of {self.refs[0].doc_id}")
        vectors, boxes = self._vectors.page(self._rows[ref])
        return matched_regions(vectors @ self._vectors.projected(query.vectors).T, boxes, n)


class _Store:
    """The vectors of one kind: FAISS codes, boxes and offsets, all memory-mapped."""

    def __init__(self, folder: Path, kind: str) -> None:
        import faiss

        # Decoding takes microseconds a page: threads that spin between pages cost more than they gain.
        faiss.omp_set_num_threads(1)
        self._codes: Any = faiss.read_index(str(folder / f"{kind}.faiss"), faiss.IO_FLAG_MMAP_IFC)
        self._boxes = np.load(folder / f"{kind}_boxes.npy", mmap_mode="r", allow_pickle=False)
        self._offsets: NDArray[np.int64] = np.load(folder / f"{kind}_offsets.npy", allow_pickle=False)
        path = folder / PROJECTION
        projected = kind == "vectors" and path.exists()
        self._projection: Floats | None = np.load(path, allow_pickle=False) if projected else None

    def projected(self, query: Floats) -> Floats:
        """A query `(q, dim)` in the dimensions of the index."""
        return project(query, self._projection)

    def best_matches(self, query: Floats) -> Floats:
        """Each query vector's highest inner product on each page, decoding few pages at a time."""
        query = self.projected(query)
        pages = len(self._offsets) - 1
        best = np.full((pages, len(query)), -np.inf, np.float32)
        if not len(query):
            return best
        first = 0
        while first < pages:
            limit = self._offsets[first] + BLOCK
            last = max(first + 1, int(np.searchsorted(self._offsets, limit, side="right")) - 1)
            best[first:last] = best_matches(query, *self._decoded(first, last))
            first = last
        return best

    def page(self, row: int) -> tuple[Floats, Floats]:
        """The vectors `(n, inner)` and boxes `(n, 4)` of a page."""
        boxes = self._boxes[self._offsets[row] : self._offsets[row + 1]].astype(np.float32) / FULL
        return self._decoded(row, row + 1)[0], boxes

    def _decoded(self, first: int, last: int) -> tuple[Floats, NDArray[np.int64]]:
        start, end = int(self._offsets[first]), int(self._offsets[last])
        offsets = self._offsets[first : last + 1] - start
        if end == start:
            return np.zeros((0, self._codes.d), np.float32), offsets
        return self._codes.reconstruct_n(start, end - start), offsets


def _build(doc: "Document", encoder: PageEncoder, folder: Path, about: dict[str, Any], quiet: bool) -> None:
    """Builds an index and publishes it as `folder`; parts that a killed build left are used."""
    work = folder.with_name(f"{folder.name}.parts")
    spans = [range(i, min(i + PART_PAGES, len(doc) + 1)) for i in range(1, len(doc) + 1, PART_PAGES)]
    paths = [work / f"{span.start:06d}-{span.stop - 1:06d}.npz" for span in spans]
    if not isinstance(encoder, ImageEncoder):
        _ = doc.labels  # reads the document, with a bar of its own
    with bar(len(doc), "indexing", "page", quiet) as progress:
        missing = []
        for span, path in zip(spans, paths, strict=True):
            if load_part(path, len(span)) is None:
                missing.append((span, path))
            else:
                progress.update(len(span))
        for span, path in missing:
            save_part(path, part_of(embed_pages(doc, encoder, span)))
            progress.update(len(span))
    with scratch_dir(folder) as scratch:
        write_index(scratch, lambda: _parts(paths, spans), about)
        shutil.rmtree(folder, ignore_errors=True)  # one that does not match
        publish_dir(scratch, folder)
    shutil.rmtree(work, ignore_errors=True)


def _parts(paths: Sequence[Path], spans: Sequence[range]) -> Iterator[Part]:
    for path, span in zip(paths, spans, strict=True):
        part = load_part(path, len(span))
        if part is None:
            raise RuntimeError(f"{path}: was written a moment ago and cannot be read")
        yield part
