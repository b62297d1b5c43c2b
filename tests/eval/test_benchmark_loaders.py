"""Loaders of MMLongBench-Doc and FinanceBench."""

import json
from pathlib import Path

import pytest

from eval.benchmarks.financebench import load_financebench
from eval.benchmarks.mmlongbench import load_mmlongbench
from indexes.errors import InputError

ROW = {
    "doc_id": "a.pdf",
    "doc_type": "Guidebook",
    "question": "How many?",
    "answer": "3",
    "evidence_pages": "[5, 3]",
    "evidence_sources": "['Table']",
    "answer_format": "Int",
}


def mmlongbench(tmp_path: Path, *rows: dict[str, object]) -> Path:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents/a.pdf").write_bytes(b"%PDF")
    (tmp_path / "samples.json").write_text(json.dumps(rows), encoding="utf-8")
    return tmp_path


def test_a_row_becomes_a_question_with_sorted_pages_and_slices(tmp_path: Path) -> None:
    data = mmlongbench(tmp_path, ROW)
    (data / "question_types.json").write_text(
        json.dumps(
            [{"doc_id": "a.pdf", "question": "How many?", "task_type": "count", "requires_visual": True}]
        )
    )
    (question,) = load_mmlongbench(data)
    assert question.gold_pages == (3, 5)
    assert question.answerable and question.answer == "3" and question.answer_format == "Int"
    assert question.slices["task_type"] == ("count",) and question.slices["evidence_source"] == ("Table",)
    assert question.problems == ()
    assert question.documents == (data / "documents/a.pdf",)


def test_broken_rows_are_kept_and_say_what_is_wrong(tmp_path: Path) -> None:
    data = mmlongbench(
        tmp_path,
        ROW | {"evidence_pages": "[0]"},
        ROW | {"evidence_pages": "__import__('os')"},
        ROW | {"answer": "Not answerable or 0 or none", "answer_format": "None"},
        ROW | {"doc_id": "gone.pdf"},
    )
    questions = list(load_mmlongbench(data))
    assert len(questions) == 4 and len({q.id for q in questions}) == 4
    assert "no page from 1" in questions[0].problems[0]
    assert "expected a list" in questions[1].problems[0]
    assert not questions[2].answerable and "unanswerable, but with" in questions[2].problems[0]
    assert "no such document" in questions[3].problems[0]


def test_a_question_that_occurs_twice_is_flagged(tmp_path: Path) -> None:
    first, second = load_mmlongbench(mmlongbench(tmp_path, ROW, ROW))
    assert first.problems == () and "already" in second.problems[0] and first.id != second.id


def test_v1_prefers_its_own_file(tmp_path: Path) -> None:
    data = mmlongbench(tmp_path, ROW)
    (data / "samples_v1.json").write_text(json.dumps([ROW | {"answer": "4"}]))
    assert next(load_mmlongbench(data, "v1")).answer == "4"
    assert next(load_mmlongbench(data, "v2")).answer == "3"


def test_financebench_pages_count_from_one_after_loading(tmp_path: Path) -> None:
    (tmp_path / "pdfs").mkdir()
    (tmp_path / "pdfs/X_2022.pdf").write_bytes(b"%PDF")
    evidence = [{"doc_name": "X_2022", "evidence_page_num": 0}, {"doc_name": "Y", "evidence_page_num": 3}]
    row = {
        "financebench_id": "f1",
        "doc_name": "X_2022",
        "question": "q",
        "answer": "a",
        "evidence": evidence,
    }
    (tmp_path / "questions.jsonl").write_text(json.dumps(row) + "\n\n" + json.dumps(row | {"evidence": []}))
    first, second = load_financebench(tmp_path)
    assert first.gold_pages == (1,) and "another document" in first.problems[0]
    assert second.gold_pages == () and second.id == "f1#2"


def test_missing_or_unreadable_data_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="download MMLongBench-Doc"):
        list(load_mmlongbench(tmp_path))
    with pytest.raises(InputError, match="download FinanceBench"):
        list(load_financebench(tmp_path))
    (tmp_path / "samples.json").write_text("{}")
    with pytest.raises(InputError, match="expected a JSON array"):
        list(load_mmlongbench(tmp_path))
    (tmp_path / "questions.jsonl").write_text("not json")
    with pytest.raises(InputError, match="line 1"):
        list(load_financebench(tmp_path))
