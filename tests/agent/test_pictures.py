"""Pictures of an answer are looked at by people: numbers and boxes must stand where the facts say."""

from pathlib import Path

import numpy as np
import pymupdf
import pytest
from PIL import Image

from agent.pictures import RED, Mark, draw_marks, marks_by_page, write_pictures
from agent.trajectory import Trajectory
from agent.types import DraftAnswer, EvidenceRegion, Fact, Plan
from indexes.document import Document
from indexes.types import BBox, PageRef


def trajectory(doc_id: str, *boxes: tuple[int, BBox], answer: str = "42") -> Trajectory:
    facts = tuple(
        Fact(f"f{i}", f"Fact {i}.", f"quote {i}", (EvidenceRegion(PageRef(doc_id, page), box),), "exact", 1)
        for i, (page, box) in enumerate(boxes, 1)
    )
    reply = DraftAnswer(answer, tuple(fact.id for fact in facts) if answer == "42" else (), "why", 1.0)
    plan = Plan("span", ("q",), ("q",))
    return Trajectory("id", "q", {doc_id: {}}, "m", plan, (), facts, reply, "answered")


def is_red(picture: Image.Image, x: float, y: float) -> bool:
    return picture.getpixel((round(x), round(y))) == RED


def test_a_box_is_drawn_around_its_region_and_nothing_inside_it() -> None:
    picture = draw_marks(Image.new("RGB", (1000, 800), "white"), [Mark("1", BBox(0.2, 0.25, 0.6, 0.5), "")])
    assert is_red(picture, 400, 199) and is_red(picture, 400, 401)
    assert is_red(picture, 199, 300) and is_red(picture, 601, 300)
    inside = np.asarray(picture)[202:398, 202:598]
    assert (inside == 255).all()


def test_the_given_image_is_left_as_it_was() -> None:
    image = Image.new("RGB", (100, 100), "white")
    draw_marks(image, [Mark("1", BBox(0.2, 0.2, 0.6, 0.5), "")])
    assert image.getextrema() == ((255, 255),) * 3


def test_an_abstention_shows_the_nearest_evidence() -> None:
    run = trajectory("d", (2, BBox(0, 0, 0.1, 0.1)), answer="Unanswerable")
    assert list(marks_by_page(run)) == [PageRef("d", 2)]


def test_every_cited_page_gets_a_picture_and_the_marked_pdf_holds_the_same_pages(
    sample_pdf: Path, tmp_path: Path
) -> None:
    box = BBox(0.1, 0.29, 0.85, 0.32)
    with Document.open(sample_pdf, ocr=False) as document:
        run = trajectory(
            document.doc_id, (10, box), (3, BBox(0.1, 0.1, 0.5, 0.2)), (10, BBox(0, 0, 0.2, 0.1))
        )
        written = write_pictures([document], run, tmp_path)
    assert [path.name for path in written] == ["page-0003.png", "page-0010.png", "answer.pdf"]
    with pymupdf.open(tmp_path / "answer.pdf") as marked, pymupdf.open(sample_pdf) as original:
        second = marked[1]
        highlights = [a for a in second.annots() if a.type[1] == "Highlight"]
        assert [a.info["content"].splitlines()[0] for a in highlights] == ["f1: Fact 1.", "f3: Fact 3."]
        rect, page = highlights[0].rect, second.rect
        assert rect.y0 / page.height == pytest.approx(box.y1, abs=0.02)
        assert rect.y1 / page.height == pytest.approx(box.y2, abs=0.02)
        for copied, source in zip(marked, (original[2], original[9]), strict=True):
            assert copied.get_text().startswith(source.get_text().rstrip())


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_highlights_stand_right_on_rotated_and_cropped_pages(tmp_path: Path, rotation: int) -> None:
    path = tmp_path / "turned.pdf"
    with pymupdf.open() as made:
        page = made.new_page(width=400, height=600)
        page.insert_text((150, 250), "HERE", fontsize=20)
        page.set_cropbox(pymupdf.Rect(50, 100, 350, 500))
        page.set_rotation(rotation)
        made.save(path)
    with Document.open(path, ocr=False) as document:
        (word,) = document.page(1).words
        write_pictures([document], trajectory(document.doc_id, (1, word.bbox)), tmp_path)
    with pymupdf.open(tmp_path / "answer.pdf") as marked:
        page = marked[0]
        (highlight,) = [a for a in page.annots() if a.type[1] == "Highlight"]
        assert page.get_textbox(highlight.rect + (-2, -2, 2, 2)).split()[0] == "HERE"


def test_instructions_and_control_characters_stay_out_of_the_notes(sample_pdf: Path, tmp_path: Path) -> None:
    with Document.open(sample_pdf, ocr=False) as document:
        region = (EvidenceRegion(PageRef(document.doc_id, 1), BBox(0, 0, 0.1, 0.1)),)
        fact = Fact("f1", "a\x1b[31mb\u202ec", "q", region, "exact", 1)
        run = trajectory(document.doc_id)
        run = Trajectory(
            "id",
            "q",
            {run.doc_id: {}},
            "m",
            run.plan,
            (),
            (fact,),
            DraftAnswer("a", ("f1",), "", 1.0),
            "answered",
        )
        assert marks_by_page(run)[region[0].ref][0].note.startswith("f1: a bc")
