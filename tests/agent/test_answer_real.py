"""The command on a real PDF, with the real document, index, retriever and reader."""

import json
from pathlib import Path

import pytest

from agent.answer import answer, main
from agent.trajectory import Trajectory
from indexes.errors import InputError

TEXTS = [
    "Harbour Lights Annual Review",
    "The company was founded in Tromso in 1987 by Ingrid Solberg.",
    "In 2023 the company sold 4,812 lamps, up from 3,950 lamps in 2022.",
    "Lamps are repaired free of charge for seven years.",
]


@pytest.fixture(scope="module")
def pdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import pymupdf

    document = pymupdf.open()
    for number, text in enumerate(TEXTS, start=1):
        page = document.new_page()
        page.insert_text((72, 100), text, fontsize=14 if number == 1 else 11)
        page.insert_text((300, 800), str(number + 6), fontsize=9)
    file = tmp_path_factory.mktemp("real") / "review.pdf"
    document.save(file)
    document.save(file.with_name("locked.pdf"), encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret")
    return file


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    torch.set_num_threads(1)
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path_factory.getbasetemp() / "answer-cache"))


def test_a_question_is_answered_with_its_page_and_box(pdf: Path) -> None:
    run = answer(pdf, "How many lamps did the company sell in 2023?")
    assert run.failure is None and run.stop in ("answered", "abstained")
    (fact, *_) = [fact for fact in run.facts if "4,812" in fact.quote]
    (region,) = fact.regions
    assert region.ref.page == 3 and fact.support == "exact"
    # The line of text at 100 points of 842, set in 11 points from 72 of 595.
    assert region.bbox.x1 == pytest.approx(72 / 595, abs=0.01)
    assert region.bbox.y1 < 100 / 842 < region.bbox.y2 + 0.01 and region.bbox.y2 - region.bbox.y1 < 0.03
    assert run.labels[region.ref] == "9"
    assert Trajectory.from_row(json.loads(run.line())).line() == run.line()


def test_two_runs_of_the_command_give_the_same_row_but_for_times(pdf: Path, capsys) -> None:
    def timeless(value):
        if isinstance(value, dict):
            return {k: timeless(v) for k, v in value.items() if k not in ("seconds", "timings")}
        return [timeless(v) for v in value] if isinstance(value, list) else value

    rows = []
    for _ in range(2):
        assert main([str(pdf), "Who founded the company?", "--json", "--quiet"]) == 0
        rows.append(timeless(json.loads(capsys.readouterr().out)))
    assert rows[0] == rows[1] and rows[0]["status"] == "ok"


def test_a_locked_document_needs_its_password(pdf: Path, capsys) -> None:
    locked = str(pdf.with_name("locked.pdf"))
    for arguments in ([], ["--password", "wrong"]):
        with pytest.raises(InputError, match=r"locked\.pdf") as caught:
            main([locked, "Who founded the company?", "--quiet", *arguments])
        assert "password" in str(caught.value) and "\n" not in str(caught.value)
    assert main([locked, "Who founded the company?", "--quiet", "--password", "secret"]) == 0
    assert "Solberg" in capsys.readouterr().out


def test_an_output_folder_holds_the_row_pictures_and_a_marked_pdf(pdf: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "out"
    assert main([str(pdf), "Who founded the company?", "--quiet", "--out", str(out)]) == 0
    row = json.loads((out / "answer.json").read_text(encoding="utf-8"))
    names = {file.name for file in out.iterdir()}
    pages = row["parsed"]["predicted_pages"]
    assert names == {"answer.html", "answer.json", "answer.pdf", *(f"page-{page:04d}.png" for page in pages)}
