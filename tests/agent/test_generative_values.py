"""Values of a model's JSON are understood as they are meant, and nothing else is made of them."""

import math
from typing import Any

import pytest
from agent_fakes import PAGES
from generative_fakes import FakeModel, fact, reading

from agent.config import View
from agent.readers.generative import GenerativeReader
from agent.readers.generative.values import fact_ids, integer, integers, share, texts, truth
from agent.types import Plan, ReadTask


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        (["f1", "f2"], ("f1", "f2")),
        (["[f3]", "F4", "5", 6], ("f3", "f4", "f5", "f6")),
        ("f1, f2 and f3", ("f1", "f2", "f3")),
        (["f1, f2"], ("f1", "f2")),
        ("[1, 2]", ("f1", "f2")),
        ("1, 2 and 10", ("f1", "f2", "f10")),
        ("f3 (page 12)", ("f3",)),
        ("fact 3 on page 12", ("f3",)),
        (["f1", "f01", "f 1"], ("f1",)),
        (None, ()),
        ("none", ()),
        ({"f": 1}, ()),
        (True, ()),
    ],
)
def test_ids_of_facts_are_read_in_every_writing_and_page_numbers_are_none(value: Any, ids: Any) -> None:
    assert fact_ids(value) == ids


def test_as_many_facts_are_named_as_a_ledger_holds() -> None:
    assert len(fact_ids([f"f{n}" for n in range(1, 401)])) == 400
    assert len(fact_ids([f"f{n}" for n in range(1, 2000)])) == 400


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ([1, "2", 3.0, None, "x", True], (1, 2, 3)),
        ("1, 2; 3 and 4", (1, 2, 3, 4)),
        ("page 12", (12,)),
        (7, (7,)),
        ("", ()),
        (math.inf, ()),
        (10**12, ()),
    ],
)
def test_whole_numbers_are_read_out_of_lists_texts_and_numbers(value: Any, numbers: Any) -> None:
    assert integers(value) == numbers


def test_shares_truths_and_texts_of_odd_kinds() -> None:
    assert [share(v, 0.5) for v in ("85%", 85, 0.85, -1, math.nan, "x", None)] == [
        *(0.85, 0.85, 0.85),
        *(0.0, 0.5, 0.5, 0.5),
    ]
    assert [truth(v, True) for v in ("no", 0, "Yes", None)] == [False, False, True, True]
    assert texts("a", 9, 3) == ("a",) and texts(["a", "a", "", {}, "b"], 9, 9) == ("a", "b")
    assert integer("-4") == -4 and integer(3.5) is None


def test_facts_beyond_what_is_taken_of_a_reply_are_noted() -> None:
    many = [fact(2, f"It has {n} offices.", blocks=[1]) for n in range(41)]
    task = ReadTask("How many?", Plan("span", ("How many?",), ("How many?",)), [PAGES[1]], (), (), ())
    reader = GenerativeReader(FakeModel(read=reading(*many)), View(images=False))
    found = reader.read(task)
    assert len(found.drafts) == 40 and found.notes == ("read: 41 facts in a reply; the first 40 are taken",)
    reader = GenerativeReader(FakeModel(read=reading(*many[:40])), View(images=False))
    assert len(reader.read(task).drafts) == 40 and reader.read(task).notes == ()
