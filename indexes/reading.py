"""Reading a whole document once: workers read its pages, rules divide them, the cache keeps them."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indexes import raw
from indexes.blocks import build_blocks
from indexes.cache import publish_dir, read_json, scratch_dir, write_json, write_new
from indexes.labels import choose_labels, printed_candidates
from indexes.lines import DocStats, Line, document_stats, edge_lines, page_lines, signature
from indexes.ocr_page import page_from_lines
from indexes.page_store import batch_name, dump_pages
from indexes.progress import bar
from indexes.raw import RawPage
from indexes.types import Page, PageRef, Words
from indexes.workers import Reply, WorkerPool

META = "meta.json"
BATCH = 16  # pages a batch: what is in memory at once, and what a worker is given at a time


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be read.

    Attributes:
        document: how workers open it.
        doc_id: for the pages' refs.
        pages: how many there are.
        labels: the PDF's own page labels, or none.
        ocr: read pages without a text layer.
        ocr_folder: where OCR results are kept.
        quiet: no progress bars.
    """

    document: dict[str, Any]
    doc_id: str
    pages: int
    labels: list[str]
    ocr: bool
    ocr_folder: Path
    quiet: bool


def read_document(job: Job, pool: WorkerPool, final: Path) -> None:
    """Reads all pages and publishes them as the folder `final`, complete or not at all."""
    with scratch_dir(final) as folder:
        failed: dict[int, str] = {}
        _extract(job, pool, folder, failed)
        if job.ocr:
            _ocr(job, pool, folder, failed)
        stats, labels, ocred = _look(job, folder)
        meta = {
            "words": _finish(job, folder, stats, labels),
            "labels": labels,
            "failed": sorted(failed.items()),
            "ocred": ocred,
            "batch": BATCH,
        }
        write_json(folder / META, meta)
        publish_dir(folder, final)


def read_meta(folder: Path) -> dict[str, Any] | None:
    """What `read_document` published; None where nothing is, or batches and their digest do not agree.

    Returns:
        `words` (a digest of the batches), `labels`, `failed`, `ocred` and `batch` (pages a batch).
    """
    meta: dict[str, Any] | None = read_json(folder / META)
    if meta is None:
        return None
    whole = hashlib.sha256()
    try:
        for at in range(-(-len(meta["labels"]) // meta["batch"])):
            whole.update((folder / batch_name(at)).read_bytes())
    except OSError:
        return None
    return meta if whole.hexdigest() == meta["words"] else None


def _raw_name(at: int) -> str:
    return f"raw-{at:05d}.npz"


def _extract(job: Job, pool: WorkerPool, folder: Path, failed: dict[int, str]) -> None:
    """Text layers of all pages, batch by batch, into `folder`."""
    numbers = list(range(1, job.pages + 1))
    batches = [numbers[i : i + BATCH] for i in range(0, len(numbers), BATCH)]
    tasks = [_task(job, "extract", pages=batch) for batch in batches]
    with bar(job.pages, "reading pages", "page", job.quiet) as progress:
        for reply in pool.run(tasks):
            pages = reply.task["pages"]
            data = reply.data if reply.status == "done" else _one_by_one(job, pool, reply, failed)
            failed.update({int(page): why for page, why in reply.value.get("failed", {}).items()})
            write_new(folder / _raw_name((pages[0] - 1) // BATCH), data)
            progress.update(len(pages))


def _ocr(job: Job, pool: WorkerPool, folder: Path, failed: dict[int, str]) -> None:
    """OCR of the pages that need it, each kept as it is done, so that a kill loses a page at most."""
    wanted = [page.number for batch in _raw_pages(job, folder) for page in batch if page.needs_ocr]
    if not wanted:
        return
    files = {number: job.ocr_folder / f"{number:05d}.json" for number in wanted}
    missing = [number for number in wanted if _ocr_lines(files[number]) is None]
    with bar(len(wanted), "reading scans", "page", job.quiet) as progress:
        progress.update(len(wanted) - len(missing))
        for reply in pool.run(_task(job, "ocr", page=n, out=str(files[n])) for n in missing):
            if reply.status != "done":
                failed[reply.task["page"]] = f"OCR: {reply.message}"
            progress.update(1)
    for at, batch in enumerate(_raw_pages(job, folder)):
        if any(page.needs_ocr for page in batch):
            pages = [_with_ocr(page, files.get(page.number)) for page in batch]
            write_new(folder / _raw_name(at), raw.dump(pages))
    if missing:
        pool.close()  # the OCR's models need not stay in memory


def _with_ocr(page: RawPage, file: Path | None) -> RawPage:
    lines = None if file is None else _ocr_lines(file)
    return page if lines is None else page_from_lines(page, lines)


def _ocr_lines(file: Path) -> list[dict[str, Any]] | None:
    """What OCR read on a page; None where there is no such file or it is damaged."""
    kept = read_json(file)
    return None if kept is None else list(kept["lines"])


def _task(job: Job, operation: str, **more: Any) -> dict[str, Any]:
    return {"operation": operation, "document": job.document, **more}


def _one_by_one(job: Job, pool: WorkerPool, reply: Reply, failed: dict[int, str]) -> bytes:
    """A batch whose worker died, page by page, so that only the page at fault is lost."""
    pages: list[RawPage] = []
    single = WorkerPool(1, pool.timeout, pool.module)
    try:
        for number in reply.task["pages"]:
            again = single.call(_task(job, "extract", pages=[number]))
            if again.status == "done":
                failed.update({int(page): why for page, why in again.value["failed"].items()})
                pages.extend(raw.load(again.data))
            else:
                failed[number] = again.message
                pages.append(RawPage.empty(number))
    finally:
        single.close()
    return raw.dump(pages)


def _raw_pages(job: Job, folder: Path) -> Iterator[list[RawPage]]:
    for at in range(-(-job.pages // BATCH)):
        yield raw.load((folder / _raw_name(at)).read_bytes())


def _look(job: Job, folder: Path) -> tuple[DocStats, list[str | None], list[int]]:
    """What only the whole document tells: its body size, running lines, page labels."""
    sizes: Counter[float] = Counter()
    edges: list[list[str]] = []
    printed: list[list[tuple[str, str, int]]] = []
    ocred: list[int] = []
    for batch in _raw_pages(job, folder):
        for page in batch:
            lines = page_lines(page)
            at_edge: list[Line] = edge_lines(lines)
            for line in lines:
                sizes[round(line.size * 2) / 2] += len(line.text)
            edges.append([signature(line.text) for line in at_edge])
            printed.append(printed_candidates(at_edge))
            if page.ocr:
                ocred.append(page.number)
    return document_stats(sizes, edges), choose_labels(job.pages, job.labels, printed), ocred


def _finish(job: Job, folder: Path, stats: DocStats, labels: list[str | None]) -> str:
    """Divides the pages into blocks and keeps them; returns a digest of all words and blocks."""
    whole = hashlib.sha256()
    for at, batch in enumerate(_raw_pages(job, folder)):
        pages = [
            Page(
                PageRef(job.doc_id, page.number),
                labels[page.number - 1],
                page.size,
                Words(page.texts, page.boxes, page.lines),
                build_blocks(page, stats),
                page.ocr,
            )
            for page in batch
        ]
        data = dump_pages(pages)
        whole.update(data)
        write_new(folder / batch_name(at), data)
        (folder / _raw_name(at)).unlink()
    return whole.hexdigest()
