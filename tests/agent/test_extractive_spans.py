"""Spans fit what is asked: who, when and where, and the lines of a form."""

import time

import pytest
from reader_pages import page_of

from agent.readers.extractive import counting, lines, spans
from agent.readers.extractive.answers import best_attempt
from agent.readers.extractive.labelled import label_value
from agent.readers.extractive.planning import make_plan
from agent.readers.extractive.question import analyse
from agent.readers.extractive.reader import ExtractiveReader
from agent.readers.extractive.sentences import units
from agent.types import EvidenceRegion, Fact, ReadTask
from indexes.types import BBox, Page, PageRef

BOX = BBox(0.1, 0.1, 0.2, 0.2)


def told(question: str, *texts: str) -> str | None:
    """The answer from facts, the first the strongest."""
    region = EvidenceRegion(PageRef("doc", 1), BOX)
    facts = [
        Fact(f"f{i}", text, text, (region,), "exact", 1, 0.9 - 0.05 * i, 0) for i, text in enumerate(texts)
    ]
    attempt = best_attempt(analyse(question), make_plan(question), facts)
    return attempt.text if attempt else None


def form() -> Page:
    return page_of(
        [
            "CERTIFICATE",
            "Object inspected: export cable, Grey Skerry",
            "Date of inspection: 26 April 2024",
            "Inspector: Marek Dvorak, Nordic Marine Survey",
            "The cable was inspected over its whole length of 4.7 kilometres.",
            "Next inspection due: April 2027",
        ],
        [("title", 0, 1), ("text", 1, 4), ("text", 4, 5), ("text", 5, 6)],
    )


def test_the_lines_of_a_form_are_read_one_by_one() -> None:
    lines = [label_value(unit.text) for unit in units(form())]
    assert [line[0] for line in lines if line] == [
        "Object inspected",
        "Date of inspection",
        "Inspector",
        "Next inspection due",
    ]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who inspected the export cable at Grey Skerry?", "Marek Dvorak, Nordic Marine Survey"),
        ("When was the export cable inspected?", "26 April 2024"),
        ("When is the next inspection due?", "April 2027"),
    ],
)
def test_a_line_of_a_form_answers_where_its_label_meets_the_question(question: str, answer: str) -> None:
    reader = ExtractiveReader(None)
    plan = reader.plan(question, ())
    drafts = reader.read(ReadTask(question, plan, [form()], (), (), ())).drafts
    facts = [
        Fact(f"f{i}", d.text, d.quote, (EvidenceRegion(d.ref, BOX),), "exact", 1, d.score, d.part)
        for i, d in enumerate(drafts)
    ]
    attempt = best_attempt(analyse(question), plan, facts)
    assert attempt is not None and (attempt.text, attempt.kind) == (answer, "labelled")


@pytest.mark.parametrize(
    "text",
    [
        "Table 2: Turbines in service",
        "Name: Siri Aasen; Role: Chair",
        "We asked our members about one thing: how they vote.",
        "Note:",
    ],
)
def test_captions_and_rows_and_long_sentences_are_no_lines_of_a_form(text: str) -> None:
    assert label_value(text) is None


@pytest.mark.parametrize(
    ("question", "texts", "answer"),
    [
        ("Who tore the cable?", ["Object: cable Date of the repair: 26 April 2024"], None),
        ("Who tore the cable?", ["The storm of 14 January tore the cable, see Table 3."], None),
        ("Who repaired the cable?", ["The cable was repaired at Loch Varran in May 2020."], None),
        ("Who repaired the cable?", ["The cable was repaired by Ann Berg in May 2020."], "Ann Berg"),
        ("Who joined the board in 2016?", ["Name: Ida Holm; Role: Chair; Member since: 2016"], "Ida Holm"),
        ("When was the firm founded?", ["The firm was founded in 2009 in Tromso."], "2009"),
        ("When was the firm founded?", ["The firm was founded by three engineers."], None),
        ("When did the trial begin?", ["The trial began in March 2024 at the loch."], "March 2024"),
        ("Where was the firm founded?", ["The firm was founded in 2009 in Tromso by engineers."], "Tromso"),
        ("Where was the firm founded?", ["The firm was founded in March by three engineers."], None),
        ("Where is the head office?", ["Office: head office; City: Bergen; Staff: 12"], "Bergen"),
    ],
)
def test_a_span_is_of_the_kind_asked_for_or_none_is_given(
    question: str, texts: list[str], answer: str | None
) -> None:
    assert told(question, *texts) == answer


def test_a_label_is_no_part_of_a_phrase() -> None:
    answer = told("What covers the cable?", "Protective sleeve of the cable: woven basalt")
    assert answer is not None and "sleeve" not in answer


def test_a_line_of_a_form_about_something_else_does_not_answer() -> None:
    question = "What is the source of the figures for the audience of the search engine?"
    assert told(question, "Source: Harbour Office, spring survey") != "Harbour Office, spring survey"
    assert told(question, "Source: Harbour Office (under: Audience of the search engine)") == "Harbour Office"


def test_endless_words_are_looked_through_at_once() -> None:
    begin = time.perf_counter()
    patterns = [*(one[-1] for one in spans._TYPED), *(one[-1] for one in counting._TYPED), lines.RANGE]
    for piece in ("a-", "a", "1", "1."):
        for pattern in patterns:
            pattern.findall(piece * 50_000 + "!")
    assert time.perf_counter() - begin < 10
    (sites,) = [pattern for noun, pattern in counting._TYPED if "web" in noun]
    assert sites.findall("see a-b.com, x@c-d.org or www.e.de") == ["a-b.com,", "c-d.org", "www.e.de"]
