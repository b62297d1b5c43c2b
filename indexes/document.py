"""A document as everything else sees it: pages with words and layout blocks, from a PDF or page images."""

import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from indexes import layout, ocr
from indexes.cache import cache_root, digest, entry, lock, read_json, remove_dir, write_json
from indexes.errors import InputError
from indexes.files import Files, content_hash, find_files
from indexes.page_store import PageStore
from indexes.progress import bar
from indexes.reading import Job, read_document, read_meta
from indexes.types import OutlineEntry, Page
from indexes.workers import WorkerPool

if TYPE_CHECKING:
    from PIL.Image import Image

# what makes pages: when one of these changes, documents are read again
RULES = (
    "blocks",
    "columns",
    "extract",
    "labels",
    "lines",
    "ocr_page",
    "page_store",
    "reading",
    "rows",
    "source",
    "tables",
)


class Document:
    """An open document; use it in a `with` statement, or call `close`.

    Attributes:
        path: the file or folder.
        doc_id: what it was opened as, else the file's stem or the folder's name.
        sha256: of the content.
        outline: the PDF's table of contents; entries that lead nowhere are left out.
        warning: what was wrong with the file although it could be opened, or an empty text.
    """

    def __init__(self, files: Files, sha256: str, options: dict[str, Any]) -> None:
        self.path = files.path
        self.doc_id = str(options["doc_id"] or files.doc_id)
        self.sha256 = sha256
        self._quiet = bool(options["quiet"])
        self._ocr = bool(options["ocr"])
        self._task = {
            "path": str(files.path),
            "images": [str(image) for image in files.images],
            "password": options["password"],
            "stamp": files.stamp,
        }
        self._pool = WorkerPool(min(2, os.cpu_count() or 1))
        self._store: PageStore | None = None
        self._meta: dict[str, Any] = {}
        self._layout_failed: dict[int, str] = {}
        try:
            self._info = self._survey()
        except BaseException:
            self.close()
            raise
        self._count = int(self._info["pages"])
        self.warning = str(self._info["warning"])
        self.outline = _outline(self._info["outline"], self._count)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        password: str | None = None,
        ocr: bool = True,
        quiet: bool = True,
        doc_id: str | None = None,
    ) -> "Document":
        """Opens a PDF, a page image or a folder of page images.

        Args:
            path: what to open; images of a folder come in natural order (`p_2` before `p_10`).
            password: of an encrypted PDF.
            ocr: read pages that have no text layer.
            quiet: no progress bars on stderr.
            doc_id: what its pages' refs call it, where the file's stem is not enough.

        Raises:
            InputError: nothing is there, or it cannot be read as a document.
        """
        cache_root()
        files = find_files(path)
        options = {"password": password, "ocr": ocr, "quiet": quiet, "doc_id": doc_id}
        return cls(files, content_hash(files), options)

    def __len__(self) -> int:
        return self._count

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the worker processes."""
        self._pool.close()

    @property
    def key(self) -> str:
        """A digest of the words and blocks of all pages. Reads the document."""
        self._read()
        return str(self._meta["words"])

    @property
    def labels(self) -> tuple[str | None, ...]:
        """Every page's label: the PDF's, else the number printed on it, else None. Reads the document."""
        self._read()
        return tuple(self._meta["labels"])

    @property
    def failed(self) -> dict[int, str]:
        """Pages that could not be read, and why. Reads the document."""
        self._read()
        return {**self._layout_failed, **{int(page): str(why) for page, why in self._meta["failed"]}}

    @property
    def ocred(self) -> tuple[int, ...]:
        """Pages whose words come from OCR. Reads the document."""
        self._read()
        return tuple(self._meta["ocred"])

    def page(self, number: int) -> Page:
        """A page, 1-based. The first call reads the whole document unless the cache has it.

        Raises:
            ValueError: there is no such page.
        """
        self._check(number)
        return self._read().page(number)

    def pages(self, numbers: Sequence[int] | None = None) -> Iterator[Page]:
        """Pages in order, a few in memory at a time; pages that failed come without words."""
        wanted = range(1, self._count + 1) if numbers is None else sorted(set(numbers))
        for number in wanted:
            yield self.page(number)

    def layout(self, numbers: Sequence[int]) -> dict[int, Page]:
        """Pages with the layout model's blocks, table cells and captions, over the same words.

        A page that the model fails on keeps its blocks by rules; `failed` says so.

        Raises:
            ValueError: there is no such page.
        """
        wanted = list(dict.fromkeys(numbers))
        pages = {number: self.page(number) for number in wanted}
        folder = entry(
            "layout", digest(self.sha256, self._secret, layout.settings_digest(), ocr.settings_digest())
        )
        files = {number: folder / f"{number:05d}.json" for number in wanted}
        missing = [n for n in wanted if len(pages[n].words) and read_json(files[n]) is None]
        with bar(len(missing), "layout", "page", self._quiet or not missing) as progress:
            for reply in self._pool.run(self._layout_task(pages[n]) for n in missing):
                number = reply.task["page"]
                if reply.status == "done":
                    write_json(files[number], reply.value["regions"])
                else:
                    self._layout_failed[number] = f"layout: {reply.message}"
                progress.update(1)
        return {n: self._with_layout(page, files[n]) for n, page in pages.items()}

    def prepare_layout(self) -> None:
        """Loads the layout model in a worker meanwhile: it takes a second that other work can fill."""
        self._pool.prepare("layout")

    def _layout_task(self, page: Page) -> dict[str, Any]:
        file = self._ocr_folder / f"{page.ref.page:05d}.json"
        return {
            "operation": "layout",
            "document": self._task,
            "page": page.ref.page,
            "ocr_file": str(file) if page.ocr else None,
        }

    def _with_layout(self, page: Page, file: Path) -> Page:
        regions = read_json(file)
        return layout.with_regions(page, layout.read_regions(regions)) if regions else page

    def render(self, number: int, dpi: float = 144) -> "Image":
        """A page as an RGB image, as seen; huge pages at fewer DPI than asked for.

        Raises:
            ValueError: there is no such page, or it cannot be rendered.
        """
        from PIL import Image

        self._check(number)
        reply = self._pool.call({"operation": "render", "document": self._task, "page": number, "dpi": dpi})
        if reply.status != "done":
            raise ValueError(f"page {number} of {self.path.name}: cannot be rendered: {reply.message}")
        width, height = reply.value["size"]
        return Image.frombytes("RGB", (width, height), reply.data)

    def marked_copy(self, pages: Sequence[dict[str, Any]]) -> bytes:
        """A PDF of some pages with highlights and notes, as `indexes.marking.marked_copy` describes them.

        Raises:
            ValueError: a page cannot be copied.
        """
        reply = self._pool.call({"operation": "mark", "document": self._task, "pages": list(pages)})
        if reply.status != "done":
            raise ValueError(f"{self.path.name}: its pages cannot be copied: {reply.message}")
        return reply.data

    def _check(self, number: int) -> None:
        if not 1 <= number <= self._count:
            raise ValueError(f"page {number} of {self.path.name}: the document has {self._count} pages")

    def _key(self, *more: object) -> str:
        return digest(_rules_digest(), self.sha256, *more)

    @property
    def _ocr_folder(self) -> Path:
        return entry("ocr", digest(self.sha256, self._secret, ocr.settings_digest()))

    def _survey(self) -> dict[str, Any]:
        """Page count, outline and labels, from the cache or a worker."""
        passwords = [""] if not self._task["password"] else ["", self._task["password"]]
        for password in passwords:
            file = entry("survey", self._key(password))
            found = read_json(file)
            if found is not None:
                self._secret = password
                return dict(found)
        reply = self._pool.call({"operation": "survey", "document": self._task})
        if reply.status != "done":
            raise InputError(f"{self.path}: cannot be opened: {reply.message}")
        self._secret = passwords[-1] if reply.value["encrypted"] else ""
        write_json(entry("survey", self._key(self._secret)), reply.value)
        return reply.value

    def _read(self) -> PageStore:
        """The store of finished pages; reads the document where the cache does not have it."""
        if self._store is None:
            final = entry("pages", self._key(self._secret, self._ocr))
            meta = read_meta(final)
            if meta is None:
                with lock(final):
                    meta = read_meta(final)
                    if meta is None:
                        remove_dir(final)  # what is there, if anything, is damaged
                        read_document(self._job(), self._pool, final)
                        meta = read_meta(final)
            if meta is None:
                raise InputError(f"cache entry {final}: cannot be read back; check the disk")
            self._meta = meta
            self._store = PageStore(final, self.doc_id, int(meta["batch"]), meta["labels"])
        return self._store

    def _job(self) -> Job:
        return Job(
            self._task,
            self.doc_id,
            self._count,
            list(self._info["labels"]),
            self._ocr,
            self._ocr_folder,
            self._quiet,
        )


@functools.cache
def _rules_digest() -> str:
    """Names the code that makes pages, so that pages made by other code are never taken for its own."""
    from importlib.metadata import version

    sources = [Path(__file__).with_name(f"{name}.py").read_bytes().hex() for name in RULES]
    return digest(version("pymupdf"), *sources)


def _outline(entries: Sequence[Sequence[Any]], pages: int) -> tuple[OutlineEntry, ...]:
    """The entries that have a title and lead to a page of the document; levels grow by one at most."""
    outline: list[OutlineEntry] = []
    for level, title, page in entries:
        clean = " ".join(str(title).split())
        if clean and 1 <= page <= pages:
            deepest = outline[-1].level + 1 if outline else 1
            outline.append(OutlineEntry(max(1, min(int(level), deepest)), clean, int(page)))
    return tuple(outline)
