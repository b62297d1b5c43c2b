"""The files of a document's index: written part by part, published at once, refused when they do not match.

A folder holds `vectors.faiss` (the pages' multi-vectors, one page after the other, projected and quantized by
FAISS), `pooled.faiss` (the pooled ones), for both the boxes as 16-bit fractions of the page and the pages'
offsets, and `manifest.json`, written last, which says what the index is of and what its files must hold.
"""

import hashlib
import io
import json
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexes.cache import write_atomic, write_error, write_new
from indexes.encoders.protocol import PageEmbedding
from indexes.errors import InputError

FORMAT = 3
FULL = np.float32(65535)
MANIFEST = "manifest.json"
PROJECTION = "projection.npy"
MOST_POOLED = 64
LONGEST = 1.01  # a vector of length 1 as it is kept, rounded to 16 bits
KINDS = ("vectors", "pooled")


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How vectors are kept.

    Attributes:
        dim: multi-vectors are projected to this many dimensions, if they have more.
        bits: 4, 8 or 16 a dimension of a multi-vector; None: 8 up to 192 dimensions, else 4, so that a
            vector takes at most 192 bytes. Pooled vectors always have 16 and all their dimensions.
        pool_factor: of the similar multi-vectors of a page, one is kept for about so many; 1 keeps all.
    """

    dim: int = 384
    bits: int | None = None
    pool_factor: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.pool_factor <= MOST_POOLED:
            raise InputError(f"pool_factor {self.pool_factor}: expected 1 to {MOST_POOLED}")

    def bits_for(self, dim: int) -> int:
        """How many bits a dimension of vectors of so many dimensions has."""
        return self.bits or (8 if min(dim, self.dim) <= 192 else 4)


class MismatchError(Exception):
    """An index on disk is not what is asked for, or not whole: the message says why."""


@dataclass(frozen=True, slots=True)
class Part:
    """The vectors of consecutive pages: float16 vectors, 16-bit boxes and how many of each a page has."""

    arrays: Mapping[str, NDArray[Any]]

    @property
    def pages(self) -> int:
        """How many pages it holds."""
        return len(self.arrays["vectors_counts"])


def part_of(embeddings: Iterable[PageEmbedding]) -> Part:
    """Packs the embeddings of consecutive pages.

    Raises:
        ValueError: a vector is longer than 1, or not of numbers.
    """
    pages = list(embeddings)
    arrays: dict[str, NDArray[Any]] = {}
    for kind in KINDS:
        boxes = "boxes" if kind == "vectors" else "pooled_boxes"
        vectors = np.concatenate([getattr(p, kind) for p in pages])
        longest = float(np.linalg.norm(vectors, axis=1).max(initial=0))
        if not longest <= LONGEST:
            raise ValueError(f"{kind} of {pages[0].ref} and after: one has length {longest}, expected 1")
        arrays[kind] = vectors.astype(np.float16)
        packed = np.concatenate([getattr(p, boxes) for p in pages])
        arrays[f"{kind}_boxes"] = np.rint(packed * FULL).astype(np.uint16)
        arrays[f"{kind}_counts"] = np.array([len(getattr(p, kind)) for p in pages], np.int64)
    return Part(arrays)


def save_part(path: Path, part: Part) -> None:
    """Writes a part so that it is whole or absent."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **dict(part.arrays))
    write_atomic(path, buffer.getvalue())


def load_part(path: Path, pages: int) -> Part | None:
    """Reads a part of so many pages; None where there is none that can be trusted."""
    import zipfile

    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            part = Part({name: file[name] for kind in KINDS for name in _names(kind)})
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return part if part.pages == pages else None


def _names(kind: str) -> tuple[str, str, str]:
    return kind, f"{kind}_boxes", f"{kind}_counts"


def write_index(folder: Path, parts: Callable[[], Iterator[Part]], about: Mapping[str, Any]) -> None:
    """Writes an index's files into an empty folder, the manifest last.

    Args:
        folder: where to.
        parts: gives the parts from the first page on, each time it is called; one is in memory at a time.
        about: what the manifest must say besides: the document, the encoder, `settings`.

    Raises:
        InputError: the disk is full or the folder cannot be written.
    """
    settings = IndexSettings(**about["settings"])
    counts: dict[str, int] = {}
    for kind in KINDS:
        full = next(parts()).arrays[kind].shape[1]
        bits = settings.bits_for(full) if kind == "vectors" else 16
        projection = None
        # Four bits need it too: along principal axes the vectors fill the ranges that the bits divide.
        if kind == "vectors" and (settings.dim < full or bits == 4):
            projection = projection_of((part.arrays[kind] for part in parts()), min(full, settings.dim))
            _save_array(folder / PROJECTION, projection)
        index = _empty_index(parts, kind, bits, projection)
        boxes: list[NDArray[np.uint16]] = []
        sizes: list[NDArray[np.int64]] = []
        for part in parts():
            vectors = project(part.arrays[kind], projection)
            index.add(to_bfloat16(vectors) if bits == 16 and kind == "vectors" else vectors)
            boxes.append(part.arrays[f"{kind}_boxes"])
            sizes.append(part.arrays[f"{kind}_counts"])
        save_faiss(folder / f"{kind}.faiss", index)
        _save_array(folder / f"{kind}_boxes.npy", np.concatenate(boxes))
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
        _save_array(folder / f"{kind}_offsets.npy", offsets)
        counts[kind] = index.ntotal
    said = {"format": FORMAT, "versions": versions(), "counts": counts, "files": files_of(folder)}
    manifest = {**about, **said}
    write_atomic(folder / MANIFEST, json.dumps(manifest, indent=1, sort_keys=True).encode())


def _save_array(path: Path, array: NDArray[Any]) -> None:
    buffer = io.BytesIO()  # NumPy says too little about a disk that is full
    np.save(buffer, array, allow_pickle=False)
    write_new(path, buffer.getvalue())


def save_faiss(path: Path, index: Any) -> None:
    """Writes a FAISS index to a file that nobody else knows of yet.

    Raises:
        InputError: the disk is full or the folder cannot be written.
    """
    import faiss

    library: Any = faiss
    try:
        with path.open("wb") as file:  # FAISS does not notice when closing its own fails
            library.write_index(index, library.PyCallbackIOWriter(file.write))
    except OSError as error:
        raise write_error(path, error) from error


def _empty_index(
    parts: Callable[[], Iterator[Part]], kind: str, bits: int, projection: NDArray[np.float32] | None
) -> Any:
    import faiss

    quantizer = faiss.ScalarQuantizer
    # The upper half of a float32 is what `indexes.scan` reads at the speed of memory.
    half = quantizer.QT_bf16 if kind == "vectors" else quantizer.QT_fp16
    types = {4: quantizer.QT_4bit, 8: quantizer.QT_8bit, 16: half}
    dim = next(parts()).arrays[kind].shape[1] if projection is None else len(projection)
    index: Any = faiss.IndexScalarQuantizer(dim, types[bits], faiss.METRIC_INNER_PRODUCT)
    if bits == 16:
        return index
    # The quantizer learns each dimension's range: two rows tell it, whatever the document's length.
    low, high = np.full(dim, 1, np.float32), np.full(dim, -1, np.float32)
    for part in parts():
        vectors = project(part.arrays[kind], projection)
        low = np.minimum(low, vectors.min(axis=0, initial=1))
        high = np.maximum(high, vectors.max(axis=0, initial=-1))
    index.train(np.stack([low, high]))
    return index


def project(vectors: NDArray[Any], projection: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """Vectors `(n, full)` in the index's dimensions: `(n, dim)`, as they are where there is no projection."""
    single = np.ascontiguousarray(vectors, np.float32)
    if projection is None:
        return single
    result: NDArray[np.float32] = single @ projection.T
    return result


def to_bfloat16(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The nearest numbers that a bfloat16 can hold, ties to even.

    FAISS rounds ties up in size: of what has been a float16 every eighth number is one, and all similarities
    would come out too large.
    """
    bits = np.ascontiguousarray(vectors, np.float32).view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    return ((bits + np.uint32(0x7FFF) + odd) & np.uint32(0xFFFF0000)).view(np.float32)


def projection_of(arrays: Iterable[NDArray[Any]], dim: int) -> NDArray[np.float32]:
    """The `(dim, full)` projection that keeps the most of the inner products of all vectors `(n, full)`.

    Its rows are the first eigenvectors of the second moment (not centred: inner products are to be kept),
    each with its largest entry positive, so that the same vectors give the same projection.
    """
    moment: NDArray[np.float64] | None = None
    for array in arrays:
        vectors = array.astype(np.float32)
        product = (vectors.T @ vectors).astype(np.float64)
        moment = product if moment is None else moment + product
    if moment is None:
        raise ValueError("no vectors to find a projection of")
    axes = np.linalg.eigh(moment)[1][:, ::-1][:, :dim].T
    signs = np.sign(axes[np.arange(dim), np.abs(axes).argmax(axis=1)])
    return np.ascontiguousarray(axes * signs[:, None], dtype=np.float32)


def check_index(folder: Path, about: Mapping[str, Any], *, checksums: bool = True) -> dict[str, Any]:
    """Reads the manifest of an index on disk and checks its files against it.

    Args:
        folder: where the index lies.
        about: what the manifest must say; what it is not asked for may be anything.
        checksums: whether files are read through; else only their sizes are compared.

    Returns:
        The manifest.

    Raises:
        MismatchError: there is no index, it is of something else, or a file is missing or damaged.
    """
    manifest = read_manifest(folder)
    expected = {**json.loads(json.dumps(about)), "format": FORMAT}
    for key, value in expected.items():
        if manifest.get(key) != value:
            raise MismatchError(f"{key} is {manifest.get(key)!r}, expected {value!r}")
    names = {f"{kind}{end}" for kind in KINDS for end in (".faiss", "_boxes.npy", "_offsets.npy")}
    files = manifest.get("files")
    if not isinstance(files, dict) or not names <= set(files) <= names | {PROJECTION}:
        raise MismatchError("the manifest does not list the files of an index")
    check_files(folder, files, checksums)
    return manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest in a folder.

    Raises:
        MismatchError: there is none, or it is no JSON object.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except FileNotFoundError as error:
        raise MismatchError("there is no manifest") from error
    except (OSError, ValueError, RecursionError) as error:
        raise MismatchError(f"the manifest cannot be read ({error})") from error
    if not isinstance(manifest, dict):
        raise MismatchError("the manifest is no object")
    return manifest


def check_files(folder: Path, files: Mapping[str, Any], checksums: bool = True) -> None:
    """Checks files against what a manifest says of them (see `files_of`).

    Raises:
        MismatchError: one is missing or damaged.
    """
    for name, told in files.items():
        path = folder / name
        if not path.is_file():
            raise MismatchError(f"{name} is missing")
        if not isinstance(told, dict) or path.stat().st_size != told.get("bytes"):
            raise MismatchError(f"{name} is damaged")
        if checksums and _sha256(path) != told.get("sha256"):
            raise MismatchError(f"{name} is damaged")


def files_of(folder: Path) -> dict[str, Any]:
    """The files in a folder with their sizes and checksums, as a manifest lists them."""
    return {p.name: {"bytes": p.stat().st_size, "sha256": _sha256(p)} for p in sorted(folder.iterdir())}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions() -> dict[str, str]:
    """What had a part in an index; other versions are no reason to refuse it."""
    packages = ("colpali-engine", "faiss-cpu", "numpy", "onnxruntime", "pymupdf", "torch", "transformers")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def settings_dict(settings: IndexSettings) -> dict[str, Any]:
    """The settings as they stand in a manifest: the pool factor only where it is not 1."""
    kept = asdict(settings)
    if settings.pool_factor == 1:
        del kept["pool_factor"]
    return kept
