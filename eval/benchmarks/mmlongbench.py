"""MMLongBench-Doc, V1 and V2: `samples.json` (V1 also `samples_v1.json`) and `documents/`.

A row (pages are 1-based already; lists are written as strings):

    {"doc_id": "report.pdf", "doc_type": "Research report / Introduction", "question": "How many ...?",
     "answer": "18.29%", "evidence_pages": "[3, 5]", "evidence_sources": "['Pure-text (Plain-text)']",
     "answer_format": "Float"}

V2's `question_types.json` adds `task_type` and `requires_visual`, joined on document and question.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal

from eval.benchmarks.reading import (
    Keys,
    Row,
    document_path,
    find_file,
    literal_list,
    page_numbers,
    page_refs,
    read_array,
    short,
    text_of,
)
from eval.benchmarks.types import Benchmark, Question, Source
from eval.metrics.mmlongbench import gold_fits

Version = Literal["v1", "v2"]

FORMATS = ("Int", "Str", "Float", "List", "None")
FILES: Mapping[Version, tuple[str, ...]] = {
    "v1": ("samples_v1.json", "samples.json"),
    "v2": ("samples.json",),
}
DOWNLOAD: Mapping[Version, str] = {
    "v1": "download MMLongBench-Doc V1 (huggingface.co/datasets/yubo2333/MMLongBench-Doc) and put its "
    "samples.json and its documents/ there",
    "v2": "download MMLongBench-Doc V2 (github.com/VectifyAI/MMLongBench-Doc-V2) and put its samples.json "
    "and question_types.json there, and V1's documents/ (huggingface.co/datasets/yubo2333/MMLongBench-Doc)",
}


def read_mmlongbench(source: Source, version: Version) -> Iterator[Question]:
    """Yields the questions in the order of the file.

    Raises:
        InputError: no samples file in `source.data`, or it is not a JSON array.
    """
    rows = read_array(find_file(source.data, FILES[version], DOWNLOAD[version]))
    types = _question_types(source) if version == "v2" else {}
    keys = Keys()
    for number, row in enumerate(rows):
        yield _question(source, row, number, types, keys)


def _question_types(source: Source) -> dict[tuple[str, str], Row]:
    path = source.data / "question_types.json"
    if not path.is_file():
        return {}
    return {_key(row): row for row in read_array(path)}


def _key(row: Row) -> tuple[str, str]:
    """Document and question, white space normalized, as the public scorer joins them."""
    return str(row.get("doc_id", "")), " ".join(str(row.get("question", "")).split())


def _question(
    source: Source, row: Row, number: int, types: Mapping[tuple[str, str], Row], keys: Keys
) -> Question:
    problems: list[str] = []
    document = document_path(source.pdfs, row.get("doc_id"), "", problems)
    answer, form = text_of(row, "answer", problems), str(row.get("answer_format", ""))
    answerable = not answer.startswith("Not answerable")
    raw = literal_list(row.get("evidence_pages"), "evidence_pages", problems)
    pages = page_numbers(raw, 1, "evidence_pages", problems)
    sources = literal_list(row.get("evidence_sources"), "evidence_sources", problems)
    if answerable and not pages:
        problems.append("answerable, but without evidence pages")
    if not answerable and pages:
        problems.append("unanswerable, but with evidence pages")
    if form not in FORMATS:
        problems.append(f"answer_format: expected one of {', '.join(FORMATS)}, got {form!r}")
    elif not gold_fits(answer, form):
        problems.append(f"answer: {short(answer)} cannot be read as {form}")
    keys.take(repr(_key(row)), problems, "the same question stands in the file already")
    return Question(
        id=f"{document.name}::{number}",
        question=text_of(row, "question", problems),
        documents=(document,),
        answer=answer,
        answer_format=form,
        gold_pages=page_refs(document, pages),
        answerable=answerable,
        slices=_slices(row, form, sources, _layout(len(raw), answerable), types.get(_key(row), {})),
        problems=tuple(problems),
        row=row,
    )


def _layout(pages: int, answerable: bool) -> tuple[str, ...]:
    """The public scorers' groups by evidence pages: an unanswerable question with one page is in two."""
    group = "single-page" if pages == 1 else "cross-page" if answerable else ""
    return (*filter(None, [group]), *(() if answerable else ("unanswerable",)))


def _slices(
    row: Row, form: str, sources: list[Any], layout: tuple[str, ...], kind: Row
) -> dict[str, tuple[str, ...]]:
    """The breakdowns of the papers: document type, evidence source and pages, format; V2's two more."""
    slices = {
        "document_type": (str(row.get("doc_type", "")),),
        "evidence_source": tuple(dict.fromkeys(map(str, sources))),
        "evidence_pages": layout,
        "answer_format": (form,),
    }
    if kind:
        slices["task_type"] = (str(kind.get("task_type")),)
        slices["requires_visual"] = (str(kind.get("requires_visual")),)
    return slices


V1 = Benchmark(
    "MMLongBench-Doc V1",
    partial(read_mmlongbench, version="v1"),
    FILES["v1"],
    "documents",
    DOWNLOAD["v1"],
    {1082: "the benchmark"},
)
V2 = Benchmark(
    "MMLongBench-Doc V2",
    partial(read_mmlongbench, version="v2"),
    FILES["v2"],
    "documents",
    DOWNLOAD["v2"],
    {1071: "the benchmark"},
)
