"""Predictions written for the public scorers and read back; anyone's predictions joined to questions."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.benchmarks import Question
from eval.exports import EXPORTS, from_row, read_predictions, write_export
from eval.exports.short import shorten, tagged_or_said
from indexes.errors import InputError
from indexes.types import BBox, PageRef

PROSE = 'Net sales were $5 [page=3, doc_page="1", bbox=[0.1, 0.2, 0.3, 0.4]].\n<answer> {answer} </answer>'


def question(name: str, number: int, answer_format: str = "Int") -> Question:
    own = {
        "docscope": {"id": f"q{number}"},
        "longdocurl": {"question_id": f"q{number}", "answer_format": answer_format},
        "xldocbench": {"question_id": f"q{number}"},
        "financebench": {"financebench_id": f"q{number}"},
    }
    row = own.get(name, {"doc_id": "a.pdf", "question": f"How  many {number}?", "answer": "5"})
    ours = f"a.pdf::{number}" if name.startswith("mmlongbench") else f"q{number}"
    text = str(row.get("question", "How many?"))
    return Question(ours, text, (Path("a.pdf"),), "5", answer_format, (PageRef("a", 3),), True, row=row)


def row(question_id: str, answer: str = "5") -> dict[str, Any]:
    from agent.citations import parse_model_raw

    raw = PROSE.format(answer=answer)
    parsed = parse_model_raw(raw).as_json()
    return {"question_id": question_id, "model": "m", "model_raw": raw, "parsed": parsed, "status": "ok"}


def write_lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", sorted(EXPORTS))
def test_each_export_reads_back_as_it_was(name: str, tmp_path: Path) -> None:
    questions = [question(name, n) for n in range(4)]
    rows = [row(q.id, answer) for q, answer in zip(questions, ["5", "Unanswerable", "7 pages"], strict=False)]
    rows.append({"question_id": questions[3].id, "model": "m", "status": "error: broken"})
    run = write_lines(tmp_path / "infer.jsonl", rows)
    own = read_predictions(name, run, questions)
    assert not (own.missing or own.unknown or own.duplicates or own.broken)
    out = tmp_path / f"{name}.json"
    assert write_export(name, questions, own.predictions, out) == 4
    back = read_predictions(name, out, questions)
    assert not (back.missing or back.unknown or back.duplicates or back.broken)
    said = [back.predictions[q.id].answer for q in questions[:3]]
    short = EXPORTS[name].short
    abstention = "Not answerable" if short else "Unanswerable"
    assert said == ["5", abstention, "7" if short else "7 pages"]
    failed = back.predictions[questions[3].id]
    if name == "docscope":
        assert back.predictions == own.predictions and failed.failure == "error: broken"
    else:
        assert failed.answer in ("", "Fail to answer", "Fail to extract")


def test_what_the_public_scorers_join_by_stands_in_the_rows(tmp_path: Path) -> None:
    expected = {
        "docscope": {"question_id", "model_raw", "parsed", "status"},
        "mmlongbench-v1": {"doc_id", "question", "answer", "pred"},
        "mmlongbench-v2": {"doc_id", "question", "response"},
        "longdocurl": {"question_id", "answer_format", "pred"},
        "xldocbench": {"question_id", "prediction"},
        "financebench": {"financebench_id", "model_answer"},
    }
    for name, keys in expected.items():
        asked = [question(name, 1)]
        predictions = {asked[0].id: from_row(asked[0], row(asked[0].id))}
        write_export(name, asked, predictions, tmp_path / "out")
        text = (tmp_path / "out").read_text(encoding="utf-8")
        (written,) = map(json.loads, text.splitlines()) if EXPORTS[name].lines else json.loads(text)
        assert keys <= set(written), name


def test_rows_are_joined_and_nothing_disappears(tmp_path: Path) -> None:
    questions = [question("xldocbench", n) for n in range(3)]
    rows = [
        {"question_id": "q0", "prediction": "first"},
        {"question_id": "q0", "prediction": "second"},
        {"question_id": "q9", "prediction": "whose?"},
        {"question_id": "q1", "output": 12.5},
        {"question_id": "q2", "prediction": None},
        {"prediction": "no key"},
    ]
    found = read_predictions("xldocbench", write_lines(tmp_path / "p.jsonl", rows), questions)
    assert found.predictions["q0"].answer == "first" and found.duplicates == ("q0",)
    assert found.unknown == ("q9",) and found.missing == ("q2",)
    assert found.predictions["q1"].answer == "12.5"
    assert found.broken == (
        "row 5: no prediction or model_answer or answer or response or output",
        "row 6: no key",
    )
    lacking = found.predictions["q2"]
    assert lacking.failure is not None and lacking.failure.startswith("missing") and lacking.pages is None


@pytest.mark.parametrize("name", sorted(set(EXPORTS) - {"docscope"}))
def test_an_empty_response_is_a_failure_and_no_answer(name: str, tmp_path: Path) -> None:
    asked = question(name, 1)
    key = {
        k: asked.row[k] for k in ("doc_id", "question", "question_id", "financebench_id") if k in asked.row
    }
    path = write_lines(tmp_path / "p.jsonl", [key | {EXPORTS[name].fields[0]: " \n"}])
    found = read_predictions(name, path, [asked])
    assert found.predictions[asked.id].failure == "error: the response is empty" and found.missing == ()


def test_white_space_in_a_question_does_not_part_it_from_its_prediction(tmp_path: Path) -> None:
    rows = [{"doc_id": "a.pdf", "question": " How many\n1? ", "response": "Five: <answer>5</answer>"}]
    (tmp_path / "p.json").write_text(json.dumps(rows))
    asked = question("mmlongbench-v2", 1)
    found = read_predictions("mmlongbench-v2", tmp_path / "p.json", [asked])
    assert found.predictions[asked.id].answer == "5" and found.missing == ()


def test_a_question_that_the_benchmark_asks_twice_takes_its_rows_in_order(tmp_path: Path) -> None:
    first, second = question("mmlongbench-v1", 1), question("mmlongbench-v1", 1)
    questions = [first, Question(**{**as_dict(second), "id": "a.pdf::2"})]
    rows = [{"doc_id": "a.pdf", "question": "How many 1?", "pred": pred} for pred in ("4", "5", "6")]
    (tmp_path / "p.json").write_text(json.dumps(rows))
    found = read_predictions("mmlongbench-v1", tmp_path / "p.json", questions)
    assert [found.predictions[q.id].answer for q in questions] == ["4", "5"]
    assert found.duplicates == ("a.pdf: How many 1?",)


def as_dict(asked: Question) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in Question.__dataclass_fields__}


def test_several_predictions_are_kept_for_the_best_to_count(tmp_path: Path) -> None:
    rows = [{"question_id": "q1", "pred": ["4", "5"], "multiple_pred": True}]
    asked = question("longdocurl", 1)
    found = read_predictions("longdocurl", write_lines(tmp_path / "p.jsonl", rows), [asked])
    assert found.predictions["q1"].several == ("4", "5")


def test_a_row_gives_its_pages_boxes_and_sentences() -> None:
    asked = question("docscope", 1)
    prediction = from_row(asked, row("q1"))
    assert prediction.pages == (PageRef("a", 3),)
    assert prediction.boxes == ((PageRef("a", 3), BBox(0.1, 0.2, 0.3, 0.4)),)
    assert prediction.boxes_on(PageRef("a", 4)) == ()
    assert prediction.sentences == (("Net sales were $5.", PageRef("a", 3)),)


def test_a_box_not_marked_as_normalized_is_dropped_as_the_public_scorer_does_and_counted() -> None:
    citation = {"page": 3, "bbox": [0.1, 0.2, 0.3, 0.4], "sentence": "s"}
    bad = citation | {"is_normalized": True, "bbox": [1, 2, "x", 4]}
    parsed = {"answer": None, "citations": [citation, bad, 5], "predicted_pages": [3, 0, "x", True]}
    prediction = from_row(
        question("docscope", 1), {"question_id": "q1", "parsed": parsed, "model_raw": "It is 5."}
    )
    assert prediction.boxes == () and prediction.dropped == 2
    assert prediction.pages == (PageRef("a", 3), PageRef("a, page 0", 1))  # a page 0 is a wrong page
    assert prediction.answer == "It is 5." and not prediction.has_tag


def test_a_citation_of_one_of_several_documents_says_which() -> None:
    asked = question("xldocbench", 1)
    asked = Question(**{**as_dict(asked), "documents": (Path("a.pdf"), Path("b.pdf"))})
    citations = [{"page": 3, "doc": "b"}, {"page": 4}, {"page": 5, "doc": "c"}]
    parsed = {"answer": "5", "citations": citations, "predicted_pages": [3, 4, 5]}
    prediction = from_row(asked, {"question_id": "q1", "parsed": parsed, "model_raw": ""})
    assert prediction.pages == (PageRef("b", 3),) and prediction.dropped == 3


@pytest.mark.parametrize("bad", [{"status": "ok"}, {"status": None}, {"status": "error: x"}, {"parsed": 5}])
def test_a_row_without_an_answer_is_a_failure_that_says_why(bad: dict[str, Any]) -> None:
    assert from_row(question("docscope", 1), {"question_id": "q1"} | bad).failure


def test_what_is_not_there_or_no_json_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_predictions("docscope", tmp_path, [])
    (tmp_path / "p").write_text("{'a'")
    with pytest.raises(InputError, match="line 1 is not JSON"):
        read_predictions("docscope", tmp_path / "p", [])
    with pytest.raises(InputError, match="no prediction"):
        write_export("docscope", [question("docscope", 1)], {}, tmp_path / "out")


@pytest.mark.parametrize(
    ("answer", "answer_format", "expected"),
    [
        ("Unanswerable", "Int", "Not answerable"),
        ("unanswerable.", "Str", "Not answerable"),
        ("About 1,577 units", "Int", "1577"),
        ("35%", "Int", "35"),
        ("12.00", "Integer", "12"),
        ("18.29%", "Float", "18.29%"),
        ("$1,577.5 million", "Float", "1577.5"),
        ("from 3 to 5", "Int", "from 3 to 5"),
        ("FY2019: 4", "Int", "4"),
        ("red, green and blue", "List", "['red', 'green', 'blue']"),
        ("1,234; 5", "List", "['1,234', '5']"),
        ("- red\n- sea, blue", "List", "['red', 'sea, blue']"),
        ("['a', 'b']", "List", "['a', 'b']"),
        ("[a, b]", "List", "['a', 'b']"),
        ("Acme Corp.", "Str", "Acme Corp"),
        ("The U.S. office.", "Str", "The U.S. office."),
    ],
)
def test_answers_are_brought_into_the_form_of_their_format(
    answer: str, answer_format: str, expected: str
) -> None:
    assert shorten(answer, answer_format) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<answer>4</answer> no, <ANSWER> 5 </ANSWER>", "5"),
        ("So the answer is 5", "5"),
        ("Reasoning.\nAnswer: 5", "5"),
        ("Just 5", "Just 5"),
    ],
)
def test_a_short_answer_is_found_in_a_response(text: str, expected: str) -> None:
    assert tagged_or_said(text) == expected


def make_run(folder: Path, name: str, data: Path, rows: list[dict[str, Any]]) -> Path:
    from eval.benchmarks import load
    from eval.digest import data_digest
    from eval.identity import FORMAT

    questions = load(name, data)
    folder.mkdir()
    told = {"name": name, "data": str(data), "pdfs": None, "split": None}
    identity = {"benchmark": name, "data": data_digest(questions), "config": {}}
    manifest = {"format": FORMAT, "identity": identity, "benchmark": told, "sittings": []}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "ids.txt").write_text("".join(f"{q.id}\n" for q in questions))
    write_lines(folder / "infer.jsonl", rows)
    return folder


def test_the_command_writes_every_question_of_a_run_also_those_that_failed(
    tmp_path: Path, sample_pdf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from eval.exports.__main__ import main

    data = tmp_path / "data"
    (data / "documents").mkdir(parents=True)
    (data / "documents/a.pdf").write_bytes(sample_pdf.read_bytes())
    rows = [
        {
            "doc_id": "a.pdf", "doc_type": "t", "question": f"q{n}", "answer": "5", "evidence_pages": "[3]",
            "evidence_sources": "[]", "answer_format": "Int",
        }
        for n in range(3)
    ]  # fmt: skip
    (data / "samples.json").write_text(json.dumps(rows))
    failed = {"question_id": "a.pdf::1", "status": "error: no luck"}
    run = make_run(tmp_path / "run", "mmlongbench-v1", data, [row("a.pdf::0"), failed])
    with (run / "infer.jsonl").open("a") as file:
        file.write('{"question_id": "a.pdf::2", "stat')  # torn by a kill
    assert main([str(run), "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "3 rows for 3 questions" in said and "1 answered, 1 failed, 1 without a row" in said
    written = json.loads((tmp_path / "predictions.json").read_text())
    assert [one["pred"] for one in written] == ["5", "Fail to answer", "Fail to answer"]
    assert written[0]["answer"] == "5" and written[0]["doc_id"] == "a.pdf"


def test_the_command_refuses_what_is_no_run(tmp_path: Path) -> None:
    from eval.exports.__main__ import main

    with pytest.raises(InputError, match="no such folder"):
        main([str(tmp_path / "none"), "--out", str(tmp_path)])
    with pytest.raises(InputError):
        main([str(tmp_path), "--out", str(tmp_path)])


HOSTILE = [
    "(" * 50_000,
    "a" + " " * 50_000 + "b",
    "1" * 50_000 + "a1",
    "x and " * 8_000 + ",",
    "<answer>" * 6_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=["parentheses", "spaces", "digits", "words", "tags"])
def test_hostile_predictions_are_scored_in_time_linear_in_their_length(text: str) -> None:
    import time

    from eval.metrics import answers, longdocurl, mmlongbench, xldocbench

    began = time.process_time()
    for answer_format in ("Int", "Integer", "Float", "Str", "String", "List", "None"):
        short = shorten(tagged_or_said(text), answer_format)
        assert mmlongbench.score_answer("3", short, answer_format) in (0.0, 1.0)
        assert longdocurl.score_answer("3", text, answer_format) in (0.0, 1.0)
    assert xldocbench.score_answer("B", text, "single_choice")["accuracy"] == 0.0
    assert answers.score_answer("$5 million", text) is False
    assert time.process_time() - began < 5
