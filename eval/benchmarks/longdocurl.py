"""LongDocURL: `LongDocURL.jsonl`, and `pdf_pngs/` (page images) or PDFs.

A row, shortened (`evidence_pages` and `start_end_idx` count from 1, the suffix of an image from 0):

    {"question_id": "free_gemini15_pro_4055915_42_71_8", "doc_no": "4055915", "total_pages": 84,
     "start_end_idx": [42, 71], "question_type": "calculate", "question": "How many judging ...?",
     "answer": 5, "detailed_evidences": "... on page 54, <box>(0.08, 0.26, 0.92, 0.52)</box>. ...",
     "evidence_pages": [54], "evidence_sources": ["Table"], "answer_format": "Integer",
     "task_tag": "Reasoning", "images": [".../pdf_pngs/4000-4999/4055/4055915_41.png"],
     "pdf_path": ".../ccpdf_zip/4000-4999/4055915.pdf"}

A folder of page images may hold several documents: a document is then the pattern `4055915_*.png`. Where
there are no images, the PDF is looked for beside the questions, in `pdfs/` and in the folder that the
benchmark's archive unpacks to.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from eval.benchmarks.reading import (
    Keys,
    Row,
    find_file,
    page_numbers,
    page_refs,
    read_lines,
    safe_name,
    short,
    text_of,
)
from eval.benchmarks.types import Benchmark, GoldRegion, Question, Source
from eval.metrics.longdocurl import gold_fits
from indexes.files import document_id, find_files
from indexes.types import BBox, PageRef

FILES = ("LongDocURL.jsonl",)
DOWNLOAD = (
    "download LongDocURL (huggingface.co/datasets/dengchao/LongDocURL) and put its LongDocURL.jsonl "
    "and its pdf_pngs/ (or its PDFs in pdfs/) there"
)
FORMATS = ("String", "Integer", "Float", "List", "None")
ELEMENTS = ("Text", "Layout", "Figure", "Table")
LOCATING = {
    "topic2title": "Cross-Title",
    "summary2title": "Para-Title",
    "summary2tab": "Cross-Table",
    "extract_fig2tab": "Figure-Table",
}
_BOX = re.compile(r"<box>\s*\(([^()<>]{1,80})\)\s*</box>|\bpages?\s+(\d{1,6})\b", re.IGNORECASE)


def read_longdocurl(source: Source) -> Iterator[Question]:
    """Yields the questions in the order of the file.

    Raises:
        InputError: no `LongDocURL.jsonl` in `source.data`, or a line of it is not JSON.
    """
    keys = Keys()
    documents: dict[str, tuple[Path, str]] = {}
    for number, row in read_lines(find_file(source.data, FILES, DOWNLOAD)):
        name = str(row.get("doc_no", ""))
        if name not in documents:
            documents[name] = _document(source, name)
        yield _question(row, str(row.get("question_id", f"line {number}")), keys, documents[name])


def _document(source: Source, name: str) -> tuple[Path, str]:
    """The document's page images or PDF, and what is wrong with it."""
    if not re.fullmatch(r"\w{1,40}", name, re.ASCII):
        return source.pdfs / safe_name(name), f"doc_no: expected a number, got {short(name)}"
    thousand, group = f"{name[:1]}000-{name[:1]}999", name[:4]
    images = source.pdfs / thousand / group
    for folder in (images, source.pdfs / name, source.pdfs):
        found = sorted(folder.glob(f"{name}_*.png"))
        if found:
            path = folder / f"{name}_*.png"
            return path, _gap(path)
    for folder in (source.data / "pdfs", source.data / "ccpdf_zip" / thousand, source.data, source.pdfs):
        if (folder / f"{name}.pdf").is_file():
            return folder / f"{name}.pdf", ""
    return images / f"{name}_*.png", f"{name}: neither page images in {source.pdfs} nor a PDF in pdfs/"


def _gap(pattern: Path) -> str:
    """Page images are pages 1, 2, ... only where none is missing."""
    suffixes = [image.stem.rpartition("_")[2] for image in find_files(pattern).images]
    if suffixes == [str(n) for n in range(len(suffixes))]:
        return ""
    return f"{pattern.name}: page images from _0 to _{len(suffixes) - 1} expected, some are missing"


def _question(row: Row, key: str, keys: Keys, found: tuple[Path, str]) -> Question:
    document, wrong = found
    problems = [wrong] if wrong else []
    form, sources = str(row.get("answer_format", "")), row.get("evidence_sources")
    raw = row.get("evidence_pages")
    if not isinstance(raw, list):
        problems.append(f"evidence_pages: expected a list, got {short(raw)}")
    pages = page_numbers(raw if isinstance(raw, list) else [], 1, "evidence_pages", problems)
    total = row.get("total_pages")
    if isinstance(total, int) and any(page > total for page in pages):
        problems.append(f"evidence_pages: {list(pages)} of a document of {total} pages")
    answer = _answer(row.get("answer"))
    answerable = answer != "Not answerable"
    if answerable and not pages:
        problems.append("answerable, but without evidence pages")
    if form not in FORMATS:
        problems.append(f"answer_format: expected one of {', '.join(FORMATS)}, got {form!r}")
    elif not gold_fits(row.get("answer"), form):
        problems.append(f"answer: {short(answer)} cannot be read as {form}")
    regions = tuple(_regions(row, document, pages, problems))
    elements = tuple(s for s in sources if s in ELEMENTS) if isinstance(sources, list) else ()
    return Question(
        id=keys.take(key, problems),
        question=text_of(row, "question", problems),
        documents=(document,),
        answer=answer,
        answer_format=form,
        gold_pages=page_refs(document, pages),
        answerable=answerable,
        slices=_slices(row, elements, pages),
        problems=tuple(problems),
        gold_regions=regions,
        row=row,
    )


def _answer(value: object) -> str:
    """The native answer as text; a list as the literal that the scorers read."""
    return value if isinstance(value, str) else repr(value)


def _slices(row: Row, elements: tuple[str, ...], pages: tuple[int, ...]) -> dict[str, tuple[str, ...]]:
    """The paper's breakdowns; `sub_task` is the cell of the 20 that a question counts in."""
    task, kind = str(row.get("task_tag", "")), str(row.get("question_type", ""))
    length = "Multi-Page" if len(pages) > 1 else "Single-Page" if pages else "no page"
    cells: tuple[str, ...] = (f"Locating / {LOCATING[kind]}",) if kind in LOCATING else ()
    if task != "Locating":
        cells = tuple(f"{task} / {length} / {element}" for element in dict.fromkeys(elements) if pages)
    return {
        "task": (task,),
        "question_type": (kind,),
        "evidence_source": tuple(dict.fromkeys(elements)),
        "evidence_pages": (length,),
        "element_types": ("Cross-Element" if len(set(elements)) > 1 else "Single-Element",),
        "sub_task": cells,
        "answer_format": (str(row.get("answer_format", "")),),
    }


def _regions(row: Row, document: Path, pages: tuple[int, ...], problems: list[str]) -> Iterator[GoldRegion]:
    """The boxes inside the evidence text: each is on the page named last before it, else on the only one."""
    text = row.get("detailed_evidences")
    page = pages[0] if len(pages) == 1 else 0
    count = 0
    for match in _BOX.finditer(text if isinstance(text, str) else ""):
        if match[2]:
            page = int(match[2]) if int(match[2]) in pages else page
            continue
        count += 1
        try:
            bbox = BBox(*(float(value) for value in match[1].split(",")))
        except (ValueError, TypeError):
            problems.append(f"detailed_evidences: {match[0]} is no normalized box")
            continue
        if page and bbox.area:
            yield GoldRegion(f"b{count}", PageRef(document_id(document), page), bbox)


LONGDOCURL = Benchmark("LongDocURL", read_longdocurl, FILES, "pdf_pngs", DOWNLOAD, {2325: "the benchmark"})
