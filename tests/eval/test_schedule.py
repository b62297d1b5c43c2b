"""Which question goes to which worker, here and on a cluster."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eval.benchmarks.types import Question
from eval.remote import CHUNK, Station, ask_item, chunked
from eval.schedule import Schedule
from indexes.errors import InputError


@pytest.fixture
def documents(tmp_path: Path) -> dict[str, Path]:
    sizes = {"small": 10, "big": 1000, "middle": 100}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(b"x" * size)
    return {name: tmp_path / name for name in sizes}


def asking(*documents: Path, many: int = 1, name: str = "q") -> list[Question]:
    return [Question(f"{name}{i}", "What?", documents, "", "", (), True) for i in range(many)]


def test_the_biggest_document_comes_first_and_a_worker_stays_with_its_own(documents: dict[str, Path]) -> None:
    small = asking(documents["small"], name="s")
    big = asking(documents["big"], many=2, name="b")
    schedule = Schedule([*small, *big])
    first = schedule.take(None)
    assert first is not None and first.id == "b0"
    schedule.hold(first.documents)
    second = schedule.take(first.documents)
    assert second is not None and second.id == "b1"
    third = schedule.take(first.documents)
    assert third is not None and third.id == "s0"
    assert schedule.take(third.documents) is None and len(schedule) == 0


def test_a_free_worker_helps_with_the_document_that_has_most_left(documents: dict[str, Path]) -> None:
    schedule = Schedule(
        asking(documents["big"], many=3, name="b") + asking(documents["small"], many=5, name="s")
    )
    for path in (documents["big"], documents["small"]):
        schedule.hold((path,))
    helped = schedule.take(None)
    assert helped is not None and helped.id == "s0"


def test_the_last_question_of_a_document_is_left_to_the_worker_that_has_it_open(
    documents: dict[str, Path],
) -> None:
    schedule = Schedule(asking(documents["big"]))
    schedule.hold((documents["big"],))
    assert schedule.take(None) is None
    schedule.release((documents["big"],))
    assert schedule.take(None) is not None


def test_questions_on_several_documents_are_a_group_of_their_own(documents: dict[str, Path]) -> None:
    both = (documents["small"], documents["big"])
    schedule = Schedule([*asking(*both, name="x"), *asking(documents["middle"], name="m")])
    first = schedule.take(None)
    assert first is not None and first.id == "x0"
    schedule.give_back(first)
    assert [q.id for q in schedule.give_up(both)] == ["x0"]
    assert len(schedule) == 1


def test_a_cluster_gets_chunks_of_one_documents_questions(documents: dict[str, Path]) -> None:
    questions = asking(documents["small"], name="s") + asking(documents["big"], many=CHUNK + 1, name="b")
    chunks = chunked(questions)
    assert [len(chunk) for chunk in chunks] == [CHUNK, 1, 1]
    assert [chunk[0].id for chunk in chunks] == ["b0", f"b{CHUNK}", "s0"]


class Asker:
    """Answers, or raises where the question says so."""

    def ask(self, question: str, question_id: str = "") -> Any:
        """A row of the question's id."""
        if "raises" in question:
            raise ValueError("no")

        line = f'{{"question_id": "{question_id}"}}'
        return SimpleNamespace(failure=None, line=lambda: line)


def test_a_station_keeps_its_document_open_and_answers_for_each_question() -> None:
    opened: list[str] = []

    @contextmanager
    def opener(paths: Sequence[Path], config: Any) -> Iterator[Asker]:
        if paths[0].name == "broken":
            raise InputError("broken: no PDF")
        opened.append(paths[0].name)
        yield Asker()

    from agent.config import Config

    station = Station(opener, {"config": Config().model_dump(), "name": "cpu"})
    answers = ask_item(station, (["a"], [("q1", "what?"), ("q2", "raises")]))
    assert answers == [(b'{"question_id": "q1"}', False, ""), (b"", True, "ValueError: no")]
    ask_item(station, (["a"], [("q3", "what?")]))
    assert opened == ["a"]
    assert ask_item(station, (["broken"], [("q4", "x"), ("q5", "y")])) == [(b"", True, "broken: no PDF")] * 2
    assert ask_item(station, (["a"], [("q6", "what?")]))[0][1] is False
    assert opened == ["a", "a"]
