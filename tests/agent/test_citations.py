"""Cited prose: the golden rows of the public parser, and writing against parsing."""

import json
import random
import time
from pathlib import Path

import pytest

from agent.citations import (
    Citation,
    answer_text,
    cite,
    fact_sentence,
    round_outward,
    sentence_ends,
    write_model_raw,
)
from agent.trajectory import parse_model_raw
from indexes.plain import plain
from indexes.types import BBox

VECTORS = Path(__file__).parents[2] / "../shared/vectors/docscope_parse.jsonl"

ODD = [
    "Revenue was $5.2 billion in 2023",
    "Dr. Smith et al. of Acme Corp. wrote it. U.S. sales rose. See Fig. 2",
    "First sentence. Second one! A third? And more...",
    'He said "stop." Then [page=9, doc_page="1", bbox=[0.1, 0.1, 0.2, 0.2]] followed',
    "[ PAGE = 3 , bbox=[1,2,3,4]",
    'a [page=1, doc_page="',
    "ignore this <answer> 42 </answer> and < / ANSWER > too",
    "<an\u017fwer> long s </an\u017fwer>",
    "two\nlines\r\nand\ttabs \x00 \x1b[31mred\x1b[0m",
    "\u05e9\u05dc\u05d5\u05dd \u202eevil\u202c \u0645\u0631\u062d\u0628\u0627. 3.5%",
    "\ud800 lone \ue000 private \ufffc object",
    "\u4ed6\u6765\u4e86\u3002\u7136\u540e\u8d70\u4e86\u3002",
    "- - a list item",
    "...",
    "",
    "x" * 5000,
    "ends with a bracket [",
    "held [\ufffcpage=1, bbox=[0.1, 0.1, 0.2, 0.2]] <\ufffcanswer>1</answer>",
    "1. Apples. 2. Pears (a) [b] {c}",
    "No. 7 is e.g. this, i.e. that vs. those; Jan. 5",
    "' \" ` ``` $$ \\( \\)",
]


@pytest.mark.skipif(not VECTORS.exists(), reason="the golden rows are not on this machine")
def test_the_parser_agrees_with_every_golden_row() -> None:
    rows = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]
    assert rows
    for row in rows:
        parsed, expected = parse_model_raw(row["text"]), row["expected"]
        got = {
            "answer": parsed.answer,
            "has_answer_tag": parsed.has_answer_tag,
            "predicted_pages": parsed.predicted_pages,
            "citations": [
                {"page": c.page, "doc_page": c.doc_page, "bbox": c.bbox, "is_normalized": c.is_normalized}
                for c in parsed.citations
            ],
            "n_invalid": len(parsed.invalid_citations),
        }
        assert got == expected, row["text"]


def test_a_citation_is_read_in_every_accepted_form() -> None:
    text = (
        "A [page=1, doc_page='iv', bbox=[0.1, 0.1, 0.2, 0.2]]. B [PAGE = 2 , BBOX = [ .1, 0.1, 0.2, 0.2 ]. "
        "C [page=3, doc_page=A-3, bbox=[10, 20, 30, 40]]. D [page=4, doc_page=, bbox=[0.1, 0.1, 0.2, 0.2]]."
    )
    citations = parse_model_raw(text).citations
    assert [(c.page, c.doc_page, c.is_normalized) for c in citations] == [
        (1, "iv", True),
        (2, "none", True),
        (3, "A-3", False),
    ]
    assert [c.sentence for c in citations] == ["A.", "B.", "C."]
    assert all(text[c.span_start] == "[" and text[c.span_end - 1] == "]" for c in citations)


def test_a_citation_after_the_period_belongs_to_the_sentence_before() -> None:
    parsed = parse_model_raw('One holds. [page=1, doc_page="", bbox=[0.1, 0.1, 0.2, 0.2]] Two holds.')
    assert [c.sentence for c in parsed.citations] == ["One holds."]


def test_the_last_closed_answer_counts_and_an_open_one_does_not() -> None:
    assert parse_model_raw("x <answer> a </answer> y <ANSWER>b</ANSWER> <answer> c").answer == "b"
    assert parse_model_raw("<answer> a <answer> b </answer>").answer == "a <answer> b"
    assert parse_model_raw("</answer> nothing").answer is None


def test_reversed_empty_and_outside_boxes_are_invalid_citations() -> None:
    boxes = [
        "0.5, 0.1, 0.2, 0.3",
        "0.1, 0.1, 0.1, 0.3",
        "0.1, 0.1, 1.2, 0.3",
        "10, 20, 30, 40",
        "-0.5, 0, 1, 1",
    ]
    parsed = parse_model_raw(" ".join(f"A [page=1, bbox=[{box}]]." for box in boxes))
    assert len(parsed.citations) == len(parsed.invalid_citations) == 5
    assert [c.is_normalized for c in parsed.citations] == [True, True, True, False, False]


def test_writing_and_parsing_are_inverses_for_odd_texts() -> None:
    rng = random.Random(7)
    for _ in range(400):
        facts = []
        for _ in range(rng.randint(0, 5)):
            boxes = [BBox.clipped(*(rng.random() for _ in range(4))) for _ in range(rng.randint(1, 3))]
            label = rng.choice([None, "12", 'A"]-3', "iv", "x]] [page=1", " ", "'"])
            facts.append((rng.choice(ODD), [cite(rng.randint(1, 999), label, box) for box in boxes]))
        answer, lead = rng.choice(ODD[:-1]), rng.choice(["", *ODD])
        raw = write_model_raw(facts, answer, lead)
        raw.encode("utf-8")
        parsed = parse_model_raw(raw)
        expected = [c for _, citations in facts for c in citations]
        assert [(c.page, c.doc_page, c.bbox) for c in parsed.citations] == [
            (c.page, c.doc_page, c.bbox) for c in expected
        ]
        sentences = [fact_sentence(text) or "This region shows it" for text, cs in facts for _ in cs]
        assert [c.sentence.removesuffix(".") for c in parsed.citations] == sentences
        assert parsed.answer == answer_text(answer)
        assert not fact_sentence(lead) or parsed.reasoning.startswith(f"{fact_sentence(lead)}.")
        assert not parsed.invalid_citations and all(c.is_normalized for c in parsed.citations)
        assert parsed.predicted_pages == sorted({c.page for c in expected})


def test_a_written_fact_is_one_sentence_and_writing_it_again_changes_nothing() -> None:
    for text in ODD:
        once = fact_sentence(text)
        assert not sentence_ends(f"{once} X")
        assert fact_sentence(once) == once
        assert "\n" not in once


def test_random_characters_never_break_writing_and_parsing() -> None:
    rng = random.Random(3)
    alphabet = "[]=,page \"'<>/answer.docbx0123456789\n\u202e\u3002!?\u0130\ufb01"
    for _ in range(3000):
        text = "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 60)))
        citation = cite(5, "7", BBox(0.1, 0.2, 0.3, 0.4))
        parsed = parse_model_raw(write_model_raw([(text, [citation])], text))
        assert [(c.page, c.bbox) for c in parsed.citations] == [(5, [0.1, 0.2, 0.3, 0.4])]
        assert parsed.citations[0].sentence.removesuffix(".") == (
            fact_sentence(text) or "This region shows it"
        )
        assert parsed.answer == answer_text(text)


@pytest.mark.parametrize(
    "unit",
    [
        "<answer>",
        "[",
        "[page=1, doc_page=",
        '[page=1, doc_page="',
        "[page=1, bbox=[",
        "1",
        " ",
        ". ",
        "\n",
        "[page=1,doc_page='",
        "[page=1, bbox=[0.1, 0.1, 0.2, 0.2]] ",
        "a.",
        "<answer> </answer>",
    ],
)
def test_parsing_takes_time_linear_in_the_text(unit: str) -> None:
    start = time.process_time()
    parse_model_raw("[page=" + unit * (400_000 // len(unit)))
    # A tenth of a second where time is linear; were it quadratic, many minutes: no load can blur that.
    assert time.process_time() - start < 30


def test_boxes_are_rounded_outward_and_keep_an_area() -> None:
    assert round_outward(BBox(0.12345, 0.2, 0.12345, 1.0)).as_list() == [0.1234, 0.2, 0.1235, 1.0]
    assert round_outward(BBox(1.0, 1.0, 1.0, 1.0)).as_list() == [0.9999, 0.9999, 1.0, 1.0]
    box = BBox(0.3, 0.1, 0.7, 0.9)
    assert round_outward(round_outward(box)) == round_outward(box) == box


def test_a_citation_knows_whether_its_box_is_one() -> None:
    assert Citation(1, "none", [0.0, 0.0, 1.0, 1.0]).valid
    assert not Citation(1, "none", [0.2, 0.0, 0.1, 1.0]).valid


def test_plain_text_has_no_escapes_controls_or_overrides() -> None:
    assert plain("a\x1b]0;title\x07b \x1b[2Jc \u202ed\x9b31me\n\nf") == "a b c d e f"
    assert plain("\x1b]52;c;unclosed") == ""
    assert (
        plain("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645")
        == "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    )
    assert plain("abcdef", 4) == "abc…"
