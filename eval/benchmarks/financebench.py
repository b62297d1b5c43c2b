"""FinanceBench: `questions.jsonl` (or `financebench_open_source.jsonl`) and `pdfs/<doc_name>.pdf`.

A row, shortened (`evidence_page_num` counts from 0):

    {"financebench_id": "financebench_id_00499", "doc_name": "3M_2022_10K", "question": "Is 3M ...?",
     "answer": "No, the company ...", "question_type": "domain-relevant", "question_reasoning": "...",
     "evidence": [{"evidence_text": "...", "doc_name": "3M_2022_10K", "evidence_page_num": 47}]}
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eval.benchmarks.types import Question
from indexes.errors import InputError

FILES = ("questions.jsonl", "financebench_open_source.jsonl")


def load_financebench(data: Path) -> Iterator[Question]:
    """Yields the questions of `data` in the order of the file.

    Raises:
        InputError: no questions file in `data`, or a line of it is not JSON.
    """
    path = next((data / name for name in FILES if (data / name).is_file()), None)
    if path is None:
        raise InputError(f"{data}: no {' or '.join(FILES)} there; download FinanceBench with its pdfs/")
    seen: Counter[str] = Counter()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}: line {number} is not JSON ({error})") from error
        key = str(row.get("financebench_id", number))
        seen[key] += 1
        yield _question(data, row, key, seen[key])


def _question(data: Path, row: Mapping[str, Any], key: str, copy: int) -> Question:
    document = data / "pdfs" / f"{row.get('doc_name', '')}.pdf"
    problems: list[str] = []
    pages: set[int] = set()
    for evidence in row.get("evidence") or []:
        number, name = evidence.get("evidence_page_num"), evidence.get("doc_name", row.get("doc_name"))
        if not isinstance(number, int) or number < 0:
            problems.append(f"evidence_page_num: expected a page from 0, got {number!r}")
        elif name != row.get("doc_name"):
            problems.append(f"evidence on page {number + 1} is of another document, {name}")
        else:
            pages.add(number + 1)
    if not pages:
        problems.append("no evidence page")
    if not document.is_file():
        problems.append(f"{document.name}: no such document")
    if copy > 1:
        problems.append(f"{key} stands in the file already")
    return Question(
        id=key if copy == 1 else f"{key}#{copy}",
        question=str(row.get("question", "")),
        documents=(document,),
        answer=str(row.get("answer", "")),
        answer_format="",
        gold_pages=tuple(sorted(pages)),
        answerable=True,
        slices={
            "question_type": (str(row.get("question_type", "")),),
            "reasoning": (str(row.get("question_reasoning", "")),),
        },
        problems=tuple(problems),
    )
