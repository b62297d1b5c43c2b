"""Why a run ends is what ended it, and a run that came to no answer looks further while it may."""

import json
from itertools import count

import pytest
from agent_fakes import FakeDocument, FakeRetriever, ScriptedReader, make_run, quoting, saying

from agent.graph import ask
from agent.readers.extractive import ExtractiveReader
from agent.readers.generative.deciding import decide
from agent.replay import replay
from agent.trajectory import Trajectory
from agent.types import DecideTask, Decision, DraftAnswer, EvidenceRegion, Fact, Plan, Reading, Usage
from indexes.types import BBox, PageRef

OFFICES = quoting("It has 42 offices.")


def go(reader, question="How many offices?", order=(1, 2, 3, 4, 5, 6), **dials) -> Trajectory:
    document = FakeDocument()
    run = make_run(
        reader, document=document, retriever=FakeRetriever(document, order), **{"k": 1, "rounds": 6, **dials}
    )
    trajectory = ask(question, run, question_id="q", model="m")
    assert Trajectory.from_row(json.loads(trajectory.line())).as_json() == trajectory.as_json()
    return trajectory


def within_reason(task: DecideTask) -> Decision:
    """As readers decide: what is asked for is there, or it is looked for, the budget or not."""
    return Decision("retrieve", "more") if task.missing else Decision("answer", "enough")


def covering(*quotes: str):
    """A reading step after which nothing is missing once a quote was found."""

    def reads(task):
        drafts = quoting(*quotes)(task).drafts
        return Reading(drafts, () if drafts or task.facts else (0,))

    return reads


@pytest.mark.parametrize(
    ("order", "dials", "stop", "rounds"),
    [
        ((2, 1, 3, 4, 5, 6), {}, "answered", 1),
        ((1, 2, 3, 4, 5, 6), {"rounds": 2}, "answered", 2),  # it had enough just as the budget ended
        ((1, 3, 4, 5, 6, 2), {"rounds": 2}, "rounds", 2),
        ((1, 3, 4, 5, 6, 2), {"max_pages": 3}, "pages", 3),
    ],
)
def test_the_reason_for_the_end_is_what_ended_the_run(order, dials, stop, rounds) -> None:
    reader = ScriptedReader(reads=covering("It has 42 offices."), decides=within_reason, answers=saying("42"))
    trajectory = go(reader, order=order, **dials)
    assert (trajectory.stop, len(trajectory.rounds)) == (stop, rounds)


def test_a_run_without_evidence_in_the_whole_document_ends_as_nothing_was_left() -> None:
    trajectory = go(ScriptedReader(reads=covering("no such words"), decides=within_reason), rounds=9)
    assert trajectory.stop == "nothing_left" and len(trajectory.pages_read) == 6


def test_time_that_is_spent_while_more_was_wanted_is_the_reason_whatever_the_reader_then_says() -> None:
    ticks = count(0, 10)

    def decides(task):
        return Decision("retrieve", "more") if task.round == 1 else Decision("answer", "enough")

    reader = ScriptedReader(reads=OFFICES, decides=decides, answers=saying("42"))
    trajectory = go(reader, order=(2, 1), clock=lambda: float(next(ticks)), max_seconds=75.0)
    assert [len(r.read) for r in trajectory.rounds] == [1, 0]
    assert trajectory.stop == "seconds" and trajectory.answer == "42"
    assert reader.decisions[-1].rounds_left == 0 < reader.decisions[0].rounds_left


def test_pages_that_fail_together_are_read_alone_only_while_time_is_left() -> None:
    clock, tries = [0.0], []

    def reads(task):
        tries.append([page.ref.page for page in task.pages])
        clock[0] += 30.0
        if len(task.pages) > 1 or task.pages[0].ref.page == 1:
            raise ValueError("too slow")
        return OFFICES(task)

    reader = ScriptedReader(reads=reads, answers=saying("42"))
    trajectory = go(reader, k=4, order=(1, 2, 3, 4), clock=lambda: clock[0], max_seconds=90.0)
    assert tries == [[1, 2, 3, 4], [1], [2]] and trajectory.answer == "42"
    assert [e.message for e in trajectory.rounds[0].errors][2:] == [
        "not read alone: the budget of seconds is spent"
    ] * 2


@pytest.mark.parametrize(("rounds", "stop"), [(1, "rounds"), (3, "rounds"), (9, "nothing_left")])
def test_the_embedded_reader_says_that_the_budget_ended_a_run_with_open_parts(rounds: int, stop: str) -> None:
    trajectory = go(ExtractiveReader(), "Who is the treasurer of the rowing club?", rounds=rounds)
    assert trajectory.stop == stop and trajectory.reply.abstains
    assert trajectory.rounds[-1].decision is not None
    if stop == "rounds":
        assert trajectory.rounds[-1].decision.reason.startswith("the budget is spent; not covered: ")


def fact(part: int, score: float = 0.9, support: str = "exact", found: int = 1) -> Fact:
    region = EvidenceRegion(PageRef("d", 1), BBox(0, 0, 1, 1))
    return Fact(f"f{part + 1}", "a", "a", (region,), support, found, score, part)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "missing", "sweep", "action"),
    [
        ([fact(0), fact(1)], (), False, "answer"),
        ([fact(0), fact(1)], (1,), False, "retrieve"),
        ([fact(0)], (), False, "retrieve"),
        ([fact(0), fact(1, support="none")], (), False, "retrieve"),
        ([fact(0), fact(1, 0.1)], (), False, "retrieve"),
        ([fact(0), fact(1)], (), True, "answer"),
        ([fact(0), fact(1, found=2)], (), True, "retrieve"),
    ],
)
def test_a_model_is_not_asked_what_to_do_without_a_budget_and_the_ledger_tells_why_it_ends(
    facts, missing, sweep, action
) -> None:
    plan = Plan("span", ("one", "two"), ("one",), sweep=sweep)
    task = DecideTask("?", plan, facts, missing, ["one"], 0, 5, 2)
    decision = decide(task, None, None)  # type: ignore[arg-type]
    assert decision.action == action and "budget is spent" in decision.reason


def unsure(question, plan, facts) -> DraftAnswer:
    """Abstains until the fact on page 3 is there."""
    if any("Net sales" in f.text for f in facts):
        return saying("1,577")(question, plan, facts)
    return DraftAnswer(
        "Unanswerable", (), f"{len(facts)} facts do not say", 0.0, usage=Usage(7, 1, 1), notes=("a slip",)
    )


def asking_further(task: DecideTask) -> Decision:
    if task.abstained:
        return Decision("retrieve", "look again", (f"query {task.round}",), Usage(3, 1, 1), ("not enough",))
    return Decision("answer", "enough", usage=Usage(2, 1, 1), notes=("hasty",))


def test_an_answer_that_comes_to_nothing_is_followed_by_another_search() -> None:
    reads = quoting("The company was founded in Oslo in 1998.", "It has 42 offices.", "Net sales 1,577")
    reader = ScriptedReader(reads=reads, decides=asking_further, answers=unsure)
    trajectory = go(reader)
    assert trajectory.answer == "1,577" and trajectory.stop == "answered" and trajectory.revised is None
    assert [r.queries for r in trajectory.rounds[1:]] == [("query 1",), ("query 2",)]
    assert [task.abstained for task in reader.decisions] == [
        *("", "1 facts do not say"),
        *("", "2 facts do not say"),
        "",
    ]
    first = trajectory.rounds[0]
    assert first.notes == ("hasty", "answer: tried in vain: 1 facts do not say", "a slip", "not enough")
    assert first.usage == Usage(2 + 7 + 3, 3, 3) and trajectory.reply.notes == ()
    parts = [r.usage for r in trajectory.rounds] + [trajectory.reply.usage, trajectory.plan.usage]
    assert sum(parts, Usage()) == trajectory.usage == Usage(12 + 12 + 2, 7, 7)


def test_an_answer_that_was_withdrawn_is_followed_by_another_search_too() -> None:
    def answers(question, plan, facts):
        return saying("1,577" if len(facts) > 1 else "57")(question, plan, facts)

    reads = quoting("It has 42 offices.", "Net sales 1,577")
    trajectory = go(ScriptedReader(reads=reads, decides=asking_further, answers=answers), order=(2, 3, 1))
    assert trajectory.answer == "1,577" and len(trajectory.rounds) == 2 and trajectory.revised is None
    assert any("'57' was not let through: no cited fact says 57" in n for n in trajectory.rounds[0].notes)


@pytest.mark.parametrize(
    ("dials", "rounds"), [({"rounds": 4}, 4), ({"max_pages": 2}, 2), ({"rounds": 50, "max_pages": 99}, 6)]
)
def test_searching_on_ends_with_the_budget_or_the_document(dials, rounds) -> None:
    reader = ScriptedReader(reads=OFFICES, decides=asking_further)
    trajectory = go(reader, **dials)
    assert trajectory.stop == "abstained" and len(trajectory.rounds) == rounds
    assert len(reader.decisions) == 2 * rounds - 1


def test_a_reader_that_gives_up_is_not_asked_for_the_same_answer_again() -> None:
    tries = []

    def answers(question, plan, facts):
        tries.append(len(facts))
        return DraftAnswer("Unanswerable", (), "no", 0.0, usage=Usage(7, 1, 1))

    reader = ScriptedReader(reads=OFFICES, answers=answers)
    trajectory = go(reader)
    assert tries == [0] and len(trajectory.rounds) == 1 and len(reader.decisions) == 2
    assert trajectory.stop == "abstained" and trajectory.reply.reason == "no"
    assert trajectory.usage == trajectory.reply.usage == Usage(7, 1, 1)


def test_a_decision_that_fails_after_an_answer_in_vain_ends_the_run_as_an_error_with_the_abstention() -> None:
    def decides(task):
        if task.abstained:
            raise ValueError("no JSON")
        return Decision("answer", "enough")

    trajectory = go(ScriptedReader(reads=OFFICES, decides=decides))
    assert trajectory.stop == "error" and trajectory.answer == "Unanswerable" and trajectory.failure is None
    assert [e.step for e in trajectory.rounds[0].errors] == ["decide"]


def test_a_reader_that_fails_to_answer_is_not_asked_to_search_on() -> None:
    def answers(*args):
        raise RuntimeError("down")

    reader = ScriptedReader(reads=OFFICES, decides=asking_further, answers=answers)
    trajectory = go(reader)
    assert trajectory.stop == "error" and trajectory.failure and len(trajectory.rounds) == 1


def test_a_replay_of_a_run_that_searched_on_equals_a_run_with_that_budget() -> None:
    def made(rounds: int) -> Trajectory:
        reads = quoting("The company was founded in Oslo in 1998.", "It has 42 offices.", "Net sales 1,577")
        return go(ScriptedReader(reads=reads, decides=asking_further, answers=unsure), rounds=rounds)

    def timeless(value):
        if isinstance(value, dict):
            return {k: timeless(v) for k, v in value.items() if k not in ("seconds", "timings")}
        return [timeless(v) for v in value] if isinstance(value, list) else value

    reader = ScriptedReader(decides=asking_further, answers=unsure)
    for rounds in (1, 2, 3):
        again = replay(made(6), rounds, reader)
        assert timeless(json.loads(again.line())) == timeless(json.loads(made(rounds).line()))


def test_a_revision_is_told_what_speaks_against_the_answer_and_sees_the_whole_ledger() -> None:
    seen = []

    def answers(question, plan, facts):
        seen.append(len(facts))
        return saying("57" if len(seen) == 1 else "42")(question, plan, facts)

    reads = quoting("It has 42 offices.", "Revenue was $5.2 billion in 2023")
    reader = ScriptedReader(reads=reads, answers=answers)
    trajectory = go(reader, order=(2, 1))
    assert trajectory.answer == "42" and seen == [2, 2]
    (objection,) = reader.objections
    assert (objection.reply.text, objection.why) == ("57", "no cited fact says 57")


def test_an_answer_that_its_reader_does_not_trust_is_revised_then_withdrawn_or_marked() -> None:
    def answers(question, plan, facts):
        return DraftAnswer("42", (facts[0].id,), "", 0.9, unsupported="another year\x1b[0m")

    for unsupported, answer in (("abstain", "Unanswerable"), ("mark", "42")):
        reader = ScriptedReader(reads=OFFICES, answers=answers)
        trajectory = go(reader, order=(2,), unsupported=unsupported)
        assert trajectory.answer == answer and trajectory.revised == "another year"
        assert len(reader.objections) == 1
        assert trajectory.reply.unsupported == ("another year" if answer == "42" else "")


def test_what_an_unusable_revision_cost_is_counted() -> None:
    from agent.models import UnusableReplyError

    replies = [DraftAnswer("57", ("f1",), "", 0.9, usage=Usage(10, 1, 1)), None]

    def answers(*args):
        reply = replies.pop(0)
        if reply is None:
            raise UnusableReplyError("no JSON", Usage(20, 2, 2))
        return reply

    trajectory = go(ScriptedReader(reads=OFFICES, answers=answers), order=(2,))
    assert trajectory.usage == trajectory.reply.usage == Usage(30, 3, 3)
    assert trajectory.reply.abstains and [e.step for e in trajectory.errors] == ["verify"]
