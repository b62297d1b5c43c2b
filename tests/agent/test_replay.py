"""A replay at r rounds is what a run with a budget of r rounds leaves."""

import json
from dataclasses import replace

import pytest
from agent_fakes import FakeDocument, FakeRetriever, ScriptedReader, make_run, quoting

from agent.graph import ask
from agent.readers.extractive import ExtractiveReader
from agent.replay import changed_later, replay
from agent.trajectory import Trajectory
from agent.types import Decision, DraftAnswer

TIMES = ("timings", "seconds")


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in TIMES}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def left(trajectory: Trajectory):
    return without_times(json.loads(trajectory.line()))


QUOTES = ("The company was founded in Oslo in 1998.", "It has 42 offices.", "Net sales 1,577 1,212")


def wandering(**dials):
    """A reader that never has enough, over a retriever that goes through the pages in order."""
    document = FakeDocument()
    reader = ScriptedReader(
        reads=quoting(
            "The company was founded in Oslo in 1998.", "It has 42 offices.", "Net sales 1,577 1,212"
        ),
        decides=lambda task: Decision("retrieve", "more", (f"query {task.rounds_left}",)),
        answers=lambda question, plan, facts: DraftAnswer(
            facts[-1].quote, (facts[-1].id,), "the last fact", 0.1 * len(facts)
        ),
    )
    dials = {"k": 1, "max_pages": 12, **dials}
    return make_run(
        reader, document=document, retriever=FakeRetriever(document, order=(1, 2, 3, 4, 5, 6)), **dials
    )


def honest(rounds: int) -> Trajectory:
    run = wandering(rounds=rounds)
    # queries must not tell the budgets apart, or the runs would differ for a reason of the script's
    run.reader.decides = lambda task: Decision("retrieve", "more", (f"query {len(task.queries)}",))
    return ask("What is there?", run, question_id="q", model="m")


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_a_replay_equals_the_run_with_that_budget(rounds):
    longest, short = honest(4), honest(rounds)
    reader = wandering().reader
    reader.decides = lambda task: Decision("retrieve", "more", (f"query {len(task.queries)}",))
    again = replay(longest, rounds, reader)
    assert left(again) == left(short)
    assert len(again.rounds) == rounds and again.stop == "rounds"


def test_a_replay_survives_being_written_and_read_back():
    longest = Trajectory.from_row(json.loads(honest(4).line()))
    assert left(replay(longest, 2, honest_reader())) == left(honest(2))


def honest_reader():
    reader = wandering().reader
    reader.decides = lambda task: Decision("retrieve", "more", (f"query {len(task.queries)}",))
    return reader


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize(
    "question",
    ["What were net sales in 2023?", "How many offices are there?", "Who is the treasurer of the club?"],
)
def test_the_extractive_readers_replays_equal_its_runs(question, rounds):
    def run_with(budget: int) -> Trajectory:
        made = make_run(ExtractiveReader(), rounds=budget, k=1, max_pages=12)
        return ask(question, made, question_id="q", model="m")

    again = replay(run_with(3), rounds, ExtractiveReader())
    assert left(again) == left(run_with(rounds))


def test_a_run_that_stopped_by_itself_is_left_as_it_is():
    made = make_run(ScriptedReader(), rounds=5)
    run = ask("What?", made, question_id="q", model="m")
    assert len(run.rounds) == 1
    again = replay(run, 3, made.reader)
    assert replace(again, config=run.config, config_digest=run.config_digest) == run
    assert again.config["rounds"] == 3 and again.config_digest != run.config_digest


def test_a_budget_that_the_run_did_not_have_is_refused():
    run = honest(2)
    for rounds in (0, 3):
        with pytest.raises(ValueError, match="budget of 2"):
            replay(run, rounds, honest_reader())


def test_facts_that_a_later_round_confirmed_are_named():
    run = honest(3)
    assert changed_later(run, 1) == ()
    first = run.rounds[0].facts[0]
    confirmed = replace(run, rounds=(*run.rounds[:2], replace(run.rounds[2], facts=(first,))))
    assert changed_later(confirmed, 1) == (first,)
    assert changed_later(confirmed, 3) == ()


def test_a_reader_that_fails_at_the_answer_leaves_a_failed_replay():
    def fails(*_):
        raise RuntimeError("no answer today")

    reader = honest_reader()
    reader.answers = fails
    again = replay(honest(3), 2, reader)
    assert again.failure is not None and again.row()["status"].startswith("error:")
    assert again.facts == honest(2).facts
