"""Pages read into rows, units and facts, and fact texts read back."""

import pytest
from reader_pages import balance, page_of, right, statement

from agent.readers.extractive.lists import enumerated, read_list
from agent.readers.extractive.reader import ExtractiveReader
from agent.readers.extractive.sentences import units
from agent.readers.extractive.series import by_year
from agent.readers.extractive.statements import parse_row
from agent.readers.extractive.tables import rows
from agent.readers.extractive.text import last_year, numbers, shown, stem, years
from agent.types import Reading, ReadTask
from indexes.types import LayoutBlock, Page, TableCell


def read(question: str, *pages: Page) -> Reading:
    reader = ExtractiveReader(None)
    plan = reader.plan(question, ())
    return reader.read(ReadTask(question, plan, pages, (), (), ()))


def test_a_rows_cells_have_their_columns_year_scale_and_sign() -> None:
    found = {row.label: row for row in rows(statement())}
    sales = found["Net sales"]
    assert [(c.value, c.year) for c in sales.cells] == [(34229.0, 2022), (35355.0, 2021)]
    assert sales.scale == 1e6 and sales.currency == "$" and "STATEMENTS OF INCOME" in sales.title
    interest = found["Interest expense on debt of the company and of its subsidiaries, net"]
    assert [c.value for c in interest.cells] == [-462.0, -488.0]


def test_the_order_of_columns_is_read_from_the_header() -> None:
    found = {row.label: row for row in rows(balance())}
    assert [(c.value, c.year) for c in found["Total assets"].cells] == [(47072.0, 2021), (46455.0, 2022)]
    assert found["Inventories"].section == "Current assets:"


@pytest.mark.parametrize(
    ("line", "heads"),
    [
        ("(In millions) 2022 2021", True),
        ("Dollars in thousands, except per share amounts 2021 2022", True),
        ("Fiscal 2022 2021", True),
        ("Year ended December 31, 2022 2021 2020", True),
        ("Payments due 2022 2023 2024", True),
        ("Turbines built 2022 2021", False),
        ("(In millions) 2022 1999", False),
        ("Units sold 2,022 2,021", False),
    ],
)
def test_years_in_a_row_behind_a_unit_or_a_date_are_a_header_and_no_row(line: str, heads: bool) -> None:
    words = line.split()
    numbers = [w for w in words if w[0].isdigit() and w != "31,"]
    label = " ".join(words[: len(words) - len(numbers)])
    places = [0.6 + 0.12 * i for i in range(len(numbers))]
    page = page_of(
        [
            [(0.1, label), *(right(x, n) for x, n in zip(places, numbers, strict=True))],
            [(0.1, "Inventories"), *(right(x, "6,854") for x in places)],
        ],
        [("table", 0, 2)],
    )
    found = rows(page)
    assert [row.label for row in found] == (["Inventories"] if heads else [label, "Inventories"])
    if heads:
        assert [cell.year for cell in found[-1].cells] == [int(n) for n in numbers]


def test_an_unlabelled_line_that_adds_up_is_a_total() -> None:
    page = page_of(
        [
            "Obligations are as follows (in millions):",
            [(0.1, "2018"), right(0.8, "$ 377")],
            [(0.1, "2019"), right(0.8, "324")],
            [(0.1, "Thereafter"), right(0.8, "1,998")],
            [right(0.8, "$ 2,699")],
        ],
        [("text", 0, 1), ("table", 1, 5)],
    )
    labels = [(row.label, row.cells[-1].value) for row in rows(page)]
    assert ("Total", 2699.0) in labels and ("2018", 377.0) in labels
    assert all("Obligations" in row.title for row in rows(page))


def test_running_text_is_no_table() -> None:
    lines = [
        "In the spring the company opened new stores in all of the regions where it had 12",
        "and closed 3 of the older ones that had been losing money since the year 2019",
    ]
    assert rows(page_of(lines, [("text", 0, 2)])) == []


def test_sentences_and_items_have_their_words() -> None:
    page = page_of(
        ["Fees", "Dr. Lee set the fee. It is 20 dollars.", "• Adults", "• Children"],
        [("title", 0, 1), ("text", 1, 2), ("list", 2, 4)],
    )
    found = units(page)
    assert [u.text for u in found] == [
        "Fees",
        "Dr. Lee set the fee.",
        "It is 20 dollars.",
        "• Adults",
        "• Children",
    ]
    for unit in found:
        assert " ".join(page.words.texts[unit.start : unit.end]) == unit.text
    assert found[1].title == "Fees" and found[3].kind == "item"


def test_a_table_of_words_is_read_row_by_row() -> None:
    page = page_of(["Error Description", "88 Boiler too hot", "188 Heater broken"], [])
    cells = (
        TableCell(0, 0, "Error", page.words[0].bbox, 0, 1, header=True),
        TableCell(0, 1, "Description", page.words[1].bbox, 1, 2, header=True),
        TableCell(1, 0, "88", page.words[2].bbox, 2, 3),
        TableCell(1, 1, "Boiler too hot", page.words[3].bbox, 3, 6),
        TableCell(2, 0, "188", page.words[6].bbox, 6, 7),
        TableCell(2, 1, "Heater broken", page.words[7].bbox, 7, 9),
    )
    block = LayoutBlock("table", page.words.bbox(0, 9), "", 0, 0, 9, cells)
    table = Page(page.ref, None, page.size, page.words, (block,))
    assert [u.text for u in units(table) if u.kind == "cells"] == [
        "Error: 88; Description: Boiler too hot",
        "Error: 188; Description: Heater broken",
    ]


def test_a_line_items_fact_can_be_understood_alone_and_read_back() -> None:
    draft = read("What were the net sales of Acme in FY2022?", statement()).drafts[0]
    assert draft.text.startswith("Net sales, Years ended December 31 2022: $34,229 million (CONSOLIDATED")
    assert draft.quote == "Net sales $ 34,229 $ 35,355"
    row = parse_row(draft.text)
    assert row is not None and row.label == "Net sales"
    assert (row.entries[0].value, row.entries[0].scale, row.entries[0].year) == (34229.0, 1e6, 2022)
    (start, end), *headers = draft.words
    page = statement()
    assert " ".join(page.words.texts[start:end]) == draft.quote
    assert any("2022" in " ".join(page.words.texts[a:b]) for a, b in headers)


@pytest.mark.parametrize("text", ["A sentence.", "Ratio: high", "a: 1; b: two", "", ": ", "x: 1 (open"])
def test_what_is_no_row_is_not_read_as_one(text: str) -> None:
    parsed = parse_row(text)
    assert parsed is None or text == "x: 1 (open"


def test_series_of_numbers_go_with_series_of_years() -> None:
    text = (
        "Allowance was $153 million, $156 million, and $62 million as of December 31, 2015, 2016, and 2017."
    )
    assert {y: [n.value for n in ns] for y, ns in by_year(text).items()} == {
        2015: [153],
        2016: [156],
        2017: [62],
    }
    text = (
        "During 2021 and 2020, we repurchased 1,358,000 and 643,000 shares at average prices "
        "of $364.39 and $308.45."
    )
    assert [n.value for n in by_year(text)[2021]] == [1358000, 364.39]
    assert by_year("In 2021 we sold 5 units.") == {}


def test_lists_are_recorded_with_their_items() -> None:
    page = page_of(
        ["Contents of the package", "• Headset", "• Cable", "• Carrying case"],
        [("title", 0, 1), ("list", 1, 4)],
    )
    texts = [d.text for d in read("How many items are in the contents of the package?", page).drafts]
    found = [r for t in texts if (r := read_list(t))]
    assert found[0] == ("Contents of the package", ("Headset", "Cable", "Carrying case"))


def test_numbered_steps_count_whatever_stands_between() -> None:
    page = page_of(
        [
            "Pairing a computer",
            "1 Turn it on.",
            "Wait for the light.",
            "2 Open the settings.",
            "3 Select the device.",
        ],
        [("title", 0, 1), ("text", 1, 2), ("text", 2, 3), ("text", 3, 4), ("text", 4, 5)],
    )
    drafts = read("How many steps are needed for pairing a computer?", page).drafts
    assert any(d.text.startswith('The list "Pairing a computer" has 3 items') for d in drafts)


def test_members_of_a_sentence_are_listed() -> None:
    assert enumerated("It has three parts: a lamp, a cable and a stand.") == (
        "a lamp",
        "a cable",
        "a stand",
    )
    line = "Cost of sales consists of media costs where we sell, including music, freight and duty, and fees."
    assert enumerated(line) == ("media costs", "freight and duty", "fees")
    assert enumerated("There is nothing to part here.") == ()


def test_numbers_years_and_stems() -> None:
    assert [(n.value, n.percent, n.scale) for n in numbers("(1,234) and 5.2 billion, 12% of Q3")] == [
        (-1234.0, False, 1.0),
        (5.2, False, 1e9),
        (12.0, True, 1.0),
    ]
    assert years("FY19, fiscal 2020 and 2021; 20,200 units") == (2019, 2020, 2021)
    assert last_year("2022 and 2021, 2022") == 2022
    assert stem("companies") == stem("company") and stem("liabilities") == stem("liability")
    assert shown(0.05029, 3) == "0.050" and shown(18078.0) == "18078" and shown(97.7049) == "97.7"


def test_reading_is_deterministic_and_survives_odd_pages() -> None:
    odd = page_of(["", "(", "- - -", "%", "١٢٣ الإيرادات", "1,2,3,,4", "." * 300])
    question = "What were the net sales in 2022?"
    assert read(question, statement(), odd) == read(question, statement(), odd)
    assert read(question, page_of([])).drafts == ()


def test_a_huge_page_is_read_within_bounds() -> None:
    page = page_of([f"line {i} holds {i} things and {i + 1} more" for i in range(3000)])
    assert len(read("How many things are on line 7?", page).drafts) <= 20
