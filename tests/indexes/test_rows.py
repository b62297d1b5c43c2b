"""Visual lines and reading order: table rows whole, columns of text apart."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from indexes.columns import Fragment, columns
from indexes.document import Document
from indexes.rows import Arranged, arrange
from indexes.tables import find_columns, is_number, split_cells
from tests.indexes.make_pdfs import TEXT, new_pdf, put_row, save

LEFT = "Left hand text that fills the whole of its narrow column with words"
RIGHT = "Right hand words which likewise reach from edge to edge of a column"


def _lines(path: Path) -> list[str]:
    with Document.open(path, ocr=False) as opened:
        return opened.page(1).line_texts()


def _page_with(tmp_path: Path, draw: Any) -> list[str]:
    doc = new_pdf()
    draw(doc.new_page(width=612, height=792))
    return _lines(save(doc, tmp_path / "page.pdf"))


def test_a_table_stored_cell_by_cell_becomes_rows(tmp_path: Path) -> None:
    rows = [
        ("Net sales", "34,229", "35,355"),
        ("Cost of sales", "19,232", "18,795"),
        ("Gain", "(2,724)", "—"),
    ]

    def draw(page: Any) -> None:
        for i, row in enumerate(rows):
            put_row(page, 100 + 12 * i, dict(zip((40.0, 400.0, 480.0), row, strict=True)))

    assert _page_with(tmp_path, draw) == [" ".join(row).replace("—", "·") for row in rows]


def test_a_table_stored_column_by_column_becomes_rows(tmp_path: Path) -> None:
    def draw(page: Any) -> None:
        for x, cells in (
            (40.0, ("Alpha", "Beta", "Gamma")),
            (300.0, ("10", "20", "30")),
            (400.0, ("1", "2", "3")),
        ):
            for i, cell in enumerate(cells):
                put_row(page, 100 + 14 * i, {x: cell})

    assert _page_with(tmp_path, draw) == ["Alpha 10 1", "Beta 20 2", "Gamma 30 3"]


def test_two_columns_of_text_are_not_merged_although_their_lines_are_level(tmp_path: Path) -> None:
    left = [f"{LEFT[: 40 + i % 3]}" for i in range(12)]
    right = [f"{RIGHT[: 40 + i % 3]}" for i in range(12)]

    def draw(page: Any) -> None:
        for i, (a, b) in enumerate(zip(left, right, strict=True)):
            put_row(page, 100 + 12 * i, {60: a, 320: b}, size=10)  # stored line by line across the gutter

    assert _page_with(tmp_path, draw) == [" ".join(line.split()) for line in left + right]


def test_a_heading_over_two_columns_comes_first_and_a_short_one_stays_in_its_column(tmp_path: Path) -> None:
    def draw(page: Any) -> None:
        page.insert_text(
            (60, 70), "A title across the whole width of the page, above both columns", fontsize=16
        )
        for i in range(5):
            put_row(page, 100 + 12 * i, {60: LEFT[:42]}, size=10)
        put_row(page, 172, {60: "3 Method"}, size=10)
        for i in range(5):
            put_row(page, 184 + 12 * i, {60: LEFT[:42]}, size=10)
        for i in range(11):
            put_row(page, 100 + 12 * i, {320: RIGHT[:42]}, size=10)

    lines = _page_with(tmp_path, draw)
    assert lines[0].startswith("A title across")
    assert lines[6] == "3 Method"
    assert lines[12:] == [RIGHT[:42].strip()] * 11


def test_a_long_label_beside_numbers_keeps_its_row(tmp_path: Path) -> None:
    labels = [f"Item {i} with a rather long description of what the amount stands for" for i in range(8)]

    def draw(page: Any) -> None:
        for i, label in enumerate(labels):
            put_row(page, 100 + 12 * i, {40: label, 420: f"{i},000", 500: f"{i}.5"})

    assert _page_with(tmp_path, draw) == [f"{label} {i},000 {i}.5" for i, label in enumerate(labels)]


def test_a_footer_that_is_stored_first_is_read_last(tmp_path: Path) -> None:
    def draw(page: Any) -> None:
        page.insert_text((300, 760), "17", fontsize=9)
        page.insert_textbox((72, 72, 540, 300), TEXT * 4, fontsize=11)

    lines = _page_with(tmp_path, draw)
    assert lines[-1] == "17" and lines[0].startswith("The quick")


def _arranged(boxes: list[tuple[float, float, float, float]], texts: list[str]) -> Arranged:
    keys = np.asarray([(i, 0) for i in range(len(boxes))], np.int64)
    level = np.ones(len(boxes), np.bool_)
    return arrange(np.asarray(boxes, np.float64), keys, level, texts, stored_order=False)


def test_detected_lines_in_any_order_are_read_top_down_and_left_to_right() -> None:
    boxes = [
        (300.0, 50.0, 340.0, 60.0),
        (50.0, 80.0, 90.0, 90.0),
        (50.0, 50.0, 120.0, 60.0),
        (300.0, 81.0, 330.0, 91.0),
    ]
    placed = _arranged(boxes, ["9", "Costs", "Income", "7"])
    assert placed.order.tolist() == [2, 0, 1, 3]
    assert placed.lines.tolist() == [0, 0, 1, 1]


def test_lines_never_fall_and_every_word_is_there_once() -> None:
    rng = np.random.default_rng(7)
    corners = rng.uniform(0, 500, (200, 2))
    boxes = [(x, y, x + 30, y + 9) for x, y in corners.tolist()]
    placed = _arranged(boxes, ["word"] * 200)
    assert sorted(placed.order.tolist()) == list(range(200))
    assert (np.diff(placed.lines) >= 0).all() and (np.diff(placed.groups) >= 0).all()


def test_columns_cover_all_fragments_once() -> None:
    rng = np.random.default_rng(3)
    fragments = [
        Fragment(x, y, x + w, y + 10, 5, 0)
        for x, y, w in zip(
            rng.uniform(0, 400, 150), rng.uniform(0, 700, 150), rng.uniform(10, 150, 150), strict=True
        )
    ]
    found = columns(fragments)
    assert sorted(m for region in found for m in region) == list(range(150))


def test_numbers_are_told_from_words() -> None:
    for text in ("1,234", "$ 34,229", "(2,724)", "12.5%", "—", "n/a", "€1.2", "(0.3)%", "2022", "$—"):
        assert is_number(text), text
    for text in ("Net", "10-K", "Q3 results", "Table 4", "and", "F-12", "Covid-19"):
        assert not is_number(text), text


def test_a_currency_sign_goes_with_the_number_behind_it() -> None:
    texts = ["Net", "sales", "$", "34,229", "$", "35,355"]
    xs = [[25, 37], [40, 60], [366, 370], [408, 430], [437, 441], [480, 501]]
    assert split_cells(texts, xs, 0, 6, 9.0) == [(0, 2), (2, 4), (4, 6)]


def test_a_header_over_two_columns_does_not_join_them() -> None:
    assert find_columns([(100, 120), (140, 160), (100, 160), (102, 118), (138, 161)]) == [
        (100, 120),
        (138, 161),
    ]


def test_endless_words_are_told_from_numbers_at_once() -> None:
    begin = time.perf_counter()
    assert not any(is_number(piece * 50_000 + "!") for piece in ("1", "1,", "(", "-", "$("))
    assert time.perf_counter() - begin < 2
    assert all(map(is_number, ("$ 1,234", "(2.5)%", "—", "n/a", "US$5", "(US$(5))", "12:30", "3/4", "5x*")))
