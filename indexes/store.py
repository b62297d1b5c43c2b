"""The vectors of an index on disk: FAISS codes, boxes and offsets, all memory-mapped."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexes.ceilings import Ceilings, ordinary, quick
from indexes.maxsim import best_matches
from indexes.scan import Scan, scannable, stripes
from indexes.vectors import FULL, PROJECTION, MismatchError, project

Floats = NDArray[np.float32]
BLOCK = 8192  # vectors decoded at a time


def ceilings_of(query: Floats, places: Sequence[tuple["Store", int]]) -> Floats | None:
    """The same as `Store.ceilings` for single pages of any stores; None also where one's are projected."""
    codes = [store.codes(row) for store, row in places] if quick() and ordinary(query) else []
    known = [one for one in codes if one is not None]
    if not known or len(known) < len(places):
        return None
    return Ceilings(query).of_each(known)


class Store:
    """The vectors of one kind, `vectors` or `pooled`, of one document.

    Attributes:
        offsets: `(pages + 1,)`; the page in row `i` owns the vectors `offsets[i]` to `offsets[i + 1]`.
        dim: of the vectors as they were embedded.

    Raises:
        MismatchError: its files cannot be read, or do not belong together.
    """

    def __init__(self, folder: Path, kind: str) -> None:
        import faiss

        # A page takes microseconds: threads that spin between pages cost more than they gain.
        faiss.omp_set_num_threads(1)
        library: Any = faiss
        self._boxes = folder / f"{kind}_boxes.npy"
        path = folder / PROJECTION
        projected = kind == "vectors" and path.exists()
        try:
            self._index = library.read_index(str(folder / f"{kind}.faiss"), faiss.IO_FLAG_MMAP_IFC)
            self.offsets: NDArray[np.int64] = np.load(folder / f"{kind}_offsets.npy", allow_pickle=False)
            self._projection: Floats | None = np.load(path, allow_pickle=False) if projected else None
            boxes = np.load(self._boxes, mmap_mode="r", allow_pickle=False)
        except (OSError, RuntimeError, ValueError, EOFError) as error:
            raise MismatchError(f"its {kind} cannot be read") from error
        self._check(boxes)
        self.dim = int(self._index.d) if self._projection is None else int(self._projection.shape[1])
        self._codes: NDArray[np.uint8] | None = None
        if self._index.sq.qtype == faiss.ScalarQuantizer.QT_bf16 and scannable(self._index.d):
            size = int(self._index.ntotal) * 2 * int(self._index.d)
            self._codes = np.zeros(0, np.uint8)
            if size:
                self._codes = faiss.rev_swig_ptr(self._index.codes.data(), size)
                self._codes.flags.writeable = False

    def _check(self, boxes: NDArray[np.uint16]) -> None:
        """Refuses files that do not belong together, whatever the manifest says of them."""
        offsets, count = self.offsets, int(self._index.ntotal)
        if (
            offsets.ndim != 1
            or offsets.dtype != np.int64
            or not len(offsets)
            or (int(offsets[0]), int(offsets[-1])) != (0, count)
            or (np.diff(offsets) < 0).any()
        ):
            raise MismatchError(f"its offsets do not divide {count} vectors")
        if boxes.shape != (count, 4) or boxes.dtype != np.uint16:
            raise MismatchError(f"its boxes are not those of {count} vectors")
        projection = self._projection
        if projection is not None and (projection.ndim != 2 or len(projection) != self._index.d):
            raise MismatchError("its projection is of other vectors")

    def projected(self, query: Floats) -> Floats:
        """A query `(q, dim)` in the dimensions of the index."""
        return project(query, self._projection)

    def best_matches(self, query: Floats, rows: Sequence[int] | None = None) -> Floats:
        """Each query vector's highest inner product on each page: `(pages, q)`, -inf where it has no vectors.

        Args:
            query: `(q, dim)`, in the dimensions of the encoder.
            rows: which pages; None: all.
        """
        query = self.projected(query)
        scan = None if self._codes is None else Scan(query, self._codes)
        if rows is None:
            return self._decoding(query, self.offsets) if scan is None else scan.best_matches(self.offsets)
        best = np.full((len(rows), len(query)), -np.inf, np.float32)
        for i, row in enumerate(rows):
            offsets = self.offsets[row : row + 2]
            best[i] = (
                self._decoding(query, offsets)[0] if scan is None else scan.best_match(*offsets.tolist())
            )
        return best

    def ceilings(self, query: Floats) -> Floats | None:
        """What each query vector's highest similarity on each page is not above: `(pages, q)`.

        -inf for a page without vectors; None where comparing exactly is as quick (see `indexes.ceilings`).
        """
        if self._codes is None or not quick() or not ordinary(query):
            return None
        return Ceilings(self.projected(query)).of_all(self._codes, self.offsets)

    def codes(self, row: int) -> NDArray[np.uint8] | None:
        """A page's vectors as bfloat16, one after the other; None if they are kept otherwise or projected."""
        if self._codes is None or self._projection is not None:
            return None
        size = 2 * self.dim
        return self._codes[int(self.offsets[row]) * size : int(self.offsets[row + 1]) * size]

    def page(self, row: int) -> tuple[Floats, Floats]:
        """The vectors `(n, inner)`, in the dimensions of the index, and boxes `(n, 4)` of a page."""
        start, end = int(self.offsets[row]), int(self.offsets[row + 1])
        # Not kept open: each would hold a file of the process's few hundred, and a corpus has more documents.
        boxes = np.load(self._boxes, mmap_mode="r", allow_pickle=False)[start:end]
        return self._decoded(start, end), boxes.astype(np.float32) / FULL

    def blocks(self, first: int = 0, last: int | None = None) -> Iterator[tuple[Floats, NDArray[np.int64]]]:
        """The vectors `(n, dim)` of pages `first` to `last` (exclusive) and their pages' rows `(n,)`.

        They have the dimensions of the encoder again, and come as many at a time as are decoded at a time.
        """
        offsets = self.offsets[first : (len(self.offsets) - 1 if last is None else last) + 1]
        for start, end in stripes(offsets, BLOCK):
            vectors = self._decoded(int(offsets[start]), int(offsets[end]))
            if self._projection is not None:
                vectors = vectors @ self._projection
            yield vectors, np.repeat(np.arange(first + start, first + end), np.diff(offsets[start : end + 1]))

    def _decoding(self, query: Floats, offsets: NDArray[np.int64]) -> Floats:
        """The same as `Scan.best_matches`, for codes that FAISS must decode."""
        best = np.full((len(offsets) - 1, len(query)), -np.inf, np.float32)
        for first, last in stripes(offsets, BLOCK) if len(query) else ():
            start, end = int(offsets[first]), int(offsets[last])
            best[first:last] = best_matches(
                query, self._decoded(start, end), offsets[first : last + 1] - start
            )
        return best

    def _decoded(self, start: int, end: int) -> Floats:
        """The vectors `start` to `end` (exclusive) in the dimensions of the index."""
        if end == start:
            return np.zeros((0, self._index.d), np.float32)
        decoded: Floats = self._index.reconstruct_n(start, end - start)
        return decoded
