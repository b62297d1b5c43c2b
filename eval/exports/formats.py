"""What each benchmark's own scorer reads: how a prediction is written there, and how it is found again."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.benchmarks.types import Question
from eval.exports.prediction import Prediction
from eval.exports.short import FAIL, shorten
from indexes.cache import write_atomic
from indexes.errors import InputError

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Export:
    """A format.

    Attributes:
        file: what the file is called.
        row: a prediction as a row of the file.
        key: what a row, or a question's own row, is joined by; None where it says too little.
        fields: where the prediction stands in a row, the first that is there counts.
        short: whether that is a short answer already, not a whole response.
        lines: whether the file is JSON lines, not one JSON array.
    """

    file: str
    row: Callable[[Question, Prediction], Row]
    key: Callable[[Row], str | None]
    fields: tuple[str, ...]
    short: bool
    lines: bool


def _docscope(question: Question, prediction: Prediction) -> Row:
    return prediction.row


def _mmlongbench_v1(question: Question, prediction: Prediction) -> Row:
    pred = FAIL if prediction.failure else shorten(prediction.answer, question.answer_format)
    return {**question.row, "response": prediction.text, "pred": pred}


def _mmlongbench_v2(question: Question, prediction: Prediction) -> Row:
    """V2's judge reads the whole response."""
    response = prediction.text or prediction.answer
    document = question.row.get("doc_id", question.documents[0].name)
    return {"doc_id": document, "question": question.question, "response": response}


def _longdocurl(question: Question, prediction: Prediction) -> Row:
    pred = "Fail to extract" if prediction.failure else shorten(prediction.answer, question.answer_format)
    return {**question.row, "response": prediction.text, "pred": pred}


def _xldocbench(question: Question, prediction: Prediction) -> Row:
    return {"question_id": question.row.get("question_id", question.id), "prediction": prediction.answer}


def _financebench(question: Question, prediction: Prediction) -> Row:
    name = question.row.get("financebench_id", question.id)
    return {"financebench_id": name, "model_answer": prediction.answer}


def _by(*names: str) -> Callable[[Row], str | None]:
    def key(row: Row) -> str | None:
        return next((str(row[name]) for name in names if isinstance(row.get(name), str | int)), None)

    return key


def _document_and_question(row: Row) -> str | None:
    """Document and question with white space normalized, as the public scorer joins them."""
    document, question = row.get("doc_id"), row.get("question")
    if not isinstance(document, str) or not isinstance(question, str):
        return None
    return f"{document}: {' '.join(question.split())}"


EXPORTS: dict[str, Export] = {
    "docscope": Export("infer.jsonl", _docscope, _by("question_id", "id"), ("model_raw",), False, True),
    "mmlongbench-v1": Export(
        "predictions.json", _mmlongbench_v1, _document_and_question, ("pred",), True, False
    ),
    "mmlongbench-v2": Export(
        "predictions.json", _mmlongbench_v2, _document_and_question, ("response",), False, False
    ),
    "longdocurl": Export("predictions.jsonl", _longdocurl, _by("question_id"), ("pred",), True, True),
    "xldocbench": Export(
        "predictions.jsonl",
        _xldocbench,
        _by("question_id"),
        ("prediction", "model_answer", "answer", "response", "output"),
        False,
        True,
    ),
    "financebench": Export(
        "predictions.jsonl", _financebench, _by("financebench_id"), ("model_answer",), False, True
    ),
}


def write_export(
    name: str, questions: Iterable[Question], predictions: Mapping[str, Prediction], path: Path
) -> int:
    """Writes predictions for a benchmark's own scorer, in the order of its questions.

    Args:
        name: the benchmark.
        questions: its questions; those without a prediction are left out.
        predictions: by our question id.
        path: the file; a folder gets the format's own file name.

    Returns:
        How many rows were written.

    Raises:
        InputError: nothing to write, or the file cannot be written.
    """
    export = EXPORTS[name]
    made = (export.row(q, predictions[q.id]) for q in questions if q.id in predictions)
    rows = [row for row in made if row]  # a DocScope row that is missing cannot be made up
    if not rows:
        raise InputError(f"{path}: no prediction of {name} to write")
    file = path / export.file if path.is_dir() else path
    if export.lines:
        text = "".join(f"{_line(row)}\n" for row in rows)
    else:
        text = "[\n" + ",\n".join(map(_line, rows)) + "\n]\n"
    write_atomic(file, text.encode())
    return len(rows)


def _line(row: Row) -> str:
    """A row as one line; characters that UTF-8 cannot hold are escaped."""
    text = json.dumps(row, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(row)
    return text
