"""Loaders: what becomes of sound and broken rows of each benchmark."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.benchmarks import BENCHMARKS, Question, load
from eval.sample import sample_pdf
from indexes.errors import InputError
from indexes.types import PageRef

MMLONGBENCH = {
    "doc_id": "a.pdf",
    "doc_type": "Guidebook",
    "question": "How many?",
    "answer": "3",
    "evidence_pages": "[5, 3]",
    "evidence_sources": "['Table']",
    "answer_format": "Int",
}


@pytest.fixture(scope="session")
def fifteen_pages() -> bytes:
    return sample_pdf()


@pytest.fixture
def mmlongbench(tmp_path: Path, fifteen_pages: bytes) -> Path:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents/a.pdf").write_bytes(fifteen_pages)
    return tmp_path


def write(path: Path, rows: Any) -> None:
    text = "\n".join(map(json.dumps, rows)) if path.suffix == ".jsonl" else json.dumps(rows)
    path.write_text(text, encoding="utf-8")


def all_problems(questions: list[Question]) -> list[str]:
    return ["; ".join(question.problems) for question in questions]


def test_a_row_becomes_a_question_with_sorted_pages_and_slices(mmlongbench: Path) -> None:
    write(mmlongbench / "samples.json", [MMLONGBENCH])
    kind = {"doc_id": "a.pdf", "question": "How  many? ", "task_type": "count", "requires_visual": True}
    write(mmlongbench / "question_types.json", [kind])
    (question,) = load("mmlongbench-v2", mmlongbench)
    assert question.gold_pages == (PageRef("a", 3), PageRef("a", 5)) and question.pages_in() == (3, 5)
    assert question.answerable and question.answer == "3" and question.answer_format == "Int"
    assert question.slices["task_type"] == ("count",) and question.slices["evidence_source"] == ("Table",)
    assert question.slices["evidence_pages"] == ("cross-page",)
    assert question.problems == () and question.row == MMLONGBENCH
    assert question.documents == (mmlongbench / "documents/a.pdf",)


def test_questions_are_grouped_by_pages_as_the_public_scorers_group_them(mmlongbench: Path) -> None:
    no = "Not answerable"
    told = [("3", "[3]"), ("3", "[3, 5]"), ("3", "[]"), (no, "[]"), (no, "[3, 5]"), (f"{no} or none", "[3]")]
    rows = [
        MMLONGBENCH | {"question": str(n), "answer": answer, "evidence_pages": pages}
        for n, (answer, pages) in enumerate(told)
    ]
    write(mmlongbench / "samples.json", rows)
    assert [q.slices["evidence_pages"] for q in load("mmlongbench-v2", mmlongbench)] == [
        ("single-page",),
        ("cross-page",),
        ("cross-page",),
        ("unanswerable",),
        ("unanswerable",),
        ("single-page", "unanswerable"),
    ]


def test_broken_rows_are_kept_and_say_what_is_wrong(mmlongbench: Path) -> None:
    rows = [
        MMLONGBENCH | {"evidence_pages": "[0]"},
        MMLONGBENCH | {"question": "1", "evidence_pages": "__import__('os').abort()"},
        MMLONGBENCH | {"question": "2", "answer": "Not answerable or 0 or none", "answer_format": "None"},
        MMLONGBENCH | {"question": "3", "doc_id": "gone.pdf"},
        MMLONGBENCH | {"question": "4", "evidence_pages": "[16, 2]"},
        MMLONGBENCH | {"question": "5", "evidence_pages": "[" * 90_000},
        MMLONGBENCH | {"question": "6", "evidence_pages": "[" + "1, " * 90_000 + "]"},
        MMLONGBENCH | {"question": "7", "evidence_pages": "[True, 3.0, '4', 99999999999]"},
        MMLONGBENCH | {"question": "8", "doc_id": None, "evidence_sources": None, "answer_format": 7},
        MMLONGBENCH | {"question": "9", "answer": "21%"},
    ]
    write(mmlongbench / "samples.json", rows)
    questions = load("mmlongbench-v1", mmlongbench)
    problems = all_problems(questions)
    assert len({q.id for q in questions}) == len(rows)
    assert "expected a page from 1, got 0" in problems[0] and questions[0].gold_pages == ()
    assert "evidence_pages: expected a list" in problems[1]
    assert not questions[2].answerable and "unanswerable, but with" in problems[2]
    assert "gone.pdf: no such document" in problems[3]
    assert problems[4] == "gold page 16: a has 15 pages" and questions[4].pages_in() == (2, 16)
    assert "expected a list" in problems[5] and "expected a list" in problems[6]
    assert problems[7].count("expected a page") == 4 and problems[9] == "answer: '21%' cannot be read as Int"
    assert "plain name of a document" in problems[8] and "answer_format" in problems[8]


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", "a/../../b.pdf", "", "x\0.pdf"])
def test_a_document_name_cannot_leave_its_folder(mmlongbench: Path, name: str) -> None:
    write(mmlongbench / "samples.json", [MMLONGBENCH | {"doc_id": name}])
    (question,) = load("mmlongbench-v1", mmlongbench)
    assert question.documents[0].parent == mmlongbench / "documents"
    assert "plain name" in question.problems[0]


def test_a_question_that_occurs_twice_is_flagged(mmlongbench: Path) -> None:
    write(mmlongbench / "samples.json", [MMLONGBENCH, MMLONGBENCH | {"answer": "4"}])
    first, second = load("mmlongbench-v1", mmlongbench)
    assert first.problems == () and "already" in second.problems[0] and first.id != second.id


def test_v1_prefers_its_own_file(mmlongbench: Path) -> None:
    write(mmlongbench / "samples.json", [MMLONGBENCH])
    write(mmlongbench / "samples_v1.json", [MMLONGBENCH | {"answer": "4"}])
    assert load("mmlongbench-v1", mmlongbench)[0].answer == "4"
    assert load("mmlongbench-v2", mmlongbench)[0].answer == "3"


def test_a_broken_pdf_is_a_problem_of_its_questions_only(mmlongbench: Path) -> None:
    (mmlongbench / "documents/b.pdf").write_bytes(b"%PDF-1.4 nothing of a PDF follows")
    write(mmlongbench / "samples.json", [MMLONGBENCH | {"doc_id": "b.pdf"}, MMLONGBENCH])
    broken, sound = load("mmlongbench-v1", mmlongbench)
    assert "b.pdf" in broken.problems[0] and sound.problems == ()


def test_financebench_pages_count_from_one_after_loading(tmp_path: Path, fifteen_pages: bytes) -> None:
    (tmp_path / "pdfs").mkdir()
    (tmp_path / "pdfs/X_2022.pdf").write_bytes(fifteen_pages)
    evidence = [{"doc_name": "X_2022", "evidence_page_num": 0}, {"doc_name": "Y", "evidence_page_num": 3}]
    row = {"financebench_id": "f1", "doc_name": "X_2022", "question": "q", "answer": "a"}
    rows = [row | {"evidence": evidence}, row | {"evidence": []}, row | {"evidence": [3, {}]}]
    write(tmp_path / "financebench_open_source.jsonl", rows)
    first, second, third = load("financebench", tmp_path)
    assert first.pages_in() == (1,) and "another document" in first.problems[0]
    assert second.gold_pages == () and second.id == "f1#2"
    assert "expected an object, got 3" in third.problems[0] and "expected a page from 0" in third.problems[1]


DOCSCOPE = {
    "id": "a::q1",
    "split": "dev",
    "question": "How much?",
    "answer": {"answer_text": "$5", "is_answerable": True},
    "pdf": {"doc_id_str": "a"},
    "evidences": [{"local_id": "e1", "page": 2, "bbox": [119, 168.4, 595, 842], "element_type": "table"}],
    "facts": [{"local_id": "f1", "evidence_local_id": "e1", "text_description": "It was $5."}],
    "extract_class": "class1",
}


def docscope(tmp_path: Path, fifteen_pages: bytes, rows: Any) -> Path:
    (tmp_path / "pdfs").mkdir(exist_ok=True)
    (tmp_path / "pdfs/a.pdf").write_bytes(fifteen_pages)
    write(tmp_path / "benchmark.json", rows)
    return tmp_path


def test_docscope_pixels_become_shares_of_the_page(tmp_path: Path, fifteen_pages: bytes) -> None:
    from indexes.source import mupdf

    rect = mupdf().open("pdf", fifteen_pages)[1].rect
    (question,) = load("docscope", docscope(tmp_path, fifteen_pages, {"data": [DOCSCOPE]}))
    (region,) = question.gold_regions
    assert region.ref == PageRef("a", 2) and region.id == "e1" and region.element_type == "table"
    expected = [119 / 2 / rect.width, 168.4 / 2 / rect.height, 595 / 2 / rect.width, 842 / 2 / rect.height]
    assert region.bbox.as_list() == pytest.approx(expected)
    assert question.gold_facts[0].text == "It was $5." and question.gold_facts[0].region == "e1"
    assert question.problems == () and question.split == "dev"


def test_a_turned_page_is_measured_as_it_is_seen(tmp_path: Path, fifteen_pages: bytes) -> None:
    from indexes.source import mupdf

    document = mupdf().open("pdf", fifteen_pages)
    document[1].set_rotation(90)
    rect = document[1].rect
    box = [0, 0, rect.width * 2, rect.height]
    row = DOCSCOPE | {"evidences": [DOCSCOPE["evidences"][0] | {"bbox": box}]}  # type: ignore[index]
    (question,) = load("docscope", docscope(tmp_path, document.tobytes(), [row]))
    assert rect.width > rect.height
    assert question.gold_regions[0].bbox.as_list() == pytest.approx([0, 0, 1, 0.5])


def test_docscope_regions_and_facts_that_are_broken_are_listed(tmp_path: Path, fifteen_pages: bytes) -> None:
    region = {"local_id": "e1", "page": 2, "element_type": "text"}
    rows = [
        DOCSCOPE | {"evidences": [region | {"bbox": [10, 10, 5, 20]}]},
        DOCSCOPE | {"id": "2", "evidences": [region | {"bbox": [10, 10, 99_999, 20]}]},
        DOCSCOPE | {"id": "3", "evidences": [region | {"bbox": [1, 2, 3]}], "facts": [{"local_id": "f9"}]},
        DOCSCOPE | {"id": "4", "evidences": [region | {"page": 99, "bbox": [1, 2, 3, 4]}]},
        DOCSCOPE | {"id": "5", "evidences": "none", "pdf": None, "answer": {}},
        DOCSCOPE,
    ]
    questions = load("docscope", docscope(tmp_path, fifteen_pages, rows))
    problems = all_problems(questions)
    assert "expected x1 < x2" in problems[0] and questions[0].gold_regions == ()
    assert questions[0].pages_in() == (2,)
    assert "leaves its page" in problems[1]
    assert "expected four numbers" in problems[2] and "fact f9: no evidence ''" in problems[2]
    assert "gold page 99: a has 15 pages" in problems[3]
    assert "list of objects" in problems[4] and "plain name" in problems[4] and "is_answerable" in problems[4]
    assert "stands in the file already" in problems[5] and questions[5].id == "a::q1#2"


def test_a_split_is_chosen_by_name_and_another_is_refused(tmp_path: Path, fifteen_pages: bytes) -> None:
    rows = [DOCSCOPE, DOCSCOPE | {"id": "2", "split": "test"}]
    data = docscope(tmp_path, fifteen_pages, rows)
    assert [q.id for q in load("docscope", data, "test")] == ["2"]
    with pytest.raises(InputError, match="no split 'train'; it has dev, test"):
        load("docscope", data, "train")


def test_documents_may_lie_elsewhere(tmp_path: Path, fifteen_pages: bytes) -> None:
    data = docscope(tmp_path, fifteen_pages, [DOCSCOPE])
    (data / "pdfs").rename(data / "elsewhere")
    assert "no such document" in load("docscope", data)[0].problems[0]
    assert load("docscope", data, pdfs=data / "elsewhere")[0].problems == ()


LONGDOCURL = {
    "question_id": "q1",
    "doc_no": "4055915",
    "total_pages": 3,
    "start_end_idx": [1, 3],
    "question_type": "calculate",
    "question": "How many?",
    "answer": 5,
    "detailed_evidences": "On page 3, <box>(0.1, 0.2, 0.3, 0.4)</box>, and page 9.",
    "evidence_pages": [3],
    "evidence_sources": ["Table", "Others"],
    "answer_format": "Integer",
    "task_tag": "Reasoning",
}


def longdocurl(tmp_path: Path, *rows: dict[str, Any], pages: tuple[int, ...] = (0, 1, 2)) -> Path:
    from PIL import Image

    folder = tmp_path / "pdf_pngs/4000-4999/4055"
    folder.mkdir(parents=True)
    for name in [*(f"4055915_{n}" for n in pages), "4055999_0", "4055999_1"]:
        Image.new("RGB", (60, 80), "white").save(folder / f"{name}.png")
    write(tmp_path / "LongDocURL.jsonl", rows)
    return tmp_path


def test_a_longdocurl_document_is_its_own_images_of_a_shared_folder(tmp_path: Path) -> None:
    from indexes.document import Document

    (question,) = load("longdocurl", longdocurl(tmp_path, LONGDOCURL))
    assert question.answer == "5" and question.pages_in() == (3,) and question.problems == ()
    assert question.slices["sub_task"] == ("Reasoning / Single-Page / Table",)
    (region,) = question.gold_regions
    assert region.ref == PageRef("4055915", 3) and region.bbox.as_list() == [0.1, 0.2, 0.3, 0.4]
    with Document.open(question.documents[0], ocr=False) as document:
        assert len(document) == 3 and document.doc_id == "4055915"


def test_longdocurl_rows_that_are_broken_say_why(tmp_path: Path) -> None:
    rows = [
        LONGDOCURL | {"evidence_pages": [0, 4], "question_id": "a"},
        LONGDOCURL | {"doc_no": "../../secret", "question_id": "b"},
        LONGDOCURL | {"doc_no": "1234567", "question_id": "c"},
        LONGDOCURL | {"detailed_evidences": "<box>(2, 0, 1, 1)</box>", "question_id": "d"},
        LONGDOCURL | {"task_tag": "Locating", "question_type": "summary2tab", "answer": ["A", "B"]},
        LONGDOCURL | {"question_id": "f", "answer": [], "answer_format": "List"},
    ]
    questions = load("longdocurl", longdocurl(tmp_path, *rows))
    problems = all_problems(questions)
    assert "got 0" in problems[0] and "document of 3 pages" in problems[0] and "has 3 pages" in problems[0]
    assert "doc_no" in problems[1] and questions[1].documents[0].is_relative_to(tmp_path)
    assert "neither page images" in problems[2]
    assert "no normalized box" in problems[3]
    assert (
        questions[4].answer == "['A', 'B']"
        and problems[4] == "answer: \"['A', 'B']\" cannot be read as Integer"
    )
    assert problems[5] == "answer: '[]' cannot be read as List"
    assert questions[4].slices["sub_task"] == ("Locating / Cross-Table",)


def test_questions_fall_into_the_20_sub_tasks_of_the_paper(tmp_path: Path) -> None:
    elements = ["Text", "Layout", "Figure", "Table"]
    rows = [
        LONGDOCURL | {"question_id": f"{task}{pages}", "task_tag": task, "evidence_pages": pages}
        | {"evidence_sources": [*elements, "Table", "Others"]}
        for task in ("Understanding", "Reasoning")
        for pages in ([1], [1, 3])
    ]  # fmt: skip
    kinds = ("topic2title", "summary2title", "summary2tab", "extract_fig2tab", "unheard of")
    rows += [LONGDOCURL | {"question_id": k, "task_tag": "Locating", "question_type": k} for k in kinds]
    cells = [cell for q in load("longdocurl", longdocurl(tmp_path, *rows)) for cell in q.slices["sub_task"]]
    assert len(cells) == len(set(cells)) == 20
    assert "Understanding / Multi-Page / Layout" in cells and "Locating / Figure-Table" in cells


def test_missing_page_images_are_a_problem_because_they_shift_pages(tmp_path: Path) -> None:
    (question,) = load("longdocurl", longdocurl(tmp_path, LONGDOCURL, pages=(0, 2)))
    assert "some are missing" in question.problems[0]


XL = {
    "question_id": "adubench_single_000001",
    "question": "Which?",
    "answer": {"value": 12.5, "format": "Float", "verification_rule": "numeric"},
    "document": {
        "document_id": "d1",
        "evidence_pages": [9, 2],
        "evidence_page_numbering": "pdf_index",
        "evidence_items": [{"pages": [2], "quote": "12.5"}],
    },
    "metadata": {"is_unanswerable": False, "domain": "finance", "reasoning_type": "ranking"},
}


def xldocbench(tmp_path: Path, fifteen_pages: bytes) -> Path:
    (tmp_path / "pdfs").mkdir()
    for name in ("d1", "d2"):
        (tmp_path / f"pdfs/{name}.pdf").write_bytes(fifteen_pages)
    lengths = [{"document_id": "d1", "page_count": 15}, {"document_id": "d2", "page_count": 60}]
    write(tmp_path / "documents.jsonl", lengths)
    write(tmp_path / "qa_single_doc.jsonl", [XL, XL | {"question_id": "u", "metadata": {}}])
    cross = {key: value for key, value in XL.items() if key != "document"}
    first, second = XL["document"], {"document_id": "d2", "evidence_pages": [4]}
    write(tmp_path / "qa_cross_doc.jsonl", [cross | {"question_id": "x", "documents": [first, second]}])
    return tmp_path


def test_cross_document_gold_pages_say_their_document(tmp_path: Path, fifteen_pages: bytes) -> None:
    single, unsure, cross = load("xldocbench", xldocbench(tmp_path, fifteen_pages))
    assert single.answer == "12.5" and single.answer_format == "numeric" and single.problems == ()
    assert single.slices["context_length"] == ("up to 50",) and single.slices["evidence_span"] == ("2-10",)
    assert cross.gold_pages == (PageRef("d1", 2), PageRef("d1", 9), PageRef("d2", 4))
    assert cross.pages_in(cross.documents[1]) == (4,)
    assert cross.slices["documents"] == ("cross-document",)
    assert cross.slices["context_length"] == ("51-100",)
    assert "is_unanswerable" in unsure.problems[0]


def test_a_page_beyond_one_of_several_documents_is_named(tmp_path: Path, fifteen_pages: bytes) -> None:
    data = xldocbench(tmp_path, fifteen_pages)
    entry = {"document_id": "d2", "evidence_pages": [99], "evidence_page_numbering": "printed"}
    write(data / "qa_cross_doc.jsonl", [XL | {"question_id": "y", "documents": [XL["document"], entry]}])
    problems = load("xldocbench", data)[2].problems
    assert problems == (
        "evidence_page_numbering: expected pdf_index, got 'printed'",
        "gold page 99: d2 has 15 pages",
    )


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_missing_data_is_one_line_that_says_what_to_download(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"download .* put") as caught:
        load(name, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("samples.json", "{}", "expected a JSON array"),
        ("samples.json", "[1]", "row 1: expected an object"),
        ("samples.json", "[" * 200_000, "not readable as JSON"),
        ("samples.json", "\x00", "not readable as JSON"),
    ],
)
def test_unreadable_data_is_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        load("mmlongbench-v1", tmp_path)


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text('{"doc_name": "a"}\n{"doc_name": ')
    with pytest.raises(InputError, match="line 2 is not JSON"):
        load("financebench", tmp_path)


def test_a_misspelled_benchmark_is_met_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean longdocurl"):
        load("longdocrul", tmp_path)
    with pytest.raises(InputError, match="there are docscope, mmlongbench-v1"):
        load("xyz", tmp_path)


@pytest.mark.parametrize(
    ("name", "folder", "count"),
    [
        ("mmlongbench-v2", "mmlongbench", 235),
        ("financebench", "financebench", 40),
        ("longdocurl", "longdocurl", 1),
    ],
)
def test_the_development_data_loads(shared_data: Path, name: str, folder: str, count: int) -> None:
    questions = load(name, shared_data / folder)
    assert len(questions) == count == len({question.id for question in questions})
    assert not [q.id for q in questions if any("no such document" in p for p in q.problems)]


def test_the_docscope_style_data_loads_with_its_regions(shared_data: Path) -> None:
    questions = load("docscope", shared_data / "docscope_style", pdfs=shared_data / "financebench/pdfs")
    regions = [region for question in questions for region in question.gold_regions]
    assert len(questions) == 28 and len(regions) == 40
    assert all(question.problems == () for question in questions)
    assert sum(region.bbox.area for region in regions) / 40 == pytest.approx(0.06, abs=0.03)


def test_the_command_counts_a_benchmark_and_lists_its_problems(
    tmp_path: Path, fifteen_pages: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    from eval.benchmarks.__main__ import main

    rows = [DOCSCOPE, DOCSCOPE | {"id": "bad\x1b[2J", "evidences": []}]
    data = docscope(tmp_path, fifteen_pages, rows)
    assert main(["docscope", "--data", str(data)]) == 0
    text = capsys.readouterr().out
    assert "release            none, or not all of it" in text and "splits             dev 2" in text
    assert "bad?[2J: fact f1: no evidence 'e1' in the row; answerable, but without evidence\n" in text
    assert main(["docscope", "--data", str(data), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["questions"] == 2 and found["gold_regions"] == 1 and found["with_problems"] == 1
    with pytest.raises(InputError, match="did you mean docscope"):
        main(["docscop", "--data", str(data)])


def test_which_release_a_number_is_from_is_said() -> None:
    assert BENCHMARKS["xldocbench"].release(1519) == "the larger release"
    assert BENCHMARKS["xldocbench"].release(1345) == "the smaller release"
    assert BENCHMARKS["xldocbench"].release(7) == ""
