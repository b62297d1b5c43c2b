"""Page labels: the PDF's, else printed numbers that grow with the pages."""

from collections.abc import Callable
from pathlib import Path

import pytest

from indexes.document import Document
from indexes.labels import choose_labels, roman
from tests.indexes.make_pdfs import TEXT, new_pdf, save


def _labels(
    tmp_path: Path, printed: Callable[[int], str], pages: int = 8, y: float = 770
) -> tuple[str | None, ...]:
    doc = new_pdf()
    for number in range(1, pages + 1):
        page = doc.new_page(width=612, height=792)
        page.insert_textbox((72, 90, 540, 700), f"Chapter {number * 7 % 5}. " + TEXT * number, fontsize=11)
        page.insert_text((280, y), printed(number), fontsize=9)
    with Document.open(save(doc, tmp_path / "printed.pdf")) as opened:
        return opened.labels


@pytest.mark.parametrize(
    ("form", "label"),
    [
        ("{}", "{}"),
        ("Page {} of 20", "{}"),
        ("F-{}", "F-{}"),
        ("- {} -", "{}"),
        ("Annual Report 2022 | {}", "{}"),
    ],
)
def test_printed_numbers_become_labels(tmp_path: Path, form: str, label: str) -> None:
    found = _labels(tmp_path, lambda n: form.format(n + 11))
    assert found == tuple(label.format(n + 11) for n in range(1, 9))


def test_numbers_in_the_header_count_too(tmp_path: Path) -> None:
    assert _labels(tmp_path, lambda n: f"{n}", y=40) == tuple(str(n) for n in range(1, 9))


def test_roman_front_matter_is_followed_by_arabic_numbers(tmp_path: Path) -> None:
    script = ["i", "ii", "iii", "iv", "1", "2", "3", "4"]
    assert _labels(tmp_path, lambda n: script[n - 1]) == tuple(script)


def test_numbers_that_do_not_grow_are_no_labels(tmp_path: Path) -> None:
    assert _labels(tmp_path, lambda n: "2022") == (None,) * 8


def test_the_numbers_of_items_are_no_labels(tmp_path: Path) -> None:
    assert _labels(tmp_path, lambda n: f"{n}) Electrification") == (None,) * 8


def test_a_page_without_a_number_has_none(tmp_path: Path) -> None:
    found = _labels(tmp_path, lambda n: "" if n in (1, 5) else str(n))
    assert found == (None, "2", "3", "4", None, "6", "7", "8")


def test_the_labels_of_the_pdf_come_first(tmp_path: Path) -> None:
    doc = new_pdf()
    for _ in range(4):
        doc.new_page().insert_text((300, 780), "99", fontsize=9)
    doc.set_page_labels(
        [
            {"startpage": 0, "prefix": "", "style": "r", "firstpagenum": 1},
            {"startpage": 2, "prefix": "A-", "style": "D", "firstpagenum": 5},
        ]
    )
    with Document.open(save(doc, tmp_path / "labelled.pdf")) as opened:
        assert opened.labels == ("i", "ii", "A-5", "A-6")
        assert [page.label for page in opened.pages()] == ["i", "ii", "A-5", "A-6"]


def test_labels_that_only_count_pages_give_way_to_printed_ones() -> None:
    printed = [[(str(n + 100), "1", n + 100)] for n in range(5)]
    assert choose_labels(5, ["1", "2", "3", "4", "5"], printed) == ["100", "101", "102", "103", "104"]
    assert choose_labels(5, ["1", "2", "3", "4", "5"], [[]] * 5) == ["1", "2", "3", "4", "5"]
    assert choose_labels(5, [], [[]] * 5) == [None] * 5


def test_roman_numbers_are_read_only_if_well_formed() -> None:
    assert [roman(text) for text in ("i", "iv", "XII", "mcmxc")] == [1, 4, 12, 1990]
    assert [roman(text) for text in ("iiii", "vx", "abc", "")] == [None] * 4


def test_two_roman_numbers_of_a_short_front_matter_are_labels(sample_pdf: Path) -> None:
    from eval.sample import LABELS

    with Document.open(sample_pdf) as document:
        assert document.labels == LABELS


def test_other_labels_leave_the_key_of_the_words_as_it_is(tmp_path: Path) -> None:
    keys = []
    for name, first in (("a", 1), ("b", 7)):
        doc = new_pdf()
        for _ in range(4):
            doc.new_page(width=612, height=792).insert_text((72, 90), "the same words")
        doc.set_page_labels([{"startpage": 0, "prefix": "", "style": "D", "firstpagenum": first}])
        with Document.open(save(doc, tmp_path / f"{name}.pdf")) as opened:
            keys.append((opened.labels, opened.key))
    assert keys[0][0] != keys[1][0] and keys[0][1] == keys[1][1]


def test_other_words_are_another_key(tmp_path: Path) -> None:
    keys = set()
    for name in ("a", "b"):
        doc = new_pdf()
        doc.new_page(width=612, height=792).insert_text((72, 90), f"the word {name}")
        with Document.open(save(doc, tmp_path / f"{name}.pdf")) as opened:
            keys.add(opened.key)
    assert len(keys) == 2
