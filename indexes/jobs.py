"""Indexing many documents: what is to be done, and the work on one of them, here or on another machine."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from indexes.corpus import Corpus, CorpusDocument
from indexes.documents import Named
from indexes.encoders.protocol import ImageEncoder, PageEncoder
from indexes.errors import InputError


@dataclass(frozen=True, slots=True)
class Reading:
    """How documents are opened."""

    password: str | None = None
    ocr: bool = True
    quiet: bool = True


@dataclass(frozen=True, slots=True)
class Job:
    """A document to be indexed.

    Attributes:
        root: the folder that its index goes into; None: the cache.
        copies: other files with the same content.
    """

    path: Path
    doc_id: str
    sha256: str
    pages: int
    reading: Reading
    root: Path | None = None
    copies: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Built:
    """What came of a job.

    Attributes:
        folder: of the index.
        size: bytes of the index.
        unread: how many pages could not be read.
        fresh: False where the index was there already.
    """

    folder: Path
    vectors: int
    size: int
    unread: int
    fresh: bool


@dataclass(slots=True)
class Plan:
    """What is to be done, in order, and one line for each document that cannot be, or is damaged."""

    jobs: list[Job]
    wrong: list[str]
    damaged: list[str]


def plan(documents: Sequence[Named], reading: Reading, root: Path | None, seen: Callable[[], object]) -> Plan:
    """Looks at documents; each content becomes one job.

    Args:
        documents: what to look at.
        reading: how they are opened.
        root: the folder that their indexes go into; None: the cache.
        seen: is called after each document.
    """
    from indexes.document import Document

    jobs: dict[str, Job] = {}
    wrong: list[str] = []
    damaged: list[str] = []
    for named in documents:
        try:
            with Document.open(
                named.path, password=reading.password, ocr=reading.ocr, doc_id=named.doc_id
            ) as doc:
                job = jobs.setdefault(
                    doc.sha256, Job(named.path, named.doc_id, doc.sha256, len(doc), reading, root)
                )
                if job.path != named.path:
                    jobs[doc.sha256] = replace(job, copies=(*job.copies, named.path))
                elif doc.warning:
                    damaged.append(f"{named.path}: {doc.warning}")
        except InputError as error:
            wrong.append(str(error))
        seen()
    return Plan(list(jobs.values()), wrong, damaged)


def index_document(encoder: PageEncoder, job: Job, progress: Callable[[int], object] | None = None) -> Built:
    """Indexes a document, going on where a killed process stopped.

    Args:
        encoder: what embeds its pages.
        job: the document.
        progress: is called with how many pages are done, as they are.

    Raises:
        InputError: it changed since it was looked at, or the disk is full.
    """
    from indexes.document import Document
    from indexes.index import PageIndex

    done = 0

    def count(pages: int) -> None:
        nonlocal done
        done += pages
        if progress is not None:
            progress(pages)

    reading = job.reading
    with Document.open(
        job.path, password=reading.password, ocr=reading.ocr, quiet=reading.quiet, doc_id=job.doc_id
    ) as doc:
        if doc.sha256 != job.sha256:
            raise InputError(f"{job.path}: changed while it was indexed; run the command again")
        index = PageIndex.open_or_build(doc, encoder, root=job.root, progress=count)
        size = sum(file["bytes"] for file in index.manifest["files"].values())
        if not done:  # a process was killed after it published the index and before it tidied up
            shutil.rmtree(index.folder.with_name(f"{index.folder.name}.parts"), ignore_errors=True)
        # A corpus holds vectors alone: for an encoder of images nobody need read the words now.
        words = job.root is None or not isinstance(encoder, ImageEncoder)
        unread = len(doc.failed) if done and words else 0
        return Built(index.folder, index.manifest["counts"]["vectors"], size, unread, done > 0)


def describe(encoder: PageEncoder, ocr: bool) -> dict[str, Any]:
    """What a corpus's manifest says of its encoder and settings."""
    from indexes.index import default_settings
    from indexes.vectors import settings_dict

    return {
        "encoder": {"encoder": encoder.name, "revision": encoder.revision},
        "settings": {**settings_dict(default_settings(encoder)), "ocr": ocr},
    }


def record(corpus: Corpus, job: Job, built: Built, jobs: Sequence[Job]) -> None:
    """Enters a document into a corpus's manifest.

    One whose content the corpus has under another name is a copy of that, or that file moved.
    """
    others = {other.doc_id for other in jobs if other is not job}
    old = next((d for d in corpus.documents.values() if d.sha256 == job.sha256), None)
    if old is not None and old.doc_id in others:  # the file of that name has another content now
        old = None
    source, doc_id = corpus.source_of(job.path), job.doc_id
    copies = {corpus.source_of(path) for path in job.copies}
    if old is not None:
        doc_id = old.doc_id
        copies |= set(old.copies)
        if old.source != source and corpus.path_of(old.source).exists():
            copies.add(source)
            source = old.source
    folder = built.folder.relative_to(corpus.folder.absolute()).as_posix()
    kept = tuple(sorted(copies - {source}))
    corpus.put(CorpusDocument(doc_id, source, job.sha256, job.pages, folder, kept))
