"""What a benchmark's loader yields: one `Question` type, whatever the source looks like.

Page bases and boxes are converted by the loaders and nowhere else: pages are 1-based physical pages, boxes
normalized. A row that is broken is kept, with what is wrong with it in `problems`, so that it can be counted.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from indexes.files import document_id
from indexes.types import BBox, PageRef


@dataclass(frozen=True, slots=True)
class GoldRegion:
    """A place on a page that holds evidence.

    Attributes:
        id: the benchmark's own name of it, unique within the question.
        element_type: what stands there (table, text, figure ...), in the benchmark's words; may be empty.
    """

    id: str
    ref: PageRef
    bbox: BBox
    element_type: str = ""


@dataclass(frozen=True, slots=True)
class GoldFact:
    """A statement that the answer rests on; `region` is the id of the gold region it was read from."""

    id: str
    region: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a benchmark with its gold answer.

    Attributes:
        id: unique within the benchmark and stable between runs.
        documents: what it asks about, at least one: PDFs, folders of page images, or patterns of page images
            in a folder (`4055915_*.png`); `indexes.document.Document.open` opens each.
        answer: the gold answer as the benchmark writes it; a list is written as a Python literal.
        answer_format: the benchmark's own name of the format; empty where it has none.
        gold_pages: the pages that hold the evidence, sorted, without repetition.
        answerable: False where the benchmark says that the documents do not tell.
        slices: the breakdowns the benchmark reports, name to values.
        problems: what is wrong with the row, one line each; empty for a sound row.
        split: the benchmark's name of the part it belongs to; empty where it has no parts.
        row: the row as published, for exports in the benchmark's own format.
    """

    id: str
    question: str
    documents: tuple[Path, ...]
    answer: str
    answer_format: str
    gold_pages: tuple[PageRef, ...]
    answerable: bool
    slices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    gold_regions: tuple[GoldRegion, ...] = ()
    gold_facts: tuple[GoldFact, ...] = ()
    split: str = ""
    row: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def pages_in(self, document: Path | None = None) -> tuple[int, ...]:
        """The gold pages that lie in `document` (the first one if none is named), sorted."""
        wanted = document_id(self.documents[0] if document is None else document)
        return tuple(ref.page for ref in self.gold_pages if ref.doc_id == wanted)

    def document_of(self, page: PageRef) -> Path:
        """The document that a page is of.

        Raises:
            ValueError: none of the question's is.
        """
        for path in self.documents:
            if document_id(path) == page.doc_id:
                return path
        raise ValueError(f"page {page.page} of {page.doc_id}: the question {self.id} is not about it")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a benchmark's files lie: `data` as `--data` names it, `pdfs` the folder of its documents."""

    data: Path
    pdfs: Path


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark: how it is loaded and what must be on disk for it.

    Attributes:
        title: its name in a table.
        read: yields its questions; raises `InputError` where the files cannot be read.
        files: its question files, in the order in which they are looked for.
        folder: where its documents lie within `data`.
        download: one line: what to download and where to put it.
        releases: how many questions its releases have, and what each is called.
    """

    title: str
    read: Callable[[Source], Iterator[Question]]
    files: tuple[str, ...]
    folder: str
    download: str
    releases: Mapping[int, str] = field(default_factory=dict)

    def release(self, questions: int) -> str:
        """Which release so many questions are, empty for none: figures of two releases do not compare."""
        return self.releases.get(questions, "")
