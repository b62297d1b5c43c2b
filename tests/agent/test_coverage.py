"""Coverage notes: what was swept, what remains, and whether an answer about a set may be incomplete."""

from agent_fakes import DOC, make_run, quoting, saying

from agent.coverage import with_coverage
from agent.graph import ask
from agent.readers.extractive.planning import make_plan
from agent.records import RoundRecord
from agent.trajectory import Trajectory
from agent.types import DraftAnswer, EvidenceRegion, Fact, Plan
from indexes.types import BBox, PageRef
from retrieval.types import RetrievedPage

REPLY = DraftAnswer("3", ("f1",), "counted", 0.9)


def refs(*pages: int, doc: str = DOC) -> list[PageRef]:
    return [PageRef(doc, page) for page in pages]


def fact(found_in: int) -> Fact:
    region = EvidenceRegion(PageRef(DOC, 1), BBox(0, 0, 0.5, 0.5))
    return Fact("f1", "a", "a", (region,), "exact", found_in)


def test_a_sweep_of_all_pages_is_complete() -> None:
    done = with_coverage(REPLY, refs(1, 2, 3), {DOC: 3}, [RoundRecord(1)], [fact(1)])
    assert (done.coverage, done.incomplete) == ("all 3 pages were swept", False)


def test_what_remains_is_named_and_whether_the_sweep_was_still_finding_any() -> None:
    ranked = tuple(RetrievedPage(ref, 1.0, rank) for rank, ref in enumerate(refs(2, 7, 8, 3), start=1))
    rounds = [RoundRecord(1, retrieved=ranked), RoundRecord(2)]
    going = with_coverage(REPLY, refs(1, 2, 3, 9), {DOC: 20}, rounds, [fact(2)])
    assert going.incomplete and going.coverage == (
        "4 of 20 pages were swept (1-3, 9); 16 remain, 2 of which retrieval ranked (7-8); "
        "the last pages read held new facts"
    )
    done = with_coverage(REPLY, refs(1, 2, 3, 9), {DOC: 20}, rounds, [fact(1)])
    assert done.incomplete and done.coverage.endswith("the last pages read held nothing new")


def test_of_several_documents_the_pages_say_whose_they_are() -> None:
    note = with_coverage(REPLY, refs(1) + refs(1, 2, doc="b"), {DOC: 2, "b": 2}, [], []).coverage
    assert "3 of 4 pages were swept (b 1-2; fake 1); 1 remain" in note


def test_a_run_about_a_set_says_what_it_swept_and_one_about_a_value_does_not() -> None:
    def sweeping(question: str, outline: object) -> Plan:
        return Plan("count", (question,), (question,), sweep=True)

    reader_answers = saying("1")
    from agent_fakes import ScriptedReader

    reader = ScriptedReader(reads=quoting("42 offices"), answers=reader_answers, plans=sweeping)
    run = ask("How many offices?", make_run(reader), question_id="q", model="m")
    assert run.reply.incomplete and run.reply.coverage.startswith("2 of 6 pages were swept")
    again = Trajectory.from_row(run.row())
    assert again.reply.coverage == run.reply.coverage and again.reply.incomplete and again.plan.sweep
    plain_run = ask("?", make_run(ScriptedReader(reads=quoting("42 offices"))), question_id="q", model="m")
    assert not plain_run.reply.incomplete and not plain_run.reply.coverage


def test_the_extractive_reader_sweeps_for_lists_and_for_things_it_counts() -> None:
    assert make_plan("How many figures are there in the report?").sweep
    assert not make_plan("What was revenue in 2023?").sweep
