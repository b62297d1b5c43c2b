"""Of several documents, those that a question names answer it."""

from collections.abc import Sequence

import pytest
from reader_pages import page_of

from agent.readers.extractive import ExtractiveReader
from agent.readers.extractive.named import named_documents, of_named
from agent.types import FactDraft, Plan, ReadTask
from indexes.types import PageRef

FILINGS = ["NIKE_2019_10K", "NIKE_2021_10K", "COSTCO_2021_10K", "AMERICANEXPRESS_2022_10K"]


@pytest.mark.parametrize(
    ("question", "doc_ids", "named"),
    [
        ("What are Costco's total assets?", FILINGS, {"COSTCO_2021_10K"}),
        ("What are the total assets of Nike in 2021?", FILINGS, {"NIKE_2019_10K", "NIKE_2021_10K"}),
        ("Did American Express or Nike grow?", FILINGS, {*FILINGS} - {"COSTCO_2021_10K"}),
        ("What were total assets in 2021?", FILINGS, set()),
        ("What are Costco's total assets?", FILINGS[:2], set()),
        ("What are Costco's total assets?", ["COSTCO_2021_10K", "COSTCO_2020_10K"], set()),
        ("What did the 2022 report say?", ["2023/report", "2022/report"], set()),
        ("Is it a cost?", ["costco", "a-b"], set()),
        ("What of lamps?", ["doc"], set()),
    ],
)
def test_a_document_is_named_by_the_words_that_tell_it_from_the_others(
    question: str, doc_ids: Sequence[str], named: set[str]
) -> None:
    assert named_documents(question, doc_ids) == named


def _task(question: str, docs: Sequence[str], documents: Sequence[str] = ()) -> ReadTask:
    pages = [
        page_of([f"Total assets were {n},500 million in 2021."], doc=doc) for n, doc in enumerate(docs, 7)
    ]
    return ReadTask(
        question, Plan("number", (question,), (question,)), pages, (), (), (), None, tuple(documents)
    )


def test_what_another_document_says_counts_half_and_leaves_its_part_open() -> None:
    reader = ExtractiveReader()
    docs = ["nike-2021", "costco-2021"]
    both = reader.read(_task("What were Costco's total assets in 2021?", docs, docs))
    scores = {draft.ref.doc_id: draft.score for draft in both.drafts}
    assert scores["costco-2021"] > scores["nike-2021"]
    other = reader.read(_task("What were Costco's total assets in 2021?", docs[:1], docs))
    assert other.missing == (0,)
    assert reader.read(_task("What were total assets in 2021?", docs[:1], docs)).missing == ()


def test_drafts_keep_their_scores_where_nothing_is_named() -> None:
    drafts = [FactDraft(PageRef("a", 1), "x", "x", 0.8), FactDraft(PageRef("b", 1), "x", "x", 0.6)]
    assert of_named("What of it?", drafts, ["a", "b"]) == drafts
    assert [draft.score for draft in of_named("What of lamps?", drafts, ["a", "lamps"])] == [0.4, 0.3]
