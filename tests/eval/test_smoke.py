"""The small benchmark that the repository makes itself."""

import json
from pathlib import Path

import pytest

from eval import smoke
from eval.benchmarks import load
from indexes.errors import InputError


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("smoke")
    smoke.write_benchmark(folder)
    return folder


def test_it_has_ten_sound_questions_on_two_documents_one_of_them_unanswerable(data: Path) -> None:
    questions = load("docscope", data)
    assert len(questions) == 10
    assert {q.problems for q in questions} == {()}
    assert {path.name for q in questions for path in q.documents} == {"report.pdf", "highlights.pdf"}
    assert [q.id for q in questions if not q.answerable] == ["smoke-08"]
    assert all(q.gold_regions and q.gold_facts and q.gold_pages for q in questions if q.answerable)


def test_every_gold_region_holds_the_words_of_its_fact(data: Path) -> None:
    import pymupdf

    for row in json.loads((data / "benchmark.json").read_text()):
        with pymupdf.open(data / "pdfs" / f"{row['pdf']['doc_id_str']}.pdf") as document:
            for evidence in row["evidences"]:
                page = document[evidence["page"] - 1]
                if not page.get_text().strip():
                    continue  # the scan
                box = pymupdf.Rect([value / 2 for value in evidence["bbox"]])  # 144 DPI
                text = page.get_textbox(box + (-2, -2, 2, 2))
                number = row["answer"]["answer_text"].split()[0]
                assert number in text or row["id"] == "smoke-02", (row["id"], text)
                assert box.get_area() < 0.06 * page.rect.get_area()


def test_the_same_bytes_come_out_again(data: Path, tmp_path: Path) -> None:
    smoke.write_benchmark(tmp_path)
    for name in ("benchmark.json", "pdfs/report.pdf", "pdfs/highlights.pdf"):
        assert (tmp_path / name).read_bytes() == (data / name).read_bytes()


def test_the_command_wants_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["smoke"])
    with pytest.raises(InputError, match="expected the folder to write to"):
        smoke.main()
