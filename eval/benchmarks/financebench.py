"""FinanceBench: `questions.jsonl` (or `financebench_open_source.jsonl`) and `pdfs/<doc_name>.pdf`.

A row, shortened (`evidence_page_num` counts from 0):

    {"financebench_id": "financebench_id_00499", "doc_name": "3M_2022_10K", "question": "Is 3M ...?",
     "answer": "No, the company ...", "question_type": "domain-relevant", "question_reasoning": "...",
     "evidence": [{"evidence_text": "...", "doc_name": "3M_2022_10K", "evidence_page_num": 47}]}
"""

from collections.abc import Iterator

from eval.benchmarks.reading import (
    Keys,
    Row,
    document_path,
    find_file,
    page_numbers,
    page_refs,
    read_lines,
    text_of,
)
from eval.benchmarks.types import Benchmark, Question, Source

FILES = ("questions.jsonl", "financebench_open_source.jsonl")
DOWNLOAD = (
    "download FinanceBench (github.com/patronus-ai/financebench) and put its "
    "financebench_open_source.jsonl and its pdfs/ there"
)


def read_financebench(source: Source) -> Iterator[Question]:
    """Yields the questions in the order of the file.

    Raises:
        InputError: no questions file in `source.data`, or a line of it is not JSON.
    """
    keys = Keys()
    for number, row in read_lines(find_file(source.data, FILES, DOWNLOAD)):
        yield _question(source, row, str(row.get("financebench_id", f"line {number}")), keys)


def _question(source: Source, row: Row, key: str, keys: Keys) -> Question:
    problems: list[str] = []
    document = document_path(source.pdfs, row.get("doc_name"), ".pdf", problems)
    pages = _pages(row, problems)
    if not pages:
        problems.append("no evidence page")
    name = keys.take(key, problems)
    return Question(
        id=name,
        question=text_of(row, "question", problems),
        documents=(document,),
        answer=text_of(row, "answer", problems),
        answer_format="",
        gold_pages=page_refs(document, pages),
        answerable=True,
        slices={
            "question_type": (str(row.get("question_type", "")),),
            "reasoning": (str(row.get("question_reasoning") or "none given"),),
        },
        problems=tuple(problems),
        row=row,
    )


def _pages(row: Row, problems: list[str]) -> tuple[int, ...]:
    """The evidence pages in the question's own document."""
    evidence = row.get("evidence")
    numbers = []
    for item in evidence if isinstance(evidence, list) else []:
        if not isinstance(item, dict):
            problems.append(f"evidence: expected an object, got {item!r}")
        elif item.get("doc_name", row.get("doc_name")) != row.get("doc_name"):
            problems.append(f"evidence is of another document, {item.get('doc_name')}")
        else:
            numbers.append(item.get("evidence_page_num"))
    return page_numbers(numbers, 0, "evidence_page_num", problems)


FINANCEBENCH = Benchmark(
    "FinanceBench", read_financebench, FILES, "pdfs", DOWNLOAD, {150: "the open-source part"}
)
