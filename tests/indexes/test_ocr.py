"""Pages without a text layer are read by OCR, and only those; raw results survive changes of the rules."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indexes import document
from indexes.document import Document
from indexes.ocr import fit
from indexes.ocr_page import letter_extent
from tests.indexes.make_pdfs import new_pdf, put_row, save, scan_of

SENTENCES = [
    "Revenue grew by twelve percent in 2022 and reached",
    "a record of 34,229 million dollars in all regions.",
    "Operating income was 6,539 million, which is less",
    "than in the year before that.",
]


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))
    yield


def _typed(page: Any) -> None:
    for i, sentence in enumerate(SENTENCES):
        page.insert_text((72, 100 + 16 * i), sentence, fontsize=12)
    put_row(page, 220, {72: "Widgets", 300: "1,234", 400: "987"}, size=12)
    put_row(page, 238, {72: "Gadgets", 300: "5,678", 400: "654"}, size=12)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Three pages: typed, the same as a scan, blank."""
    doc = new_pdf()
    _typed(doc.new_page(width=612, height=792))
    scan = doc.new_page(width=612, height=792)
    scan.insert_image(scan.rect, stream=scan_of(doc[0]))
    doc.new_page(width=612, height=792)
    return save(doc, tmp_path / "mixed.pdf")


def test_a_scan_reads_like_the_typed_page(mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Document.open(mixed) as opened:
        typed, scan, blank = opened.pages()
        assert opened.ocred == (2,) and not opened.failed
        assert (typed.ocr, scan.ocr, blank.ocr) == (False, True, False)
        assert scan.line_texts() == typed.line_texts()
        for a, b in zip(typed.words, scan.words, strict=True):
            assert a.text == b.text
            np.testing.assert_allclose(a.bbox.as_list(), b.bbox.as_list(), atol=0.008)
        assert [block.kind for block in scan.blocks] == ["text", "table"]
        assert [cell.text for cell in scan.blocks[1].cells] == [
            "Widgets",
            "1,234",
            "987",
            "Gadgets",
            "5,678",
            "654",
        ]
        with_layout = opened.layout([2])[2]
        assert with_layout.words.texts == scan.words.texts
        assert any(block.kind == "text" for block in with_layout.blocks)

    # other rules make other pages, but no page is read by OCR again
    monkeypatch.setattr(document, "_rules_digest", lambda: "other rules")
    with Document.open(mixed) as opened:
        real = opened._pool.run
        asked: list[str] = []
        opened._pool.run = lambda tasks: real([asked.append(t["operation"]) or t for t in tasks])  # type: ignore
        assert opened.page(2).line_texts() == scan.line_texts()
        assert "ocr" not in asked and "extract" in asked


@pytest.mark.parametrize("damaged", [b'{"size": [612, 79', b"{}", b"[]", b"\xff"])
def test_a_damaged_result_is_made_again(mixed: Path, tmp_path: Path, damaged: bytes) -> None:
    with Document.open(mixed) as opened:
        before = opened.page(2).text
    (kept,) = (tmp_path / "cache" / "ocr").rglob("*.json")
    whole = kept.read_bytes()
    kept.write_bytes(damaged)
    shutil.rmtree(tmp_path / "cache" / "pages")
    with Document.open(mixed) as opened:
        assert opened.page(2).text == before and not opened.failed
    assert kept.read_bytes() == whole


def test_without_ocr_a_scan_has_no_words(mixed: Path) -> None:
    with Document.open(mixed, ocr=False) as opened:
        assert opened.ocred == ()
        assert opened.page(2).text == "" and [block.kind for block in opened.page(2).blocks] == ["picture"]


def test_small_images_are_enlarged_and_large_ones_reduced() -> None:
    assert 612 * fit((612, 792), 1.0) * 792 / 612 == pytest.approx(1200)
    assert max(4000, 3000) * fit((4000, 3000), 1.0) == pytest.approx(2200)
    assert fit((1000, 1500), 1.0) == 1.0


def test_a_font_size_does_not_depend_on_the_letters_in_a_line() -> None:
    # heights of ink of the same font, from the base line: x-height, ascenders, descenders
    assert letter_extent("access") < letter_extent("land") < letter_extent("growth")
    assert letter_extent("yes") == pytest.approx(letter_extent("access") + 0.21)
