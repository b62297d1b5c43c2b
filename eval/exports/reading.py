"""Reading predictions, ours or anyone's, and joining them to the questions.

The rules of joining: a question without a row is missing and counts as wrong; a row whose question is not in
the benchmark is listed as unknown; of several rows for one question the first counts, the others are listed
as duplicates. Where a benchmark itself asks the same question twice, the rows belong to them in order.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.benchmarks.reading import read_array, read_lines
from eval.benchmarks.types import Question
from eval.exports.formats import EXPORTS, Export
from eval.exports.prediction import Prediction, from_row, missing
from eval.exports.short import tagged_or_said
from indexes.errors import InputError

OURS = "infer.jsonl"


@dataclass(frozen=True, slots=True)
class Imported:
    """Predictions joined to questions.

    Attributes:
        predictions: one for every question, by our question id; a missing one is a failure.
        missing: questions without a row.
        unknown: keys of rows that no question has.
        duplicates: keys of rows for a question that had its row already.
        broken: rows that say neither question nor answer.
    """

    predictions: Mapping[str, Prediction]
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    broken: tuple[str, ...] = field(default=())


def read_predictions(name: str, path: Path, questions: Sequence[Question]) -> Imported:
    """Reads predictions for a benchmark.

    Args:
        name: the benchmark.
        path: a run folder, or a file of DocScope rows (of any benchmark) or in the benchmark's own format.
        questions: the benchmark's questions.

    Raises:
        InputError: the file is not there or is neither a JSON array nor JSON lines.
    """
    file = path / OURS if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"{file}: no such file; name a run folder or a file of predictions")
    return join(name, _rows(file), questions)


def join(name: str, rows: Iterator[tuple[int, Mapping[str, Any]]], questions: Sequence[Question]) -> Imported:
    """Joins numbered rows to questions by the rules above."""
    export = EXPORTS[name]
    waiting: dict[str, deque[Question]] = defaultdict(deque)
    for question in questions:
        waiting[question.id].append(question)
        key = export.key(question.row)
        if key is not None and key != question.id:
            waiting[key].append(question)
    found: dict[str, Prediction] = {}
    unknown: list[str] = []
    duplicates: list[str] = []
    broken: list[str] = []
    for number, row in rows:
        ours = "model_raw" in row or "parsed" in row or "status" in row
        key = EXPORTS["docscope"].key(row) if ours else export.key(row)
        if key is None:
            broken.append(f"row {number}: no key")
            continue
        while waiting.get(key) and waiting[key][0].id in found:
            waiting[key].popleft()
        if not waiting.get(key):
            (duplicates if key in waiting else unknown).append(key)
            continue
        question = waiting[key][0]
        prediction = from_row(question, row) if ours else _prediction(export, question, row)
        if prediction is None:
            broken.append(f"row {number}: no {' or '.join(export.fields)}")
        else:
            found[question.id] = prediction
    lacking = tuple(question.id for question in questions if question.id not in found)
    return Imported(
        {q.id: found.get(q.id) or missing(q) for q in questions},
        lacking,
        tuple(unknown),
        tuple(duplicates),
        tuple(broken),
    )


def _prediction(export: Export, question: Question, row: Mapping[str, Any]) -> Prediction | None:
    """A row in the benchmark's own format; an empty response is a failure, None a row without any."""
    value = next((row[name] for name in export.fields if row.get(name) is not None), None)
    if value is None:
        return None
    if export.short and "multiple_pred" in row and isinstance(value, list) and value:
        several = tuple(map(str, value))
        return Prediction(question.id, several[0], several[0], True, several=several, row=row)
    text = value if isinstance(value, str) else repr(value)
    if not text.strip():
        return Prediction(question.id, "", "", failure="error: the response is empty", row=row)
    answer = text if export.short else tagged_or_said(text)
    return Prediction(question.id, text, answer, has_tag=export.short, row=row)


def _rows(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Rows with their numbers, of a JSON array (also under `data`) or of JSON lines."""
    with file.open(encoding="utf-8-sig", errors="replace") as opened:
        start = opened.read(4096).lstrip()[:1]
    if start == "[":
        yield from enumerate(read_array(file), 1)
    else:
        yield from read_lines(file)
