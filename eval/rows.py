"""The rows of an `infer.jsonl`: found again by their ids, read one by one."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a row stands in `infer.jsonl`, in bytes, and whether its question failed."""

    start: int
    size: int
    failed: bool


def scan_rows(path: Path) -> tuple[dict[str, Entry], int]:
    """Where each question's first whole row stands, in the file's order, and how many lines are not kept."""
    entries: dict[str, Entry] = {}
    damaged = 0
    for start, line, row in _lines(path):
        question_id = row.get("question_id") if isinstance(row, dict) else None
        if not isinstance(question_id, str) or not line.endswith(b"\n"):
            damaged += 1
            continue
        if question_id in entries:
            damaged += 1
            continue
        entries[question_id] = Entry(start, len(line), row.get("status") != "ok")
    return entries, damaged


def _lines(path: Path) -> Iterator[tuple[int, bytes, Any]]:
    if not path.is_file():
        return
    start = 0
    with path.open("rb") as file:
        for line in file:
            yield start, line, parsed(line)
            start += len(line)


def parsed(line: bytes) -> Any:
    """A line of JSON, None where it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # includes bytes that are no UTF-8
        return None


class RowReader:
    """The rows of an `infer.jsonl`, one by one.

    Attributes:
        broken: lines met so far that are no rows.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.broken = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows in the file's order."""
        for _, line, row in _lines(self.path):
            if isinstance(row, dict) and isinstance(row.get("question_id"), str):
                yield row
            else:
                self.broken += bool(line.strip())
