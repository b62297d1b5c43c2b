"""Opening documents: what is seen of a page, labels and outline, failures, the cache of pages."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from indexes.document import Document
from indexes.errors import InputError
from indexes.files import find_files
from indexes.types import Page
from indexes.workers import WorkerPool
from tests.indexes.make_pdfs import TEXT, new_pdf, put_row, save, text_pdf


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"


def _check_boxes(page: Page, image: Image.Image) -> None:
    """Every word's box holds ink, and no ink is outside of all boxes."""
    dark = np.asarray(image.convert("L")) < 128
    covered = np.zeros_like(dark)
    height, width = dark.shape
    for word in page.words:
        x1, x2 = int(word.bbox.x1 * width) - 1, int(word.bbox.x2 * width) + 2
        y1, y2 = int(word.bbox.y1 * height) - 1, int(word.bbox.y2 * height) + 2
        assert dark[max(0, y1) : y2, max(0, x1) : x2].any(), word
        covered[max(0, y1) : y2, max(0, x1) : x2] = True
    assert not (dark & ~covered).any()


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_words_stand_where_they_are_seen_on_rotated_and_cropped_pages(tmp_path: Path, rotation: int) -> None:
    doc = new_pdf()
    page = doc.new_page(width=600, height=800)
    page.insert_text((150, 300), "north west corner", fontsize=14)
    page.insert_text((300, 500), "further down", fontsize=14)
    page.set_cropbox((100, 200, 500, 700))
    page.set_rotation(rotation)
    with Document.open(save(doc, tmp_path / "turned.pdf")) as opened:
        seen = opened.page(1)
        assert seen.size == ((400.0, 500.0) if rotation in (0, 180) else (500.0, 400.0))
        assert sorted(seen.words.texts) == sorted("north west corner further down".split())
        image = opened.render(1, dpi=72)
        assert image.size == tuple(round(side) for side in seen.size)
        _check_boxes(seen, opened.render(1, dpi=144))


def test_words_outside_the_cropbox_are_not_seen(tmp_path: Path) -> None:
    doc = new_pdf()
    page = doc.new_page(width=600, height=800)
    page.insert_text((50, 50), "hidden", fontsize=14)
    page.insert_text((150, 300), "shown", fontsize=14)
    page.set_cropbox((100, 200, 500, 700))
    with Document.open(save(doc, tmp_path / "cropped.pdf")) as opened:
        assert opened.page(1).words.texts == ("shown",)


def test_blocks_divide_the_words_of_a_page(tmp_path: Path) -> None:
    doc = new_pdf()
    page = doc.new_page()
    page.insert_text((72, 80), "A Heading in Large Letters", fontsize=20)
    page.insert_textbox((72, 100, 520, 300), TEXT * 6, fontsize=11)
    put_row(page, 330, {72: "Sales", 300: "2022", 400: "2021"})
    put_row(page, 345, {72: "Widgets", 300: "1,234", 400: "1,100"})
    put_row(page, 360, {72: "Gadgets", 300: "567", 400: "(89)"})
    page.insert_text((72, 390), "Table 4.16: Sales by product", fontsize=9)
    page.insert_text((72, 430), "•", fontsize=11)
    page.insert_text((84, 430), "an item of a list", fontsize=11)
    with Document.open(save(doc, tmp_path / "blocks.pdf")) as opened:
        seen = opened.page(1)
    assert [block.order for block in seen.blocks] == list(range(len(seen.blocks)))
    assert [i for block in seen.blocks for i in range(block.start, block.end)] == list(range(len(seen.words)))
    kinds = [block.kind for block in seen.blocks]
    assert kinds == ["title", "text", "table", "caption", "list"]
    table = seen.blocks[2]
    assert seen.blocks[3].caption_of == table.order
    rows = [[cell.text for cell in table.cells if cell.row == row] for row in range(3)]
    assert rows == [["Sales", "2022", "2021"], ["Widgets", "1,234", "1,100"], ["Gadgets", "567", "(89)"]]
    assert [cell.header for cell in table.cells] == [True] * 3 + [False] * 6
    for block in seen.blocks:
        assert block.text.split() == list(seen.words.texts[block.start : block.end])


def test_a_second_opening_needs_no_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = text_pdf(tmp_path / "doc.pdf", [TEXT, TEXT * 2, TEXT * 3])
    with Document.open(path) as first:
        before = list(first.pages())

    def refuse(self: WorkerPool, tasks: Any) -> Any:
        raise AssertionError("a worker was asked")

    monkeypatch.setattr(WorkerPool, "run", refuse)
    with Document.open(path) as second:
        after = list(second.pages())
    for a, b in zip(before, after, strict=True):
        assert a.ref == b.ref and a.text == b.text and a.blocks == b.blocks and a.size == b.size
        np.testing.assert_array_equal(a.words.boxes, b.words.boxes)


def test_a_changed_file_is_never_served_stale(tmp_path: Path) -> None:
    path = text_pdf(tmp_path / "doc.pdf", ["first edition"])
    with Document.open(path) as opened:
        assert opened.page(1).text == "first edition"
    text_pdf(path, ["second edition"])
    with Document.open(path) as opened:
        assert opened.page(1).text == "second edition"


def test_a_file_that_changes_while_it_is_open_is_refused(tmp_path: Path) -> None:
    from indexes.errors import InputError

    path = text_pdf(tmp_path / "doc.pdf", ["first edition"])
    with Document.open(path):
        pass  # its survey is cached, its pages are not
    with Document.open(path) as opened:
        text_pdf(path, ["second edition, longer"])
        with pytest.raises(InputError, match="changed while it was read"):
            opened.page(1)


def test_the_outline_leaves_out_what_leads_nowhere(tmp_path: Path) -> None:
    doc = new_pdf()
    for _ in range(3):
        doc.new_page()
    doc.set_toc([[1, "One", 1], [2, "  Two\nlines ", 2], [1, "Gone", -1]])
    with Document.open(save(doc, tmp_path / "toc.pdf")) as opened:
        assert [(e.level, e.title, e.page) for e in opened.outline] == [(1, "One", 1), (2, "Two lines", 2)]


def test_images_of_a_folder_come_in_natural_order(tmp_path: Path) -> None:
    folder = tmp_path / "4055"
    folder.mkdir()
    for number in (0, 1, 2, 10):
        Image.new("RGB", (100 + number, 200), "white").save(folder / f"4055915_{number}.png")
    (folder / "notes.txt").write_text("no page")
    with Document.open(folder, ocr=False) as opened:
        assert len(opened) == 4 and opened.doc_id == "4055"
        assert [opened.page(n).size for n in (1, 2, 3, 4)] == [
            (50.0, 100.0),
            (50.5, 100.0),
            (51.0, 100.0),
            (55.0, 100.0),
        ]
        assert opened.render(4, dpi=144).size == (110, 200)


def test_an_image_that_cannot_be_decoded_fails_alone(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    Image.new("RGB", (80, 80), "white").save(folder / "1.png")
    (folder / "2.png").write_bytes(b"no image at all")
    bomb = Image.new("1", (12000, 11000))
    bomb.save(folder / "3.png")
    Image.new("RGB", (80, 80), "white").save(folder / "4.png")
    with Document.open(folder, ocr=False) as opened:
        assert sorted(opened.failed) == [2, 3]
        assert "2.png" in opened.failed[2] and "too many" in opened.failed[3]
        assert [len(page.words) for page in opened.pages()] == [0, 0, 0, 0]
        with pytest.raises(ValueError, match="page 2 of pages"):
            opened.render(2)


def test_an_image_as_thin_as_a_line_can_be_read_by_ocr(tmp_path: Path) -> None:
    Image.new("RGB", (9000, 1), "white").save(tmp_path / "line.png")
    with Document.open(tmp_path / "line.png") as opened:
        assert (opened.failed, opened.ocred) == ({}, (1,))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_is_no_utf8_is_opened(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.pdf"))
    with Document.open(text_pdf(tmp_path / "doc.pdf", ["one"]).rename(path)) as opened:
        assert opened.page(1).text == "one"


def test_a_page_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with Document.open(text_pdf(tmp_path / "doc.pdf", ["one"])) as opened:
        for number in (0, 2):
            with pytest.raises(ValueError, match=f"page {number} of doc.pdf: the document has 1 pages"):
                opened.page(number)


def test_a_page_of_thirty_thousand_points_is_rendered_within_bounds(tmp_path: Path) -> None:
    doc = new_pdf()
    page = doc.new_page(width=14000, height=14000)
    page.insert_text((1000, 7000), "enormous", fontsize=800)
    xref = page.xref
    doc.xref_set_key(xref, "MediaBox", "[0 0 30000 30000]")
    with Document.open(save(doc, tmp_path / "huge.pdf")) as opened:
        assert opened.page(1).size == (30000.0, 30000.0)
        image = opened.render(1)
        assert image.width * image.height <= 41_000_000
        assert opened.page(1).words.texts == ("enormous",)
        assert opened.layout([1])[1].text == "enormous"


def test_ligatures_and_hard_spaces_read_as_plain_words(tmp_path: Path) -> None:
    doc = new_pdf()
    doc.new_page().insert_text((72, 72), "an\u00a0office", fontsize=12)
    with Document.open(save(doc, tmp_path / "spaces.pdf")) as opened:
        assert opened.page(1).words.texts == ("an", "office")


def test_a_pattern_names_some_of_the_page_images_of_a_folder(tmp_path: Path) -> None:
    for name in ("a_0", "a_1", "a_10", "a_2", "b_0"):
        Image.new("RGB", (60, 80), "white").save(tmp_path / f"{name}.png")
    found = find_files(tmp_path / "a_*.png")
    assert [image.stem for image in found.images] == ["a_0", "a_1", "a_2", "a_10"] and found.doc_id == "a"
    with pytest.raises(InputError, match="no page image has such a name"):
        find_files(tmp_path / "c_*.png")
