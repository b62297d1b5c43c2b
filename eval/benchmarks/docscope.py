"""DocScope: `benchmark.json` and `pdfs/<doc_id_str>.pdf`.

A row, shortened (pages count from 1; a box is in pixels of the page at 144 DPI, origin top-left):

    {"id": "q1", "split": "dev", "question": "How much ...?", "extract_class": "table",
     "answer": {"answer_text": "$1577.00", "is_answerable": true}, "pdf": {"doc_id_str": "3M_2018_10K"},
     "evidences": [{"local_id": "e1", "page": 60, "bbox": [48.6, 111.5, 1145.0, 221.2],
                    "element_type": "table"}],
     "facts": [{"local_id": "f1", "evidence_local_id": "e1", "text_description": "Purchases ... $ (1,577)"}]}

The file is an array of rows, or an object with the array under `data`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eval.benchmarks.documents import page_sizes
from eval.benchmarks.reading import (
    Keys,
    Row,
    document_path,
    find_file,
    page_numbers,
    page_refs,
    read_array,
    short,
    text_of,
)
from eval.benchmarks.types import Benchmark, GoldFact, GoldRegion, Question, Source
from indexes.files import document_id
from indexes.types import BBox, PageRef

FILES = ("benchmark.json",)
DOWNLOAD = (
    "download DocScope (huggingface.co/datasets/MiliLab/DocScope) and put its benchmark.json and its pdfs/ "
    "there (documents elsewhere: --pdfs DIR)"
)
DPI = 144
ROUNDING = 2.0  # pixels that a box may leave its page by: page sizes in pixels are rounded

Sizes = Mapping[Path, Mapping[int, tuple[float, float]]]


def read_docscope(source: Source) -> Iterator[Question]:
    """Yields the questions in the order of the file.

    Raises:
        InputError: no `benchmark.json` in `source.data`, or it is no array of rows.
    """
    rows = read_array(find_file(source.data, FILES, DOWNLOAD), "data")
    sizes = page_sizes(_wanted(source, rows))
    keys = Keys()
    for number, row in enumerate(rows, 1):
        yield _question(source, row, str(row.get("id", f"row {number}")), keys, sizes)


def _wanted(source: Source, rows: list[Row]) -> dict[Path, set[int]]:
    """The pages whose sizes turn pixels into shares of the page."""
    wanted: dict[Path, set[int]] = {}
    for row in rows:
        document = document_path(source.pdfs, _object(row, "pdf").get("doc_id_str"), ".pdf", [])
        pages = (item.get("page") for item in _objects(row, "evidences", []))
        wanted.setdefault(document, set()).update(page_numbers(pages, 1, "", []))
    return wanted


def _question(source: Source, row: Row, key: str, keys: Keys, sizes: Sizes) -> Question:
    problems: list[str] = []
    document = document_path(source.pdfs, _object(row, "pdf").get("doc_id_str"), ".pdf", problems)
    answer = _object(row, "answer")
    answerable = answer.get("is_answerable")
    if not isinstance(answerable, bool):
        problems.append(f"is_answerable: expected true or false, got {short(answerable)}")
    items = _objects(row, "evidences", problems)
    pages = page_numbers((item.get("page") for item in items), 1, "evidences", problems)
    regions = tuple(_regions(document, items, sizes.get(document, {}), problems))
    facts = tuple(_facts(row, {str(item.get("local_id")) for item in items}, problems))
    name = keys.take(key, problems)
    if answerable and not pages:
        problems.append("answerable, but without evidence")
    return Question(
        id=name,
        question=text_of(row, "question", problems),
        documents=(document,),
        answer=text_of(answer, "answer_text", problems if answerable else []),
        answer_format="",
        gold_pages=page_refs(document, pages),
        answerable=answerable is not False,
        slices=_slices(row, items, pages),
        problems=tuple(problems),
        gold_regions=regions,
        gold_facts=facts,
        split=str(row.get("split") or ""),
        row=row,
    )


def _slices(row: Row, items: list[dict[str, Any]], pages: tuple[int, ...]) -> dict[str, tuple[str, ...]]:
    elements = tuple(dict.fromkeys(str(item.get("element_type", "")) for item in items))
    return {
        "extract_class": (str(row.get("extract_class") or "none given"),),
        "element_type": elements,
        "evidence_pages": (str(min(len(pages), 5)) if len(pages) < 5 else "5 or more",),
    }


def _regions(
    document: Path, items: list[dict[str, Any]], sizes: Mapping[int, tuple[float, float]], problems: list[str]
) -> Iterator[GoldRegion]:
    """The evidence boxes as shares of the page as rendered; one that is no box on its page is a problem."""
    keys = Keys()
    for item in items:
        own, page, box = str(item.get("local_id", "")), item.get("page"), item.get("bbox")
        name = keys.take(own, problems, f"evidence {own} stands in the row already")
        if (
            not isinstance(page, int) or page not in sizes
        ):  # a page that is missing, or a document, is a problem of its own
            continue
        try:
            bbox = normalize(box, sizes[page])
        except ValueError as error:
            problems.append(f"evidence {name}: {error}")
            continue
        yield GoldRegion(name, PageRef(document_id(document), page), bbox, str(item.get("element_type", "")))


def normalize(box: object, size: tuple[float, float]) -> BBox:
    """A box in pixels at 144 DPI as shares of a page of `size` points.

    Raises:
        ValueError: not four numbers with an area, or beyond the page.
    """
    if not isinstance(box, list) or len(box) != 4 or not all(isinstance(v, int | float) for v in box):
        raise ValueError(f"bbox: expected four numbers, got {short(box)}")
    width, height = (length * DPI / 72 for length in size)
    x1, y1, x2, y2 = box
    if not (x1 < x2 and y1 < y2):
        raise ValueError(f"bbox {box}: expected x1 < x2 and y1 < y2")
    if min(x1, y1) < -ROUNDING or x2 > width + ROUNDING or y2 > height + ROUNDING:
        raise ValueError(f"bbox {box}: leaves its page of {width:.0f} x {height:.0f} pixels")
    return BBox.clipped(x1 / width, y1 / height, x2 / width, y2 / height)


def _facts(row: Row, regions: set[str], problems: list[str]) -> Iterator[GoldFact]:
    keys = Keys()
    for item in _objects(row, "facts", problems):
        own, region = str(item.get("local_id", "")), str(item.get("evidence_local_id", ""))
        name = keys.take(own, problems, f"fact {own} stands in the row already")
        text = item.get("text_description")
        if region not in regions:
            problems.append(f"fact {name}: no evidence {region!r} in the row")
        if not isinstance(text, str) or not text.strip():
            problems.append(f"fact {name}: expected a text, got {short(text)}")
            continue
        yield GoldFact(name, region, text)


def _object(row: Row, name: str) -> Mapping[str, Any]:
    value = row.get(name)
    return value if isinstance(value, dict) else {}


def _objects(row: Row, name: str, problems: list[str]) -> list[dict[str, Any]]:
    value = row.get(name) or []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        problems.append(f"{name}: expected a list of objects, got {short(value)}")
        return []
    return value


RELEASES = {1124: "the benchmark", 730: "the test split", 394: "the dev split"}

DOCSCOPE = Benchmark("DocScope", read_docscope, FILES, "pdfs", DOWNLOAD, RELEASES)
