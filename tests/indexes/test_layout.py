"""The layout model's blocks over the same words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indexes.document import Document
from indexes.layout import Region, with_regions
from indexes.types import BBox, LayoutBlock, Page, PageRef, Words
from tests.indexes.make_pdfs import TEXT, new_pdf, put_row, save


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))
    yield


def _draw(page: Any) -> None:
    page.insert_text((72, 70), "3 Results of Operations", fontsize=16, fontname="hebo")
    page.insert_textbox((72, 90, 540, 250), TEXT * 5, fontsize=11)
    page.insert_text((72, 290), "Table 4.16: Net sales and costs in millions", fontsize=10)
    for x in (70, 540):
        page.draw_line((x, 300), (x, 384))
    for i in range(7):
        page.draw_line((70, 300 + 14 * i), (540, 300 + 14 * i))
    put_row(page, 310, {74: "", 300: "2022", 400: "2021", 480: "2020"})
    for i, name in enumerate(("Net sales", "Cost of sales", "Gross profit", "Expenses", "Income")):
        put_row(page, 324 + 14 * i, {74: name, 300: f"{i + 1},234", 400: f"{i + 2},100", 480: f"({i}00)"})
    page.insert_textbox((72, 420, 540, 560), TEXT * 5, fontsize=11)


@pytest.mark.parametrize("rotation", [0, 90])
def test_the_model_finds_the_table_its_cells_and_its_caption(tmp_path: Path, rotation: int) -> None:
    doc = new_pdf()
    upright = doc.new_page(width=612, height=792)
    _draw(upright)
    if rotation:  # content that is upright only as the page is shown
        turned = new_pdf()
        page = turned.new_page(width=792, height=612)
        page.show_pdf_page(page.rect, doc, 0, rotate=rotation)
        page.set_rotation(rotation)
        doc = turned
    with Document.open(save(doc, tmp_path / "page.pdf")) as opened:
        fast, seen = opened.page(1), opened.layout([1])[1]
        assert not opened.failed
    assert seen.words is fast.words or seen.words.texts == fast.words.texts
    assert [i for block in seen.blocks for i in range(block.start, block.end)] == list(range(len(seen.words)))
    (table,) = [block for block in seen.blocks if block.kind == "table"]
    (caption,) = [block for block in seen.blocks if block.kind == "caption"]
    assert caption.text.startswith("Table 4.16") and caption.caption_of == table.order
    rows = {
        cell.text: [c.text for c in table.cells if c.row == cell.row]
        for cell in table.cells
        if cell.column == 0
    }
    assert rows["Gross profit"] == ["Gross profit", "3,234", "4,100", "(200)"]
    header = [cell for cell in table.cells if cell.header]
    assert [cell.text for cell in header] == ["2022", "2021", "2020"]
    sales = {cell.column: cell.text for cell in table.cells if cell.row == table.cells[-1].row}
    assert [sales[cell.column] for cell in header] == ["5,234", "6,100", "(400)"]


def test_layout_is_cached_and_a_failure_keeps_the_blocks_by_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from indexes.workers import Reply, WorkerPool

    doc = new_pdf()
    _draw(doc.new_page(width=612, height=792))
    doc.new_page().insert_text((72, 72), "second")
    path = save(doc, tmp_path / "page.pdf")
    with Document.open(path) as opened:
        first = opened.layout([1])[1]

    def fail(self: WorkerPool, tasks: Any) -> Iterator[Reply]:
        return iter([Reply(task, "failed", message="model says no") for task in tasks])

    monkeypatch.setattr(WorkerPool, "run", fail)
    with Document.open(path) as opened:
        both = opened.layout([2, 1])
        assert list(both) == [2, 1]
        assert both[1].blocks == first.blocks
        assert both[2].blocks == opened.page(2).blocks
        assert opened.failed == {2: "layout: model says no"}


def test_damaged_layout_in_the_cache_is_made_again(tmp_path: Path) -> None:
    doc = new_pdf()
    _draw(doc.new_page(width=612, height=792))
    path = save(doc, tmp_path / "page.pdf")
    with Document.open(path) as opened:
        first = opened.layout([1])[1]
    (kept,) = (tmp_path / "cache" / "layout").rglob("*.json")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-30])
    with Document.open(path) as opened:
        assert opened.layout([1])[1].blocks == first.blocks
    assert kept.read_bytes() == whole


def _page(words: list[tuple[str, float, float]], lines: list[int]) -> Page:
    boxes = np.asarray([(x, y, x + 0.05, y + 0.01) for _, x, y in words], np.float32)
    texts = [text for text, _, _ in words]
    columns = Words(texts, boxes, np.asarray(lines, np.int32))
    block = LayoutBlock("text", columns.bbox(0, len(texts)), " ".join(texts), 0, 0, len(texts))
    return Page(PageRef("doc", 1), None, (600.0, 800.0), columns, (block,))


def test_words_outside_of_all_regions_keep_their_block() -> None:
    page = _page([("a", 0.1, 0.1), ("b", 0.1, 0.2), ("c", 0.1, 0.9)], [0, 1, 2])
    seen = with_regions(
        page, [Region("title", BBox(0.05, 0.08, 0.3, 0.13)), Region("list", BBox(0.05, 0.18, 0.3, 0.23))]
    )
    assert [(b.kind, b.start, b.end) for b in seen.blocks] == [
        ("title", 0, 1),
        ("list", 1, 2),
        ("text", 2, 3),
    ]


def test_a_picture_without_words_takes_its_place() -> None:
    page = _page([("above", 0.1, 0.1), ("below", 0.1, 0.8)], [0, 1])
    picture = Region("picture", BBox(0.1, 0.2, 0.6, 0.7))
    seen = with_regions(
        page, [Region("text", BBox(0, 0.05, 1, 0.15)), picture, Region("text", BBox(0, 0.75, 1, 0.85))]
    )
    assert [(b.kind, b.start, b.end) for b in seen.blocks] == [
        ("text", 0, 1),
        ("picture", 1, 1),
        ("text", 1, 2),
    ]
    assert seen.blocks[1].bbox == picture.bbox


def test_a_page_on_which_the_model_finds_nothing_stays_as_it_is() -> None:
    page = _page([("a", 0.1, 0.1)], [0])
    assert with_regions(page, []) is page
