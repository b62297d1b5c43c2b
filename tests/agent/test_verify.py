"""Numbers, arithmetic and verification of answers."""

import random

import pytest
from agent_fakes import DOC

from agent.arithmetic import evaluate, find_numbers, number_words, values
from agent.types import DraftAnswer, EvidenceRegion, Fact, Plan
from agent.verify import checked, objection
from indexes.types import BBox, PageRef

REGION = EvidenceRegion(PageRef(DOC, 1), BBox(0, 0, 0.5, 0.5))
SPAN = Plan("span", ("q",), ("q",))


def fact(text: str, name: str = "f1", support="exact") -> Fact:
    return Fact(name, text, text, (REGION,), support, 1)


def why(text: str, *facts: Fact, question: str = "?", plan: Plan = SPAN, expression: str | None = None):
    reply = DraftAnswer(text, tuple(f.id for f in facts), "", 0.5, expression)
    return objection(reply, question, plan, facts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,577 and (158)", [1577, 158]),
        ("$5.2 billion", [5.2]),
        ("13% or .5", [13, 0.5]),
        ("in 2019, 12 people", [2019, 12]),
        ("12,34,567", [1234567]),
        ("v1.2.3 A4", [1.2, 4]),
        ("\uff11\uff12", [12]),
        ("none", []),
    ],
)
def test_numbers_are_found_as_printed(text: str, expected: list[float]) -> None:
    assert [number.value for number in find_numbers(text)][: len(expected)] == expected


def test_numbers_know_scale_percent_and_places() -> None:
    one, two = find_numbers("$5.20 billion, 13 %")
    assert (one.scale, one.places, one.percent) == (1e9, 2, False)
    assert (two.scale, two.places, two.percent) == (1.0, 0, True)
    assert number_words("Three of twenty") == {3, 20}
    assert values(["5.2 billion"]) == {5.2, 5.2e9}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1,577 - 1,212", 365),
        ("(1,577 − 1,212) / 1,212 × 100", 30.1155),
        ("-3 + 2*4", 5),
        ("$5.5 ÷ 2", 2.75),
        ("50%", 0.5),
        ("((((1))))", 1),
    ],
)
def test_arithmetic_is_computed(expression: str, value: float) -> None:
    assert evaluate(expression) == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "1 +",
        "2 ** 9",
        "9" * 399,
        "__import__('os')",
        "a",
        "1 if 1 else 2",
        "1/0",
        "1e18*1e9",
        "(" * 300,
        "1+" * 150 + "1",
        "True + 1",
        "'a' * 3",
        "1 < 2",
        "[1]",
        "1j",
        "lambda: 1",
        "1" * 500,
        "\x00",
        "f(1)",
    ],
)
def test_anything_but_bounded_arithmetic_is_refused(expression: str) -> None:
    with pytest.raises(ValueError):
        evaluate(expression)


def test_arithmetic_agrees_with_an_independent_computation() -> None:
    rng = random.Random(1)
    for _ in range(200):
        a, b, c = (rng.randint(1, 99_999) for _ in range(3))
        assert evaluate(f"({a:,} - {b:,}) / {c:,}") == pytest.approx((a - b) / c)


def test_an_answer_that_its_facts_say_passes() -> None:
    assert why("34,229", fact("Net sales were $ 34,229 in 2022")) is None
    assert why("$34.2 billion", fact("Net sales: 34,229 (in millions)")) is None
    assert why("seven: 7", fact("There are seven levels")) is None
    assert why("Oslo", fact("founded in Oslo")) is None
    assert why("2015-10-05", fact("on 5 October 2015")) is None
    assert why("In 2018 it was 12", fact("it was 12"), question="How many in 2018?") is None


def test_numbers_and_names_that_no_fact_says_are_objected_to() -> None:
    assert why("34,230", fact("Net sales were 34,229")) == "no cited fact says 34230"
    assert why("$35.2 billion", fact("Net sales: 34,229 (in millions)")) == "no cited fact says 35.2"
    assert why("It is in Bergen", fact("founded in Oslo")) == "no cited fact names 'Bergen'"


def test_an_answer_needs_facts_that_exist_and_are_borne_out() -> None:
    assert why("Oslo") == "the answer cites no fact of the ledger"
    assert why("Oslo", fact("Oslo", support="none")) == "nothing on the pages bears out the cited facts"
    assert why("Oslo", fact("Oslo", support="visual")) is None
    assert objection(DraftAnswer("Unanswerable", (), "", 0.0), "?", SPAN, []) is None


def test_a_computed_answer_must_be_the_value_of_its_expression() -> None:
    told = fact("2023: 1,577; 2022: 1,212")
    assert why("365", told, expression="1,577 - 1,212") is None
    assert why("30.1%", told, expression="(1,577 - 1,212) / 1,212") is None
    assert why("30.12", told, expression="(1,577 - 1,212) / 1,212 * 100") is None
    assert why("366", told, expression="1,577 - 1,212") == "no cited fact says 366"
    days = "Days of inventory, at 360 days a year?"
    assert why("277", told, expression="1,212 / 1,577 * 360", question=days) is None
    assert "uses 999" in str(why("578", told, expression="1,577 - 999"))
    assert "expected" in str(why("5", told, expression="import os"))


def test_a_count_may_be_the_number_of_cited_facts() -> None:
    facts = [fact("a site", "f1"), fact("another", "f2")]
    assert why("2", *facts, plan=Plan("count", ("q",), ("q",))) is None
    assert why("2", *facts) == "no cited fact says 2"


def test_replies_are_brought_into_form() -> None:
    reply = DraftAnswer(" a\nb ", ("f1", "f9", "f1"), "why\x1b[0m", 7.0)
    kept = checked(reply, [fact("a")])
    assert (kept.text, kept.fact_ids, kept.reason, kept.confidence) == ("a b", ("f1",), "why", 1.0)
    assert checked(DraftAnswer("\x00", (), "", 0.0), []).text == "Unanswerable"
