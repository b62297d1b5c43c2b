"""How many pages the documents of a benchmark have, how large they are, and gold pages they do not have.

A document is opened in a worker process, within a time limit, and what is found is cached: what a benchmark
ships may be broken, and must not end the run.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from eval.benchmarks.types import Question
from indexes.cache import digest, entry, read_json, write_json
from indexes.errors import InputError
from indexes.files import Files, document_id, find_files
from indexes.workers import WorkerPool

TIMEOUT = 60.0  # seconds for one document

Size = tuple[float, float]


def page_counts(documents: Iterable[Path]) -> dict[Path, int | str]:
    """Pages by document; for one that cannot be opened the reason. Documents not on disk are left out."""
    found = _measured({path: () for path in documents})
    return {path: known if isinstance(known, str) else int(known["pages"]) for path, known in found.items()}


def page_sizes(wanted: Mapping[Path, Collection[int]]) -> dict[Path, dict[int, Size]]:
    """Sizes in points, as seen, of those of the wanted pages that can be measured."""
    found = _measured(wanted)
    return {
        path: {int(page): (float(width), float(height)) for page, width, height in known["sizes"]}
        for path, known in found.items()
        if not isinstance(known, str)
    }


def _measured(wanted: Mapping[Path, Collection[int]]) -> dict[Path, dict[str, Any] | str]:
    found: dict[Path, dict[str, Any] | str] = {}
    with closing(WorkerPool(1, TIMEOUT)) as pool:
        for path, pages in wanted.items():
            if path.exists() or "*" in path.name:
                try:
                    found[path] = _measure(find_files(path), sorted(pages), pool)
                except InputError as error:
                    found[path] = str(error)
    return found


def _measure(files: Files, pages: Sequence[int], pool: WorkerPool) -> dict[str, Any]:
    if files.images and not pages:
        return {"pages": len(files.images), "sizes": []}
    kept = entry("measured", digest(files.path, files.stamp, *pages))
    known: dict[str, Any] | None = read_json(kept)
    if known is None:
        images = [str(image) for image in files.images]
        document = {"path": str(files.path), "images": images, "password": "", "stamp": files.stamp}
        reply = pool.call({"operation": "measure", "document": document, "pages": list(pages)})
        if reply.status != "done":
            raise InputError(f"{files.path}: cannot be opened: {reply.message}")
        known = reply.value
        write_json(kept, known)
    return known


def page_count_problems(questions: Sequence[Question]) -> list[tuple[str, ...]]:
    """For every question, what its documents' page counts say against it: no such page, or no document."""
    counts = page_counts(path for question in questions for path in question.documents)
    problems = []
    for question in questions:
        found: list[str] = []
        for path in question.documents:
            count = counts.get(path)
            if isinstance(count, str):
                found.append(count)
            elif count is not None:
                beyond = [page for page in question.pages_in(path) if page > count]
                found.extend(f"gold page {page}: {document_id(path)} has {count} pages" for page in beyond)
        problems.append(tuple(found))
    return problems
