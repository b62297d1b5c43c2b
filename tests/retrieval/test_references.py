"""What a query names, and what it only seems to name."""

import pytest

from retrieval.references import named_references, quotations, sheet_references


def numbers(query, pages=30):
    return [n for sheet in sheet_references(query, pages) for n in sheet.numbers]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What is on page 12?", ["12"]),
        ("the date on page(1)", ["1"]),
        ("see p. 7", ["7"]),
        ("pp. 12-14", ["12", "13", "14"]),
        ("pages 3-5 and 9", ["3", "4", "5", "9"]),
        ("Pages 30–32", ["30", "31", "32"]),
        ("between page 21 and 62", ["21", "62"]),
        ("pages 1, 2, and 5", ["1", "2", "5"]),
        ("slide 7", ["7"]),
        ("page number 4", ["4"]),
        ("see page ii", ["ii"]),
        ("the top of page two", ["2"]),
        ("the first page", ["1"]),
        ("the second slide", ["2"]),
        ("a signature on the last page", ["30"]),
        ("the cover page", ["1"]),
        ("images on the cover", ["1"]),
    ],
)
def test_pages_and_slides_are_found(query, expected):
    assert numbers(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "On which page does the first part end?",
        "What pages are about risk?",
        "Does the web page cover the cost?",
        "What is the page count?",
        "page 12.5% of it",
        "page 1,234",
        "the page mix",
        "the page i would like to see",
        "Which costs did the grant cover?",
    ],
)
def test_ordinary_words_name_no_page(query):
    assert numbers(query) == []


def test_slides_are_physical_pages_are_labels_and_places_are_places():
    assert [s.first for s in sheet_references("page 3, slide 4, the last page", 9)] == [
        "label",
        "physical",
        "place",
    ]


def test_a_huge_range_is_not_spelled_out():
    assert len(numbers("pages 1-900")) == 2


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Table 4.16 and Figure 3", ["Table 4.16", "Figure 3"]),
        ("in section 3.2 or Appendix B", ["Section 3.2", "Appendix B"]),
        ("fig. 2", ["Figure 2"]),
        ("figures 2 and 3", ["Figure 2", "Figure 3"]),
        ("Table S1, Figure A.3", ["Table S1", "Figure A.3"]),
        ("Item 7A", ["Item 7A"]),
        ("Note 12", ["Note 12"]),
        ("Chapter 2", ["Chapter 2"]),
        ("Part II", ["Part II"]),
        ("the first figure of the paper", ["Figure 1"]),
        ("Figure 3 (left)", ["Figure 3"]),
        ("TABLE 5", ["Table 5"]),
    ],
)
def test_numbered_parts_are_found(query, expected):
    assert [n.name for n in named_references(query)] == expected


@pytest.mark.parametrize(
    "query",
    [
        "in a table of costs",
        "in the figure I see",
        "which figure shows it",
        "the chart and a map",
        "part of it",
    ],
)
def test_ordinary_words_name_no_part(query):
    assert named_references(query) == []


def test_quotations_of_all_kinds_are_found_once():
    assert quotations("the \"Who we are\" section, 'net sales', “net sales” and “a”") == [
        "Who we are",
        "net sales",
    ]
    assert quotations("Amazon's and Apple's shares") == []
