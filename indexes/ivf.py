"""Likely pages of a large index, found by FAISS without a look at every vector.

An inverted file (Jégou et al. 2011, "Product Quantization for Nearest Neighbor Search") over the vectors
of all pages: each lies in the list of its nearest centroid, under the row of its page; how far it is off the
centroid is coded in half a byte for two dimensions. A query vector visits some lists and brings home its
nearest vectors, by which `indexes.likely` estimates what pages score. Those estimated highest are the
candidates; `indexes.search` compares them exactly, the likeliest first, so that codes and estimates only
decide which pages are looked at.
"""

import json
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from indexes.cache import lock, publish_dir, remove_scratch, scratch_dir, write_atomic
from indexes.errors import InputError
from indexes.index import PageIndex
from indexes.joined import JoinedIndex
from indexes.likely import Estimates, likely_pages
from indexes.progress import bar
from indexes.vectors import (
    MANIFEST,
    MismatchError,
    check_files,
    files_of,
    read_manifest,
    save_faiss,
    versions,
)

Floats = NDArray[np.float32]
FORMAT = 2
FILE = "ivf.faiss"
SAMPLE = 40  # vectors a list that its centroid is learned from
ROUNDS = 10  # of k-means; candidates are compared exactly, so centroids need not be perfect
CODE_BITS = 4


@dataclass(frozen=True, slots=True)
class IvfSettings:
    """How likely pages are found; None: chosen from the size, by what `benchmarks/scale.py` showed.

    Attributes:
        nlist: lists. More make each shorter, but take longer to build.
        nprobe: lists that a query vector visits.
        neighbours: vectors that it brings home.
        candidates: pages that are compared exactly, at most; four times `k` if that is more.
        doubt: how far above its estimate a page's score may lie before it is passed over, in standard
            deviations of how far off the latest pages' were that were compared; infinite: none is. The more
            pages there are, the further off the worst of their estimates.
    """

    nlist: int | None = None
    nprobe: int | None = None
    neighbours: int | None = None
    candidates: int | None = None
    doubt: float | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            least = 0 if name == "doubt" else 1
            if value is not None and not value >= least:
                raise InputError(f"{name} {value}: expected at least {least}")

    def for_size(self, vectors: int, pages: int) -> "IvfSettings":
        """What is left open, chosen for an index of so many vectors on so many pages."""
        nlist = self.nlist or 2 ** round(np.log2(max(1.0, 1.5 * np.sqrt(vectors))))
        nlist = max(1, min(nlist, vectors))
        return IvfSettings(
            nlist,
            min(nlist, self.nprobe or max(16, nlist // 64 * max(1, nlist // 4096))),
            min(vectors, self.neighbours or max(1000, 2 * pages // 5)),
            min(pages, self.candidates or max(100, pages // 5)),
            3.7 + 0.375 * math.log(max(pages, 10_000) / 10_000) if self.doubt is None else self.doubt,
        )


class Ivf:
    """An inverted file on disk over the pages of an index.

    Attributes:
        settings: none of them is None.
        manifest: what it is of: the indexes' vectors, the settings, versions, counts, files.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any], settings: IvfSettings) -> None:
        import faiss

        self.manifest = manifest
        self._pages: int = manifest["counts"]["pages"]
        self.settings = settings.for_size(manifest["counts"]["vectors"], self._pages)
        self._index: Any = faiss.read_index(str(folder / FILE), faiss.IO_FLAG_MMAP_IFC)

    @classmethod
    def open(
        cls,
        folder: Path,
        index: PageIndex | JoinedIndex,
        settings: IvfSettings = IvfSettings(),  # noqa: B008
        *,
        checksums: bool = True,
    ) -> Self:
        """Opens the inverted file in a folder.

        Args:
            folder: where it lies.
            index: what it must be of.
            settings: how to search; `nlist` must be the one it was built with, or None.
            checksums: whether it is read through first; else only its size is looked at.

        Raises:
            MismatchError: there is none, it is damaged, or of other documents, settings or vectors.
        """
        manifest = read_manifest(folder)
        for key, value in json.loads(json.dumps(_about(_joined(index), settings))).items():
            if value is not None and manifest.get(key) != value:
                raise MismatchError(
                    f"{key} changed" if key == "members" else f"{key} is {manifest.get(key)!r}"
                )
        files = manifest.get("files")
        if not isinstance(files, dict) or set(files) != {FILE}:
            raise MismatchError("the manifest does not list the files of an inverted file")
        check_files(folder, files, checksums)
        try:
            found = cls(folder, manifest, replace(settings, nlist=manifest["nlist"]))
        except (KeyError, TypeError, RuntimeError, InputError) as error:
            raise MismatchError("the inverted file or its manifest is damaged") from error
        if found._pages != len(index.refs):
            raise MismatchError(f"it is of {found._pages} pages")
        return found

    def candidates(self, query: Floats, k: int) -> tuple[NDArray[np.int64], Estimates]:
        """The pages that are most likely among the `k` best for a query `(q, dim)`, `q >= 1`.

        Returns:
            Their rows `(n,)`, the likeliest first, and estimates; at most as many as the settings say, or
            four times `k`.
        """
        import faiss

        library: Any = faiss
        told = self.settings
        parameters = library.IVFSearchParameters(nprobe=told.nprobe)
        similarities, rows = self._index.search(
            np.ascontiguousarray(query, np.float32), told.neighbours, params=parameters
        )
        return likely_pages(similarities, rows, self._pages, max(told.candidates or 0, 4 * k))


def open_or_build_ivf(
    index: PageIndex | JoinedIndex,
    folder: Path,
    settings: IvfSettings = IvfSettings(),  # noqa: B008
    *,
    quiet: bool = True,
) -> Ivf:
    """Opens the inverted file over an index's pages, building it first where there is none that matches.

    It is not set at the index: `index.ivf = open_or_build_ivf(index, folder)`.

    Args:
        index: one document's index or several joined.
        folder: where it lies or is to lie; nothing else may be in it.
        settings: how to build and search.
        quiet: whether no progress bar is shown.

    Raises:
        InputError: no page has vectors, or the folder cannot be written.
    """
    joined = _joined(index)
    if not sum(member.manifest["counts"]["vectors"] for member in joined.members):
        raise InputError(
            f"{joined.refs[0].doc_id}: no page has vectors; there is nothing to build a search for"
        )
    try:
        return Ivf.open(folder, joined, settings)
    except MismatchError:
        pass
    with lock(folder):
        try:
            return Ivf.open(folder, joined, settings)  # another process may have built it meanwhile
        except MismatchError:
            _build(joined, folder, settings, quiet)
    return Ivf.open(folder, joined, settings)


def _joined(index: PageIndex | JoinedIndex) -> JoinedIndex:
    return index if isinstance(index, JoinedIndex) else JoinedIndex([index])


def _about(joined: JoinedIndex, settings: IvfSettings) -> dict[str, Any]:
    """What an inverted file must be of: the very vectors of the very documents, in this order."""
    members = [
        [member.manifest["document"], len(member.refs), member.manifest["files"]["vectors.faiss"]["sha256"]]
        for member in joined.members
    ]
    return {"format": FORMAT, "members": members, "nlist": settings.nlist}


def _build(joined: JoinedIndex, folder: Path, settings: IvfSettings, quiet: bool) -> None:
    """Builds an inverted file block by block and publishes it at once."""
    remove_scratch(folder)
    counts = {
        "pages": len(joined.refs),
        "vectors": sum(member.manifest["counts"]["vectors"] for member in joined.members),
    }
    sized = settings.for_size(counts["vectors"], counts["pages"])
    with _all_cores(), bar(counts["vectors"], "inverted file", "vector", quiet) as progress:
        index = _trained(joined, sized.nlist or 1)
        for vectors, rows in joined.blocks():
            if len(vectors):
                index.add_with_ids(vectors, rows)
                progress.update(len(vectors))
    with scratch_dir(folder) as scratch:
        save_faiss(scratch / FILE, index)
        manifest = {
            **_about(joined, sized),
            "versions": versions(),
            "counts": counts,
            "files": files_of(scratch),
        }
        write_atomic(scratch / MANIFEST, json.dumps(manifest, indent=1, sort_keys=True).encode())
        shutil.rmtree(folder, ignore_errors=True)  # one that does not match
        publish_dir(scratch, folder)


def _trained(joined: JoinedIndex, nlist: int) -> Any:
    import faiss

    sample = _sample(joined, SAMPLE * nlist)
    dim = sample.shape[1]
    quantizer: Any = faiss.IndexFlatIP(dim)
    pairs = dim // 2 if dim % 2 == 0 else dim
    index: Any = faiss.IndexIVFPQFastScan(quantizer, dim, nlist, pairs, CODE_BITS, faiss.METRIC_INNER_PRODUCT)
    index.by_residual = True  # what is coded is how far a vector lies from its centroid: a shorter way
    for clustering in (index.cp, index.pq.cp):
        clustering.min_points_per_centroid = 1  # FAISS would write warnings about small indexes
        clustering.max_points_per_centroid = SAMPLE
    index.pq.cp.max_points_per_centroid = 1024
    index.cp.niter = ROUNDS
    index.train(sample)
    return index


def _sample(joined: JoinedIndex, size: int) -> Floats:
    """At most about `size` vectors, drawn at random but the same ones each time, from all documents."""
    random = np.random.default_rng(0)
    total = sum(member.manifest["counts"]["vectors"] for member in joined.members)
    share = min(1.0, size / total)
    kept = [vectors[random.random(len(vectors)) < share] for vectors, _ in joined.blocks()]
    sample: Floats = np.concatenate(kept)
    # FAISS learns 2 ** CODE_BITS codes a pair of dimensions, and from no fewer vectors.
    return sample if len(sample) >= 2**CODE_BITS else np.resize(sample, (2**CODE_BITS, sample.shape[1]))


@contextmanager
def _all_cores() -> Iterator[None]:
    """Lets FAISS use all cores within the block; searches use one."""
    import faiss

    told = os.environ.get("OMP_NUM_THREADS", "")
    faiss.omp_set_num_threads(int(told) if told.isdigit() and int(told) else len(os.sched_getaffinity(0)))
    try:
        yield
    finally:
        faiss.omp_set_num_threads(1)
