"""The retriever as a whole, on small made documents."""

import numpy as np
import pytest
from retrieval_fakes import WordEncoder, WordIndex, make_page, make_retriever, texts_to_pages

from indexes.types import PageRef
from retrieval.hybrid import HybridRetriever
from retrieval.members import Member

TEXTS = (
    "The harbour was built in 1902 of granite.",
    "Turbines turn with the tide and generate electricity.",
    "Maintenance of turbines costs six million euros a year.",
    "The board has five members.",
    "",
)


def pages_of(found):
    return [page.ref.page for page in found]


def test_the_page_that_answers_comes_first():
    assert pages_of(make_retriever(texts_to_pages(*TEXTS)).retrieve("What does maintenance cost?", 3))[0] == 3


def test_ranks_count_from_one_scores_fall_and_no_page_comes_twice():
    found = make_retriever(texts_to_pages(*TEXTS)).retrieve("turbines", 5)
    assert [page.rank for page in found] == [1, 2, 3, 4, 5]
    assert [page.score for page in found] == sorted((page.score for page in found), reverse=True)
    assert sorted(pages_of(found)) == [1, 2, 3, 4, 5]
    assert all(np.isfinite(page.score) for page in found)


def test_excluded_pages_do_not_come_back():
    retriever = make_retriever(texts_to_pages(*TEXTS))
    first = retriever.retrieve("turbines", 2)
    again = retriever.retrieve("turbines", 2, exclude={page.ref for page in first})
    assert not set(pages_of(first)) & set(pages_of(again))
    assert again[0].rank == 1


def test_k_beyond_the_document_gives_all_pages():
    assert len(make_retriever(texts_to_pages(*TEXTS)).retrieve("tide", 99)) == 5


def test_k_below_one_is_refused():
    with pytest.raises(ValueError, match="k = 0"):
        make_retriever(texts_to_pages(*TEXTS)).retrieve("tide", 0)


@pytest.mark.parametrize(
    "query",
    ["the and of", "ما هو الرقم؟", "何ですか", "?", "", "zzz qqq", "x" * 3000, "(" * 500, "1 " * 1500],
)
def test_any_query_gets_a_ranking(query):
    assert len(make_retriever(texts_to_pages(*TEXTS)).retrieve(query, 3)) == 3


@pytest.mark.parametrize("texts", [("only page",), ("",), ("", "", "")])
def test_a_document_of_one_page_or_without_text_gets_a_ranking(texts):
    found = make_retriever(texts_to_pages(*texts)).retrieve("only page 1", 10)
    assert sorted(pages_of(found)) == list(range(1, len(texts) + 1))


def test_what_matched_is_said_and_where():
    pages = texts_to_pages(*TEXTS)
    best = make_retriever(pages).retrieve("maintenance of turbines", 1)[0]
    assert {"late interaction", "bm25 pages", "bm25 blocks"} <= set(best.matched)
    assert 1 <= len(best.regions) <= 3


def test_a_page_that_nothing_found_says_so():
    found = make_retriever(texts_to_pages(*TEXTS)).retrieve("granite harbour", 5)
    assert next(page for page in found if page.ref.page == 5).matched == ()


def test_a_lookup_wins_and_is_named_with_its_caption_first():
    pages = [
        *texts_to_pages(*TEXTS),
        make_page(6, ("caption", "Table 4.16: Members"), ("table", "Halvorsen chair 2016")),
    ]
    best = make_retriever(pages).retrieve("How many members of the board does Table 4.16 list?", 1)[0]
    assert best.ref == PageRef("doc", 6)
    assert best.matched[0] == "lookup: Table 4.16"
    assert best.regions[0] == pages[5].blocks[0].bbox


def test_the_same_query_gives_the_same_result():
    retriever = make_retriever(texts_to_pages(*TEXTS))
    assert retriever.retrieve("turbines", 4) == retriever.retrieve("turbines", 4)


def test_pages_and_index_of_different_documents_are_refused():
    pages = texts_to_pages(*TEXTS)
    with pytest.raises(ValueError, match="5 pages"):
        HybridRetriever([Member("doc", pages)], WordIndex(pages[:2]), WordEncoder())


def test_a_large_block_is_shown_by_its_best_line():
    rows = "\n".join(f"Row{i} alpha beta {i}" for i in range(30))
    pages = [make_page(1, ("table", rows)), *texts_to_pages("x", "y")[1:]]
    best = make_retriever(pages).retrieve("Row17", 1)[0]
    assert best.ref.page == 1
    assert all(box.area < 0.15 for box in best.regions)


FILING = [
    make_page(1, ("text", "ACME Corporation annual report. The registrant's securities are listed.")),
    make_page(
        2,
        ("title", "CONSOLIDATED STATEMENTS OF INCOME"),
        (
            "table",
            "Net sales 1,000 900\nCost of sales 600 550\nGross profit 400 350\nOperating income 150 120\n"
            "Interest expense 10 9\nProvision for income taxes 40 30\nNet income 100 81",
        ),
    ),
    make_page(
        3,
        ("title", "CONSOLIDATED BALANCE SHEETS"),
        (
            "table",
            "Cash and cash equivalents 100 90\nInventories 50 40\nTotal current assets 200 180\n"
            "Total assets 400 380\nAccounts payable 70 60\nTotal current liabilities 120 110\n"
            "Retained earnings 90 80",
        ),
    ),
    make_page(
        4,
        ("title", "CONSOLIDATED STATEMENTS OF CASH FLOWS"),
        (
            "table",
            "Cash flows from operating activities 1 2\nDepreciation and amortization 30 28\n"
            "Purchases of property, plant and equipment (45) (41)\nDividends paid (20) (19)\n"
            "Effect of exchange rate changes 1 1\nFinancing activities 3 4",
        ),
    ),
    make_page(5, ("text", "Capital spending is discussed in the letter. Capital matters.")),
]


@pytest.mark.parametrize(
    ("query", "page", "statement"),
    [
        ("What is the FY2022 capital expenditure?", 4, "cash flow statement"),
        ("What is the quick ratio?", 3, "balance sheet"),
        ("What are the COGS shown in the P&L statement?", 2, "income statement"),
    ],
)
def test_in_a_filing_analysts_words_lead_to_the_statement(query, page, statement):
    best = make_retriever(FILING).retrieve(query, 1)[0]
    assert best.ref.page == page
    assert f"statement: {statement}" in best.matched


def test_the_vocabulary_is_silent_where_there_are_no_statements():
    evidence = make_retriever(texts_to_pages(*TEXTS)).evidence("What is the capex of the turbines?")
    assert "statements" not in evidence.signals
    assert not any(name.startswith("vocabulary") for name in evidence.signals)
