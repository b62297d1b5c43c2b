"""XL-DocBench: `documents.jsonl`, `qa_single_doc.jsonl`, `qa_cross_doc.jsonl`, `pdfs/<document_id>.pdf`.

PDFs are not shipped: `documents.jsonl` says where each is published. A row, shortened (pages count from 1,
the numbering that the benchmark calls `pdf_index`):

    {"question_id": "adubench_single_000001", "question": "Which ...?",
     "answer": {"value": "12.4", "format": "Float", "verification_rule": "numeric"},
     "document": {"document_id": "doc_0001", "evidence_pages": [12, 340],
                  "evidence_page_numbering": "pdf_index",
                  "evidence_items": [{"pages": [12], "quote": "..."}]},
     "metadata": {"is_unanswerable": false, "domain": "finance", "reasoning_type": "ranking",
                  "evidence_sources": ["table"]}}

A cross-document row has a `documents` array of such objects instead of `document`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.benchmarks.reading import (
    Keys,
    Row,
    document_path,
    page_numbers,
    page_refs,
    read_lines,
    short,
    text_of,
)
from eval.benchmarks.types import Benchmark, Question, Source
from eval.metrics.xldocbench import gold_fits
from indexes.errors import InputError
from indexes.types import PageRef

FILES = ("qa_single_doc.jsonl", "qa_cross_doc.jsonl")
DOCUMENTS = "documents.jsonl"
DOWNLOAD = (
    "download XL-DocBench (huggingface.co/datasets/anonymous12123/XL-DocBench, the larger release) and put "
    "its documents.jsonl, qa_single_doc.jsonl and qa_cross_doc.jsonl there, and "
    "the PDFs that documents.jsonl lists as pdfs/<document_id>.pdf"
)
FORMATS = ("Str", "Int", "Float", "None")
NUMBERING = "pdf_index"
LENGTHS = (50, 100, 200, 500)  # pages: bounds of the context-length slices
SPANS = (1, 10, 50, 100)  # pages: bounds of the evidence-span slices


def read_xldocbench(source: Source) -> Iterator[Question]:
    """Yields the single-document questions, then the cross-document ones, in the order of the files.

    Raises:
        InputError: neither file is in `source.data`, or a line of one is not JSON.
    """
    files = [source.data / name for name in FILES if (source.data / name).is_file()]
    if not files:
        raise InputError(f"{source.data}: no {' or '.join(FILES)} there; {DOWNLOAD}")
    lengths = _lengths(source.data / DOCUMENTS)
    keys = Keys()
    for path in files:
        for number, row in read_lines(path):
            key = str(row.get("question_id", f"{path.name} line {number}"))
            yield _question(source, row, key, keys, lengths)


def _lengths(path: Path) -> dict[str, int]:
    """Pages by document as the benchmark states them."""
    if not path.is_file():
        return {}
    rows = (row for _, row in read_lines(path))
    return {str(r.get("document_id")): r["page_count"] for r in rows if isinstance(r.get("page_count"), int)}


def _question(source: Source, row: Row, key: str, keys: Keys, lengths: Mapping[str, int]) -> Question:
    problems: list[str] = []
    answer, metadata = _object(row, "answer"), _object(row, "metadata")
    entries = _entries(row, problems)
    documents, pages = _documents(source, entries, problems)
    unanswerable = metadata.get("is_unanswerable")
    if not isinstance(unanswerable, bool):
        problems.append(f"is_unanswerable: expected true or false, got {short(unanswerable)}")
    form = str(answer.get("format"))
    if form not in FORMATS:
        problems.append(f"answer format: expected one of {', '.join(FORMATS)}, got {form!r}")
    if unanswerable is not True and not pages:
        problems.append("answerable, but without evidence pages")
    value = answer.get("value")
    text = "" if value is None else str(value)
    kind = "unanswerable" if unanswerable is True else str(answer.get("verification_rule") or form)
    if not gold_fits(text, kind):
        problems.append(f"answer: {short(value)} cannot be read as {kind}")
    return Question(
        id=keys.take(key, problems),
        question=text_of(row, "question", problems),
        documents=documents,
        answer=text,
        answer_format=kind,
        gold_pages=pages,
        answerable=unanswerable is not True,
        slices=_slices(metadata, entries, pages, lengths),
        problems=tuple(problems),
        split="cross" if len(documents) > 1 else "single",
        row=row,
    )


def _entries(row: Row, problems: list[str]) -> list[Mapping[str, Any]]:
    """The row's documents with their evidence."""
    many, one = row.get("documents"), row.get("document")
    entries = many if isinstance(many, list) else [one]
    found: list[Mapping[str, Any]] = [entry for entry in entries if isinstance(entry, dict)]
    if not found or len(found) < len(entries):
        problems.append(f"documents: expected objects, got {short(entries)}")
    return found


def _documents(
    source: Source, entries: Sequence[Mapping[str, Any]], problems: list[str]
) -> tuple[tuple[Path, ...], tuple[PageRef, ...]]:
    documents: dict[Path, None] = {}
    refs: set[PageRef] = set()
    for entry in entries or [{}]:
        path = document_path(source.pdfs, entry.get("document_id"), ".pdf", problems)
        documents[path] = None
        numbering, raw = entry.get("evidence_page_numbering", NUMBERING), entry.get("evidence_pages") or []
        if numbering != NUMBERING:
            problems.append(f"evidence_page_numbering: expected {NUMBERING}, got {short(numbering)}")
        if not isinstance(raw, list):
            problems.append(f"evidence_pages: expected a list, got {short(raw)}")
            raw = []
        refs.update(page_refs(path, page_numbers(raw, 1, "evidence_pages", problems)))
    return tuple(documents), tuple(sorted(refs))


def _slices(
    metadata: Mapping[str, Any],
    entries: Sequence[Mapping[str, Any]],
    pages: Sequence[PageRef],
    lengths: Mapping[str, int],
) -> dict[str, tuple[str, ...]]:
    """The benchmark's breakdowns. Span: last minus first evidence page, within a document."""
    names = [str(entry.get("document_id")) for entry in entries]
    known = [lengths[name] for name in names if name in lengths]
    sources = metadata.get("evidence_sources")
    count = len(pages)
    return {
        "reasoning_type": (str(metadata.get("reasoning_type") or "none given"),),
        "domain": (str(metadata.get("domain") or "none given"),),
        "evidence_source": tuple(dict.fromkeys(map(str, sources))) if isinstance(sources, list) else (),
        "documents": ("cross-document" if len(entries) > 1 else "single-document",),
        "context_length": (_range(sum(known), LENGTHS) if known and len(known) == len(names) else "unknown",),
        "evidence_pages": (str(count) if count < 5 else "5 or more",),
        "evidence_span": (_span(pages),),
    }


def _span(pages: Sequence[PageRef]) -> str:
    documents = {ref.doc_id for ref in pages}
    if not pages:
        return "no evidence"
    if len(documents) > 1:
        return "several documents"
    return _range(pages[-1].page - pages[0].page + 1, SPANS)


def _range(value: int, bounds: Sequence[int]) -> str:
    """The range a number falls in, written out: `up to 50`, `51-100`, `over 500`."""
    low = 0
    for bound in bounds:
        if value <= bound:
            return f"up to {bound}" if not low else f"{low + 1}-{bound}" if bound > low + 1 else str(bound)
        low = bound
    return f"over {low}"


def _object(row: Row, name: str) -> Mapping[str, Any]:
    value = row.get(name)
    return value if isinstance(value, dict) else {}


RELEASES = {1519: "the larger release", 1345: "the smaller release"}

XLDOCBENCH = Benchmark("XL-DocBench", read_xldocbench, FILES, "pdfs", DOWNLOAD, RELEASES)
