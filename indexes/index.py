"""The index of a document: its pages' vectors on disk, for late interaction and single-vector search."""

import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from indexes.cache import digest, entry, lock, publish_dir, remove_scratch, scratch_dir
from indexes.embedding import embed_pages
from indexes.encoders.protocol import ImageEncoder, PageEncoder, QueryEmbedding
from indexes.errors import InputError
from indexes.maxsim import total
from indexes.pooling import pooled_page
from indexes.progress import bar
from indexes.regions import PageMatch
from indexes.search import Method, search
from indexes.store import Store, ceilings_of
from indexes.types import PageRef
from indexes.vectors import (
    IndexSettings,
    MismatchError,
    Part,
    check_index,
    load_part,
    part_of,
    save_part,
    settings_dict,
    write_index,
)

if TYPE_CHECKING:
    from indexes.document import Document
    from indexes.ivf import Ivf

Floats = NDArray[np.float32]
Progress = Callable[[int], object]
PART_PAGES = 16  # at most: an encoder that takes fewer at a time loses no more in a kill

_log = logging.getLogger(__name__)


class PageIndex:
    """The index of one document by one encoder, memory-mapped.

    Attributes:
        folder: where it lies.
        refs: the document's pages in order; scores come in the same order.
        manifest: what the index is of: document, encoder, settings, versions, counts, files.
        ivf: what finds likely pages, if it was built and set here (see `indexes.ivf`).

    Raises:
        MismatchError: its files do not belong together.
    """

    def __init__(self, folder: Path, refs: Sequence[PageRef], manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.refs = tuple(refs)
        self.manifest = manifest
        self.ivf: Ivf | None = None
        self.store = Store(folder, "vectors")
        self._pooled = Store(folder, "pooled")
        if not len(self.store.offsets) == len(self._pooled.offsets) == len(self.refs) + 1:
            raise MismatchError(f"its offsets are not those of {len(self.refs)} pages")
        self._rows = {ref: i for i, ref in enumerate(self.refs)}

    @classmethod
    def open_or_build(
        cls,
        doc: "Document",
        encoder: PageEncoder,
        *,
        quiet: bool = True,
        settings: IndexSettings | None = None,
        root: Path | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Opens the index of a document, building it first where there is none or it does not match.

        Args:
            doc: the document.
            encoder: what embeds its pages.
            quiet: whether no progress bar is shown.
            settings: how its vectors are kept; by default by the encoder.
            root: the folder that the index's folder is in, named by what it is of; by default the cache.
            progress: called with numbers of pages as they are done, instead of a bar; never if none is built.

        Raises:
            InputError: the folder cannot be written.
        """
        settings = settings or default_settings(encoder)
        about = {
            "document": doc.sha256,
            "words": "" if isinstance(encoder, ImageEncoder) else doc.key,
            "pages": len(doc),
            "encoder": encoder.name,
            "revision": encoder.revision,
            "settings": settings_dict(settings),
        }
        key = digest(*about.values())
        folder = entry("index", key) if root is None else root / key
        refs = [PageRef(doc.doc_id, number) for number in range(1, len(doc) + 1)]
        try:
            return cls(folder, refs, check_index(folder, about))
        except MismatchError as reason:
            if folder.exists():
                _log.warning("index of %s: %s; building it again", doc.doc_id, reason)
        with lock(folder):
            try:
                # Another process may have built it meanwhile.
                return cls(folder, refs, check_index(folder, about))
            except MismatchError:
                if not isinstance(encoder, ImageEncoder):
                    _ = doc.labels  # reads the document, with a bar of its own
                with bar(len(doc), "indexing", "page", quiet or progress is not None) as shown:
                    _build(doc, encoder, folder, about, settings, progress or shown.update)
        return cls(folder, refs, check_index(folder, about))

    @classmethod
    def open(cls, folder: Path, refs: Sequence[PageRef] | None = None, *, checksums: bool = True) -> Self:
        """Opens a finished index, without the document.

        Args:
            folder: where it lies.
            refs: what its pages are called; by default by the name that the document had when it was indexed.
            checksums: whether its files are read through and compared with their checksums first; else only
                their sizes are.

        Raises:
            InputError: there is no index, it is damaged, or the refs are not as many as its pages.
        """
        try:
            manifest = check_index(folder, {}, checksums=checksums)
            pages = int(manifest["pages"])
            if refs is None:
                refs = [PageRef(str(manifest["doc_id"]), number) for number in range(1, pages + 1)]
        except MismatchError as reason:
            raise InputError(f"index {folder}: {reason}; build it again") from reason
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"index {folder}: the manifest lacks {error}; build it again") from error
        if len(refs) != pages:
            raise InputError(f"index {folder}: is of {pages} pages, not {len(refs)}")
        try:
            return cls(folder, refs, manifest)
        except MismatchError as reason:
            raise InputError(f"index {folder}: {reason}; build it again") from reason

    def maxsim(self, query: QueryEmbedding) -> Floats:
        """Exact late interaction: `(n_pages,)`, -inf for pages without vectors."""
        return total(self.best_matches(query))

    def best_matches(self, query: QueryEmbedding, rows: Sequence[int] | None = None) -> Floats:
        """Each query vector's highest similarity on each page: `(n_pages, q)`, -inf where it has no vectors.

        With `rows`, only on those pages, given by their places in `refs`.
        """
        return self.store.best_matches(query.vectors, rows)

    def ceilings(self, query: QueryEmbedding, rows: Sequence[int] | None = None) -> Floats | None:
        """What each query vector's highest similarity on each page is not above: `(n_pages, q)`.

        None where it can't be told quickly; -inf for a page without vectors.
        With `rows`, only of those pages, given by their places in `refs`.
        """
        if rows is None:
            return self.store.ceilings(query.vectors)
        return ceilings_of(query.vectors, [(self.store, row) for row in rows])

    def pooled(self, query: QueryEmbedding) -> Floats:
        """The best pooled vector's cosine: `(n_pages,)`, -inf for pages without vectors."""
        return self._pooled.best_matches(query.pooled[None])[:, 0]

    def search(self, query: QueryEmbedding, k: int, method: Method = "auto") -> list[tuple[PageRef, float]]:
        """The `k` best pages by late interaction; see `indexes.search.search`."""
        return search(self, query, k, method)

    def match(self, query: QueryEmbedding, ref: PageRef) -> PageMatch:
        """How a page's vectors match a query, and where on it they stand: its map, its regions."""
        if ref not in self._rows:
            raise ValueError(f"{ref}: the index has {len(self.refs)} pages of {self.refs[0].doc_id}")
        vectors, boxes = self.store.page(self._rows[ref])
        return PageMatch(vectors @ self.store.projected(query.vectors).T, boxes)


def default_settings(encoder: PageEncoder) -> IndexSettings:
    """How vectors are kept where nothing else is asked for."""
    if isinstance(encoder, ImageEncoder):
        return IndexSettings(encoder.dim, bits=16, pool_factor=encoder.pool_factor)
    return IndexSettings()


def _build(
    doc: "Document",
    encoder: PageEncoder,
    folder: Path,
    about: dict[str, Any],
    settings: IndexSettings,
    done: Progress,
) -> None:
    """Builds an index and publishes it as `folder`; parts that a killed build left are used."""
    remove_scratch(folder)
    work = folder.with_name(f"{folder.name}.parts")
    size = min(PART_PAGES, encoder.batch_size) if isinstance(encoder, ImageEncoder) else PART_PAGES
    parts = _usable_parts(work)
    missing = _missing(list(parts), len(doc), size)
    done(len(doc) - sum(len(span) for span in missing))
    for span in missing:
        pages = embed_pages(doc, encoder, span)
        parts[span] = work / f"{span.start:06d}-{span.stop - 1:06d}.npz"
        save_part(parts[span], part_of(pooled_page(page, settings.pool_factor) for page in pages))
        done(len(span))
    ordered = sorted(parts.items(), key=lambda item: item[0].start)
    with scratch_dir(folder) as scratch:
        write_index(scratch, lambda: _parts(ordered), {**about, "doc_id": doc.doc_id})
        shutil.rmtree(folder, ignore_errors=True)  # one that does not match
        publish_dir(scratch, folder)
    shutil.rmtree(work, ignore_errors=True)


def _usable_parts(work: Path) -> dict[range, Path]:
    """The parts that an interrupted build left, whatever batches it worked in; damaged ones are left out."""
    found: dict[range, Path] = {}
    free = 1  # the first page that none of them holds yet
    for path in sorted(work.glob("??????-??????.npz")):
        first, _, last = path.stem.partition("-")
        if not (first.isdigit() and last.isdigit()):
            continue
        span = range(int(first), int(last) + 1)
        if span.start >= free and load_part(path, len(span)) is not None:
            found[span] = path
            free = span.stop
    return found


def _missing(have: Sequence[range], pages: int, size: int) -> list[range]:
    """The pages that no part holds, at most `size` at a time."""
    missing, free = [], 1
    for span in [*have, range(pages + 1, pages + 1)]:
        missing += [range(i, min(i + size, span.start)) for i in range(free, span.start, size)]
        free = span.stop
    return missing


def _parts(ordered: Sequence[tuple[range, Path]]) -> Iterator[Part]:
    for span, path in ordered:
        part = load_part(path, len(span))
        if part is None:
            raise RuntimeError(f"{path}: was written a moment ago and cannot be read")
        yield part
