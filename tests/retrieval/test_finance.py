"""The vocabulary of filings: what a query wants, and which pages are the statements."""

import pytest
from retrieval_fakes import make_page

from retrieval.finance import asked, statement_pages, vocabulary
from retrieval.tokens import text_terms
from retrieval.units import DocumentText

BALANCE = """CONSOLIDATED BALANCE SHEETS
Cash and cash equivalents 100 90
Inventories 50 40
Total current assets 200 180
Goodwill 10 10
Total assets 400 380
Accounts payable 70 60
Total current liabilities 120 110
Retained earnings 90 80
Total liabilities and shareholders' equity 400 380"""
INCOME = """CONSOLIDATED STATEMENTS OF INCOME
Net sales 1,000 900
Cost of sales 600 550
Gross profit 400 350
Operating income 150 120
Interest expense 10 9
Income before income taxes 140 111
Provision for income taxes 40 30
Net income 100 81"""


def likeness(*texts):
    pages = [make_page(i, ("text", text)) for i, text in enumerate(texts, 1)]
    text = DocumentText(pages)
    return statement_pages([[line.terms for line in page.lines] for page in text.pages])


def test_statements_are_found_by_heading_and_rows():
    contents = "Consolidated balance sheets 2\nConsolidated statements of income 3\nNotes 4"
    found = likeness(contents, BALANCE, INCOME, "Running text about nothing.")
    assert found["balance sheet"].argmax() == 1
    assert found["income statement"].argmax() == 2
    assert found["balance sheet"][[0, 3]].tolist() == [0, 0]


def test_the_parent_company_alone_counts_less():
    found = likeness(BALANCE, INCOME, "Parent company only\n" + BALANCE)
    assert found["balance sheet"][2] < found["balance sheet"][0]


def test_a_document_without_statements_has_none():
    assert (
        likeness("A paper about revenue and total assets.", "Table 1\nmodel 3 4\nother 5 6\nlast 7 8") == {}
    )
    assert likeness() == {}


@pytest.mark.parametrize(
    ("query", "statements"),
    [
        ("What is the FY2018 capital expenditure?", {"cash flow statement"}),
        ("total current assets, using the balance sheet", {"balance sheet"}),
        ("based on the P&L statement", {"income statement"}),
        ("What is the inventory turnover ratio?", {"balance sheet", "income statement"}),
        ("What is the days payable outstanding (DPO)?", {"balance sheet", "income statement"}),
        ("shown in the statement of financial position", {"balance sheet"}),
        ("Who is the chairman?", set()),
    ],
)
def test_a_query_is_led_to_the_statements_that_hold_its_line_items(query, statements):
    assert set(asked(text_terms(query)).statements) == statements


def test_a_statement_named_outright_is_surer_than_one_that_holds_a_line_item():
    by_name = asked(text_terms("the balance sheet")).statements["balance sheet"]
    assert by_name > asked(text_terms("accounts payable")).statements["balance sheet"]


def test_capital_expenditure_is_said_as_filings_print_it():
    assert "purchases of property plant and equipment" in asked(text_terms("capex")).say


def test_concepts_name_known_statements_only():
    statements, concepts = vocabulary()
    names = {statement.name for statement in statements}
    assert len(concepts) > 40
    assert all(set(concept.statements) <= names and concept.ask and concept.say for concept in concepts)


def test_abbreviations_do_not_match_inside_words():
    assert asked(text_terms("the variety of various artists")).say == ()
