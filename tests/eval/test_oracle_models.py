"""Oracles, controls and replays of a reader that is a model."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "agent"))

from agent_fakes import DOC, FakeRetriever, make_run  # noqa: E402
from generative_fakes import (  # noqa: E402
    FOLLOWS,
    FakeModel,
    SeenDocument,
    answering,
    deciding,
    fact,
    planning,
    reading,
)

from agent.config import Config, View  # noqa: E402
from agent.graph import ask  # noqa: E402
from agent.models import Picture, Request  # noqa: E402
from agent.readers.generative import GenerativeReader  # noqa: E402
from agent.replay import replay  # noqa: E402
from eval.benchmarks.types import GoldFact, GoldRegion, Question  # noqa: E402
from eval.oracles import ORACLES, Given  # noqa: E402
from indexes.types import BBox, PageRef  # noqa: E402

QUESTION = Question(
    id="q1",
    question="How many offices does it have?",
    documents=(Path("fake.pdf"),),
    answer="42",
    answer_format="",
    gold_pages=(PageRef(DOC, 2),),
    answerable=True,
    gold_regions=(GoldRegion("e1", PageRef(DOC, 2), BBox(0.0, 0.0, 1.0, 0.2)),),
    gold_facts=(GoldFact("f1", "e1", "It has 42 offices."),),
)


def model(**roles) -> FakeModel:
    given = {
        "plan": planning("offices"),
        "read": lambda request: reading(fact(2, "It has 42 offices.")),
        "decide": deciding("answer", p1=["f1"]),
        "answer": answering("42", "f1"),
        "verify": FOLLOWS,
        "closed_book": {"answer": "40", "confidence": 0.2},
    }
    return FakeModel(sees=True, context=60_000, **{**given, **roles})


def given(asked: FakeModel, images: bool = True) -> Given:
    config = Config(reader="chat", reader_model="fake", view=View(images=images))
    return Given(QUESTION, [SeenDocument()], GenerativeReader(asked, config.view), config, asked)


def requests_of(asked: FakeModel, role: str) -> list[Request]:
    return [request for request in asked.requests if request.role == role]


@pytest.mark.parametrize("name", ["gold-pages", "gold-regions", "gold-facts", "document-text"])
def test_a_model_answers_under_every_setting(name):
    asked = model()
    run = ORACLES[name].ask(given(asked))
    assert run.failure is None and run.answer == "42"
    assert json.loads(run.line())["status"] == "ok"


def test_a_whole_document_as_pictures_has_every_page_and_no_word():
    asked = model()
    run = ORACLES["document-images"].ask(given(asked))
    sent = [part for request in requests_of(asked, "read") for part in request.content]
    pictures = [part for part in sent if isinstance(part, Picture)]
    assert len(pictures) == 6
    assert not any("offices" in part for part in sent if isinstance(part, str) and "Question" not in part)
    assert [ref.page for record in run.rounds for ref in record.read] == [1, 2, 3, 4, 5, 6]


def test_a_whole_document_as_text_has_no_picture():
    asked = model()
    ORACLES["document-text"].ask(given(asked, images=False))
    sent = [part for request in requests_of(asked, "read") for part in request.content]
    assert not any(isinstance(part, Picture) for part in sent)
    assert any("42 offices" in part for part in sent if isinstance(part, str))


def test_closed_book_asks_the_model_once_and_shows_it_nothing():
    asked = model()
    run = ORACLES["closed-book"].ask(replace(given(asked), documents=()))
    assert [request.role for request in asked.requests] == ["closed_book"]
    assert run.answer == "40" and run.usage.calls == 1 and run.facts == ()


def going_on(asked_rounds: int):
    """A run whose model wants more until its budget ends it, and what it leaves."""

    def reads(request: Request):
        said = " ".join(part for part in request.content if isinstance(part, str))
        known = {1: "The company was founded in Oslo in 1998.", 2: "It has 42 offices."}
        return reading(*(fact(page, text) for page, text in known.items() if text in said), missing=[1])

    asked = model(
        read=reads,
        decide=deciding("retrieve", "offices once more"),
        answer=lambda request: answering("42", "f1", "f2") if "42" in str(request.content) else answering(""),
    )
    document = SeenDocument()
    made = make_run(
        GenerativeReader(asked, View()),
        document=document,
        retriever=FakeRetriever(document, order=(1, 2, 3, 4, 5, 6)),
        k=1,
        rounds=asked_rounds,
    )
    return asked, made, ask(QUESTION.question, made, question_id="q1", model="m")


def untimed(run):
    return replace(run, timings={}, rounds=tuple(replace(record, seconds=0.0) for record in run.rounds))


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_models_replay_equals_the_run_with_that_budget(rounds):
    _, made, longest = going_on(3)
    _, _, short = going_on(rounds)
    again = replay(longest, rounds, made.reader)
    assert untimed(again) == untimed(short)


def test_a_replay_asks_for_the_ending_only():
    asked, made, longest = going_on(3)
    asked.requests.clear()
    replay(longest, 2, made.reader)
    assert {request.role for request in asked.requests} <= {"decide", "answer", "verify"}
