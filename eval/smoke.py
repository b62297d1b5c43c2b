"""A small benchmark of ours in the format of DocScope: `python -m eval.smoke data/smoke`.

Ten questions on the sample report (`eval.sample`) and on four pages of it as a document of their own, with
gold pages, regions and facts; one is unanswerable, one rests on a scanned page, one on two numbers. It shows
that loader, runner and scorers work together, not how good a reader is.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.sample import sample_pdf
from indexes.cache import write_atomic
from indexes.errors import InputError, run_command

DPI = 144
REPORT, EXTRACT = "report", "highlights"
EXTRACT_PAGES = (3, 4, 5, 6)
"""Pages of the report that make up the second document."""

SCAN_LINE = (0.09, 0.318, 0.75, 0.362)
"""Where the inspector's line stands on the scanned page, which has no words to search for; normalized."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A gold region: the box around some words of a page, and the fact that stands there."""

    page: int
    words: tuple[str, ...]
    fact: str
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class Item:
    """A question with its answer; without evidence it is unanswerable."""

    question: str
    answer: str = "Unanswerable"
    evidence: tuple[Evidence, ...] = ()
    document: str = REPORT


def _income(label: str, value: str, fact: str) -> Evidence:
    return Evidence(10, (label, value), fact, "table")


ITEMS = (
    Item(
        "What was the operating profit in 2024, in thousands of euros?",
        "7,151",
        (_income("Operating profit", "7,151", "The operating profit of 2024 was 7,151 thousand euros."),),
    ),
    Item(
        "By how many thousands of euros did total revenue rise from 2023 to 2024?",
        "3,030",
        (
            _income("Total revenue", "24,695", "Total revenue was 24,695 thousand euros in 2024."),
            _income("Total revenue", "21,665", "Total revenue was 21,665 thousand euros in 2023."),
        ),
    ),
    Item(
        "Who inspected the export cable?",
        "Marek Dvorak",
        (Evidence(12, (), "The inspector was Marek Dvorak of Nordic Marine Survey.", "picture"),),
    ),
    Item(
        "In which year was the company founded?",
        "2009",
        (Evidence(5, ("founded in 2009",), "The company was founded in 2009."),),
    ),
    Item(
        "For how many days was the export cable at Grey Skerry out of service?",
        "41",
        (Evidence(3, ("out of service for 41 days",), "The cable was out of service for 41 days."),),
    ),
    Item(
        "In which year does the permit for Fennick Narrows end?",
        "2029",
        (Evidence(11, ("ends in 2029",), "The permit for Fennick Narrows ends in 2029."),),
    ),
    Item(
        "Who is the deputy chair of the board?",
        "Tomas Reinholt",
        (Evidence(14, ("Tomas Reinholt", "Deputy chair"), "Tomas Reinholt is the deputy chair.", "table"),),
    ),
    Item("What was the salary of the chief executive in 2024?"),
    Item(
        "How many turbines were in service in 2023?",
        "54",
        (Evidence(2, ("Turbines in service", "54"), "54 turbines were in service in 2023.", "table"),),
        EXTRACT,
    ),
    Item(
        "What share of the electricity did Nordlys Aluminium take in 2024?",
        "38 percent",
        (Evidence(3, ("took 38 percent",), "Nordlys Aluminium took 38 percent of the electricity."),),
        EXTRACT,
    ),
)


def write_benchmark(folder: Path) -> None:
    """Writes `benchmark.json` and `pdfs/`.

    Raises:
        InputError: the folder cannot be written.
    """
    import pymupdf

    whole = sample_pdf()
    with pymupdf.open(stream=whole) as report, pymupdf.open() as part:
        for page in EXTRACT_PAGES:
            part.insert_pdf(report, from_page=page - 1, to_page=page - 1)
        extract: bytes = part.tobytes(deflate=True, garbage=3, no_new_id=True)
        opened = {REPORT: report, EXTRACT: part}
        rows = [_row(number, item, opened[item.document]) for number, item in enumerate(ITEMS, 1)]
    write_atomic(folder / "pdfs" / f"{REPORT}.pdf", whole)
    write_atomic(folder / "pdfs" / f"{EXTRACT}.pdf", extract)
    text = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
    write_atomic(folder / "benchmark.json", text.encode())


def _row(number: int, item: Item, document: Any) -> dict[str, Any]:
    """A question as DocScope publishes it: boxes in pixels at 144 DPI."""
    evidences, facts = [], []
    for place, evidence in enumerate(item.evidence, 1):
        box = _box(document[evidence.page - 1], evidence.words)
        evidences.append(
            {"local_id": f"e{place}", "page": evidence.page, "bbox": box, "element_type": evidence.kind}
        )
        facts.append(
            {"local_id": f"f{place}", "evidence_local_id": f"e{place}", "text_description": evidence.fact}
        )
    return {
        "id": f"smoke-{number:02}",
        "split": "dev",
        "question": item.question,
        "answer": {"answer_text": item.answer, "is_answerable": bool(item.evidence)},
        "pdf": {"doc_id_str": item.document},
        "evidences": evidences,
        "facts": facts,
        "extract_class": "extractive",
    }


def _box(page: Any, words: Sequence[str]) -> list[float]:
    """The box around all of the words, in pixels; words on the height of the first ones only."""
    if not words:
        width, height = page.rect.width, page.rect.height
        points = [SCAN_LINE[0] * width, SCAN_LINE[1] * height, SCAN_LINE[2] * width, SCAN_LINE[3] * height]
    else:
        first = page.search_for(words[0])[-1]
        found = [r for text in words for r in page.search_for(text) if abs(r.y0 - first.y0) < first.height]
        points = [
            min(r.x0 for r in found),
            min(r.y0 for r in found),
            max(r.x1 for r in found),
            max(r.y1 for r in found),
        ]
    return [round(float(value) * DPI / 72, 1) for value in points]


def main() -> int:
    """Writes the benchmark to the folder given."""
    if sys.argv[1:] in (["-h"], ["--help"]):
        sys.stdout.write("usage: python -m eval.smoke FOLDER\n")
        return 0
    if len(sys.argv) != 2 or sys.argv[1].startswith("-") or not sys.argv[1].strip():
        raise InputError("expected the folder to write to, as in: python -m eval.smoke data/smoke")
    write_benchmark(Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    run_command(main)
