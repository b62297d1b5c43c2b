"""The live display: queries, pages and facts as they come, on stderr."""

import io

import pytest
from agent_fakes import FakeDocument, FakeRetriever, ScriptedReader, make_page, make_run, quoting, saying

from agent.graph import ask
from agent.live import Live
from agent.types import Decision, DraftAnswer, FactDraft, Plan, Reading, Usage
from indexes.types import PageRef


def shown(reader, **options) -> str:
    stream = io.StringIO()
    run = make_run(reader, **options)
    ask("How many offices?", run, question_id="q", model="m", watch=Live(stream, several=run.several))
    return stream.getvalue()


def test_queries_pages_and_facts_are_shown_in_the_order_in_which_they_come() -> None:
    def decides(task):
        if len(task.facts) > 1:
            return Decision("answer", "both are there")
        return Decision("retrieve", "half of it", ("founded Oslo",))

    def plans(question, outline):
        return Plan("span", ("where?", "how many?"), ("offices 42",))

    reader = ScriptedReader(
        reads=quoting("It has 42 offices.", "founded in Oslo"),
        decides=decides,
        answers=saying("Oslo, 42"),
        plans=plans,
    )
    lines = shown(reader, k=1).splitlines()
    assert lines[:6] == [
        "plan: where?; how many?",
        'round 1: looking for "offices 42"',
        "  found p. 2, p. 4, p. 5, p. 1, p. 3, p. 6",
        "  read p. 2",
        "  f1 p. 2 (label 1)  exact  It has 42 offices.",
        "  going on: half of it",
    ]
    assert lines[6] == 'round 2: looking for "founded Oslo"'
    assert lines[-3:] == [
        "  read p. 1",
        "  f2 p. 1 (label i)  exact  founded in Oslo",
        "  answering: both are there",
    ]


def test_each_step_is_shown_before_the_next_begins() -> None:
    stream = io.StringIO()
    seen = []

    def reads(task):
        seen.append(stream.getvalue())
        return Reading(())

    run = make_run(ScriptedReader(reads=reads))
    ask("offices?", run, question_id="q", model="m", watch=Live(stream))
    assert seen[0].endswith("p. 6\n") and "looking for" in seen[0]


def test_slips_errors_and_what_was_dropped_are_shown() -> None:
    def reads(task):
        if len(task.pages) > 1:
            raise ValueError("bad \x1b[31mreply")
        draft = FactDraft(task.pages[0].ref, "never said", "nowhere to be found", 0.5)
        return Reading((draft,), usage=Usage(1, 1, 1), notes=("page 99 does not exist",))

    text = shown(ScriptedReader(reads=reads, answers=saying("57")))
    assert "  error in read: bad reply\n" in text and "  note: page 99 does not exist\n" in text
    assert "  2 dropped, not borne out by the page\n" in text


def test_slips_of_every_step_are_shown() -> None:
    reader = ScriptedReader(
        plans=lambda question, outline: Plan("span", ("one", "two"), ("offices",), notes=("plan slip",)),
        decides=lambda task: Decision("answer", "enough", notes=("decide slip",)),
        answers=lambda *args: DraftAnswer("Unanswerable", (), "none", 0.0, notes=("answer slip",)),
    )
    lines = shown(reader).splitlines()
    assert [line for line in lines if "slip" in line] == [
        "  note: plan slip",
        "  note: decide slip",
        "  note: answer slip",
    ]
    failing = ScriptedReader(answers=lambda *args: 1 / 0)
    assert "  error in answer: division by zero" in shown(failing).splitlines()


def test_an_answer_in_vain_is_followed_by_what_the_run_then_does() -> None:
    def decides(task):
        if task.abstained and task.round == 1:
            return Decision("retrieve", "look again", ("offices 42",))
        return Decision("answer", "that is all")

    lines = [line for line in shown(ScriptedReader(decides=decides)).splitlines() if ": " in line]
    told = ("  answering", "  going on", "  giving up", "  note: answer")
    said = [line for line in lines if line.startswith(told)]
    assert said == [
        "  answering: that is all",
        "  note: answer: tried in vain: nothing says so",
        "  going on: look again",
        "  answering: that is all",
        "  giving up: that is all",
    ]


def test_an_answer_that_was_not_let_through_is_said() -> None:
    text = shown(ScriptedReader(reads=quoting("It has 42 offices."), answers=saying("57")))
    assert "the answer was revised: no cited fact says 57\n" in text


def test_what_a_document_or_a_model_says_cannot_steer_the_terminal() -> None:
    evil = "\x1b[2J\x07evil\x9b31m \u202etxet"
    pages = [make_page(1, [evil], label=evil)]

    def reads(task):
        return Reading((FactDraft(task.pages[0].ref, evil, "", 0.5, blocks=(0,)),))

    reader = ScriptedReader(
        reads=reads,
        plans=lambda *args: Plan("span", (evil, evil), (evil,)),
        decides=lambda task: Decision("answer", evil),
    )
    text = shown(reader, document=FakeDocument(pages))
    assert "evil" in text and all(c.isprintable() or c == "\n" for c in text)


def test_of_several_documents_pages_say_whose_they_are() -> None:
    documents = [FakeDocument([make_page(1, ["x"], doc_id=name)], doc_id=name) for name in ("a", "b")]
    text = shown(ScriptedReader(), documents=documents, retriever=FakeRetriever(documents[1]))
    assert "found b, p. 1" in text and "read b 1" in text


@pytest.mark.parametrize("many", [3, 30])
def test_long_lists_are_cut_and_counted(many: int) -> None:
    lines = [f"Value {n} was sold in 2023." for n in range(many)]
    page = make_page(1, ["\n".join(lines)])

    def reads(task):
        return Reading(
            tuple(FactDraft(PageRef("fake", 1), line, line, n / 100) for n, line in enumerate(lines))
        )

    text = shown(ScriptedReader(reads=reads), document=FakeDocument([page]))
    assert text.count("was sold") == min(many, 8)
    assert ("and 22 more facts" in text) == (many == 30)
