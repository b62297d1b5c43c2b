"""Tries end with the run's budget of seconds: over a scripted server, and a clock that only waiting moves."""

import json
from pathlib import Path
from typing import Any

import pytest
from agent_fakes import FakeRetriever, make_run
from generative_fakes import FOLLOWS, SeenDocument, answering, deciding, fact, planning, reading
from scripted_server import Fails, Says, ScriptedServer, by_role, role_of, serving

from agent.config import Endpoint, View
from agent.deadline import lasting, seconds_left
from agent.endings import ANSWERING
from agent.graph import ask
from agent.models import ModelError, OutOfTimeError, Request
from agent.readers.chat import ChatModel
from agent.readers.generative import GenerativeReader
from agent.readers.generative.replies import ask as ask_model
from agent.trajectory import Trajectory

QUESTION = "What were net sales in 2023?"
SALES = fact(3, "Net sales were 1,577 million in 2023.", quote="Net sales 1,577", blocks=[1])
ASK = Request("read", "# Read", ("What is a?",), {"type": "object"}, 100)
AWAY = Fails(503)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "PAGETRAIL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))


class Clock:
    """Stands still but while a try is waited for."""

    def __init__(self) -> None:
        self.now, self.waits = 0.0, list[float]()

    def sleep(self, seconds: float) -> None:
        """Waits, and keeps how long."""
        self.now += seconds
        self.waits.append(seconds)


def chat(server: ScriptedServer, clock: Clock) -> ChatModel:
    endpoint = Endpoint(base_url=server.base_url, timeout=5.0, cache=False, retries=20)
    return ChatModel("m", endpoint, View(images=False), sleep=clock.sleep)


def run_on(server: ScriptedServer, clock: Clock, **dials: Any) -> Trajectory:
    document = SeenDocument()
    reader = GenerativeReader(chat(server, clock), View(images=False))
    given = {"k": 1, "rounds": 6, "clock": lambda: clock.now, **dials}
    run = make_run(reader, document=document, retriever=FakeRetriever(document, (3, 1, 2)), **given)
    trajectory = ask(QUESTION, run, question_id="q1", model="m")
    assert Trajectory.from_row(json.loads(trajectory.line())).row() == trajectory.row()
    return trajectory


def script(**given: Any) -> Any:
    usual = {
        "plan": Says(planning(QUESTION)),
        "read": Says(reading(SALES)),
        "decide": Says(deciding("answer", p1=["f1"])),
        "answer": Says(answering("1,577", "f1")),
        "verify": Says(FOLLOWS),
    }
    return by_role(**{**usual, **given})


def asked(server: ScriptedServer, role: str) -> int:
    return sum(role_of(body) == role for body in server.requests)


def test_a_round_whose_tries_would_outlast_the_budget_ends_the_run_with_what_was_found() -> None:
    more = Says(deciding("retrieve", "net sales table", p1=[]))
    with serving(script(read=[Says(reading(SALES)), AWAY], decide=more)) as server:
        clock = Clock()
        run = run_on(server, clock, max_seconds=20.0, k=1)
    assert (run.stop, run.answer, run.failure, len(run.rounds)) == ("seconds", "1,577", None, 2)
    assert 7.0 < clock.now < 20.0 and asked(server, "decide") == 1
    (error,) = run.rounds[1].errors
    assert error.kind == "OutOfTimeError" and "503" in error.message
    assert f"no reply after {len(clock.waits) + 1} tries, and no time for another" in error.message


def test_pages_that_fail_together_for_want_of_time_are_not_tried_alone() -> None:
    more = Says(deciding("retrieve", "net sales table", p1=[]))
    away = Fails(429, headers={"retry-after": "90"})
    with serving(script(read=[Says(reading(SALES)), away], decide=more)) as server:
        run = run_on(server, Clock(), max_seconds=60.0, k=2)
    assert run.stop == "seconds" and asked(server, "read") == 2
    assert [e.message for e in run.rounds[1].errors[1:]] == [
        "not read alone: the budget of seconds is spent"
    ] * 2


def test_a_decision_given_up_for_want_of_time_is_the_end_of_the_budget_and_no_error_of_the_run() -> None:
    with serving(script(decide=AWAY)) as server:
        clock = Clock()
        run = run_on(server, clock, max_seconds=20.0)
    assert (run.stop, run.answer, len(run.rounds)) == ("seconds", "1,577", 1) and clock.now < 20.0
    assert [(e.step, e.kind) for e in run.rounds[0].errors] == [("decide", "OutOfTimeError")]


def test_a_plan_given_up_for_want_of_time_leaves_the_first_round_one_try() -> None:
    with serving(script(plan=AWAY)) as server:
        clock = Clock()
        run = run_on(server, clock, max_seconds=0.1, rounds=1)
    assert run.answer == "1,577" and clock.waits == [] and asked(server, "plan") == 1
    with serving(script(plan=AWAY, read=AWAY)) as server:
        run = run_on(server, clock, max_seconds=0.1)
    assert (
        run.stop == "error" and run.failure is not None and "no reply after 1 try, and no time" in run.failure
    )
    assert clock.waits == [] and asked(server, "read") == 1


def test_an_answer_is_tried_for_a_while_after_the_end_but_not_for_ever() -> None:
    with serving(script(answer=[AWAY, Says(answering("1,577", "f1"))])) as server:
        run = run_on(server, Clock(), max_seconds=0.1, rounds=1)
    assert run.answer == "1,577" and asked(server, "answer") == 2
    with serving(script(answer=AWAY)) as server:
        clock = Clock()
        run = run_on(server, clock, max_seconds=0.1, rounds=1)
    assert run.stop == "error" and run.failure is not None and "OutOfTimeError" in run.failure
    assert ANSWERING / 4 < clock.now < ANSWERING


def test_a_revision_has_its_own_while_after_the_end() -> None:
    answers = [Says(answering("9,999", "f1")), AWAY]
    with serving(script(answer=answers)) as server:
        clock = Clock()
        run = run_on(server, clock, max_seconds=0.1, rounds=1)
    assert run.reply.abstains and run.revised and ANSWERING / 4 < clock.now < ANSWERING
    assert [(e.step, e.kind) for e in run.errors] == [("verify", "OutOfTimeError")]


def test_calls_at_a_time_know_the_time_that_is_left_and_calls_outside_a_run_have_all_the_time() -> None:
    with serving([AWAY]) as server:
        clock = Clock()
        model = chat(server, clock)
        with lasting(lambda: 0.0):
            replies = model.complete_all([ASK, ASK, ASK])
        assert all(isinstance(reply, OutOfTimeError) for reply in replies)
        assert len(server.requests) == 3 and clock.waits == []
        assert seconds_left() == float("inf")
        with pytest.raises(ModelError, match="no reply after 21 tries"):
            model.complete(ASK)


def test_a_wait_that_an_endpoint_asks_for_is_not_begun_where_it_would_outlast_the_time() -> None:
    with serving([Fails(429, headers={"retry-after": "60"})]) as server:
        clock = Clock()
        with (
            lasting(lambda: 59.0 - clock.now),
            pytest.raises(OutOfTimeError, match="after 1 try, and no time"),
        ):
            chat(server, clock).complete(ASK)
        with lasting(lambda: 100.0 - clock.now), pytest.raises(OutOfTimeError, match="after 2 tries, and no"):
            chat(server, clock).complete(ASK)
    assert len(clock.waits) == 1 and 60.0 <= clock.now <= 61.0


def test_a_reply_that_cannot_be_used_is_asked_for_again_only_while_time_is_left() -> None:
    with serving([Says("no JSON")]) as server:
        model = chat(server, Clock())
        for left, tries in ((0.0, 1), (1.0, 2)):
            with lasting(lambda left=left: left):
                heard = ask_model(model, ASK, dict)
            assert heard.value is None and heard.usage.calls == tries == len(heard.notes)
