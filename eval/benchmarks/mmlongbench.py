"""MMLongBench-Doc, V1 and V2: `samples.json` (V1 also `samples_v1.json`) and `documents/`.

A row (pages are 1-based already; lists are written as strings):

    {"doc_id": "report.pdf", "doc_type": "Research report / Introduction", "question": "How many ...?",
     "answer": "18.29%", "evidence_pages": "[3, 5]", "evidence_sources": "['Pure-text (Plain-text)']",
     "answer_format": "Float"}

V2's `question_types.json` adds `task_type` and `requires_visual`, joined on document and question.
"""

import ast
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from eval.benchmarks.types import Question
from indexes.errors import InputError

Version = Literal["v1", "v2"]

FORMATS = ("Int", "Str", "Float", "List", "None")


def load_mmlongbench(data: Path, version: Version = "v2") -> Iterator[Question]:
    """Yields the questions of `data` in the order of the file.

    Raises:
        InputError: no samples file in `data`, or it is not a JSON array.
    """
    rows = _read_array(_samples_file(data, version))
    types = _question_types(data) if version == "v2" else {}
    seen: Counter[tuple[str, str]] = Counter()
    for number, row in enumerate(rows):
        key = (str(row.get("doc_id", "")), str(row.get("question", "")))
        seen[key] += 1
        yield _question(data, row, number, types.get(key, {}), seen[key])


def _samples_file(data: Path, version: Version) -> Path:
    names = ("samples_v1.json", "samples.json") if version == "v1" else ("samples.json",)
    for name in names:
        if (data / name).is_file():
            return data / name
    raise InputError(
        f"{data}: no {' or '.join(names)} there; download MMLongBench-Doc, "
        "put its samples.json and its documents/ there"
    )


def _read_array(path: Path) -> list[dict[str, Any]]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not readable as JSON ({error})") from error
    if not isinstance(rows, list):
        raise InputError(f"{path}: expected a JSON array of rows, got {type(rows).__name__}")
    return rows


def _question_types(data: Path) -> dict[tuple[str, str], dict[str, Any]]:
    path = data / "question_types.json"
    if not path.is_file():
        return {}
    return {(str(r.get("doc_id")), str(r.get("question"))): r for r in _read_array(path)}


def _literal_list(value: object, name: str, problems: list[str]) -> list[Any]:
    try:
        parsed = ast.literal_eval(value) if isinstance(value, str) else value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        parsed = None
    if isinstance(parsed, list):
        return parsed
    problems.append(f"{name}: expected a list, got {value!r}")
    return []


def _question(
    data: Path, row: Mapping[str, Any], number: int, kind: Mapping[str, Any], copy: int
) -> Question:
    problems: list[str] = []
    document = data / "documents" / str(row.get("doc_id", ""))
    answer, form = str(row.get("answer", "")), str(row.get("answer_format", ""))
    answerable = not answer.startswith("Not answerable")
    raw = _literal_list(row.get("evidence_pages"), "evidence_pages", problems)
    pages = sorted({p for p in raw if isinstance(p, int) and p >= 1})
    sources = _literal_list(row.get("evidence_sources"), "evidence_sources", problems)
    if len(pages) < len(set(map(str, raw))):
        problems.append(f"evidence_pages: {raw} holds what is no page from 1")
    if answerable and not pages:
        problems.append("answerable, but without evidence pages")
    if not answerable and pages:
        problems.append("unanswerable, but with evidence pages")
    if form not in FORMATS:
        problems.append(f"answer_format: expected one of {', '.join(FORMATS)}, got {form!r}")
    if not document.is_file():
        problems.append(f"{document.name}: no such document")
    if copy > 1:
        problems.append("the same question stands in the file already")
    slices = {
        "document_type": (str(row.get("doc_type", "")),),
        "evidence_source": tuple(map(str, sources)),
        "answer_format": (form,),
    }
    if kind:
        slices["task_type"] = (str(kind.get("task_type")),)
        slices["requires_visual"] = (str(kind.get("requires_visual")),)
    return Question(
        id=f"{document.name}::{number}",
        question=str(row.get("question", "")),
        documents=(document,),
        answer=answer,
        answer_format=form,
        gold_pages=tuple(pages),
        answerable=answerable,
        slices=slices,
        problems=tuple(problems),
    )
