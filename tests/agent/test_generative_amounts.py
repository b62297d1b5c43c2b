"""A number is answered bare where the question says its unit and scale, and keeps them where it does not."""

import pytest

from agent.readers.generative.amounts import as_asked


@pytest.mark.parametrize(
    ("text", "question", "bare"),
    [
        ("$18,078 million", "What was revenue in USD millions?", "18,078"),
        ("18,078 million", "How much was it (in millions)?", "18,078"),
        ("18.078 billion", "What was revenue in millions?", "18,078"),
        ("18,078", "What was revenue in millions?", "18,078"),
        ("5.2 million", "What was it in billions of dollars?", "0.0052"),
        ("€ 0.4 million", "What was it in EUR thousands?", "400"),
        ("USD 1.5 billion", "How many billion US dollars was it?", "1.5"),
        ("(158) million", "What was the net loss in millions?", "-158"),
        ("$5", "How many dollars does it cost?", "5"),
        ("about 30 days", "How many days does it take?", "30"),
        ("12.50 kg", "What is its mass in kg?", "12.50"),
        ("12.5 percent", "What percentage is it?", "12.5%"),
        ("-3.5%", "By how much did it fall?", "-3.5%"),
    ],
)
def test_a_question_that_names_unit_and_scale_gets_the_number_alone(text, question, bare) -> None:
    assert as_asked(text, question, "number") == as_asked(text, question, "difference") == bare


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("18,078 million", "What was revenue?"),
        ("$34,229", "What was revenue in 2023?"),
        ("$5.2 billion", "What was revenue in dollars?"),
        ("15 m", "How long is it in metres?"),
        ("12 kg", "What is its mass?"),
        ("12 March 2020", "When was it?"),
        ("Page 3", "Where is it?"),
        ("3M", "Who sells the most, in millions?"),
        ("between 5 and 6 million", "How much is it in millions?"),
        ("42 (restated: 43) million", "How much is it in millions?"),
        ("", "How much is it in millions?"),
        ("none", "How much is it in millions?"),
        ("Unanswerable", "How much is it in millions?"),
        ("5 million", "Is it more in thousands or in millions?"),
    ],
)
def test_what_a_question_leaves_open_stays_with_the_number(text: str, question: str) -> None:
    assert as_asked(text, question, "number") == text


@pytest.mark.parametrize(
    ("text", "question", "count"),
    [
        ("42 offices", "How many offices are there?", "42"),
        ("42 sites worldwide.", "How many offices are there?", "42"),
        ("3 million people", "How many people live there?", "3,000,000"),
        ("3 million people", "How many million people live there?", "3"),
        ("0", "How many red bars are there?", "0"),
        ("7 of 9", "How many are open?", "7 of 9"),
        ("Seven.", "How many are open?", "7"),
        ("seven or eight", "How many are open?", "seven or eight"),
        ("none", "How many are open?", "none"),
        ("1.577 thousand sites", "How many are open?", "1,577"),
    ],
)
def test_a_count_is_a_whole_number_in_digits(text: str, question: str, count: str) -> None:
    assert as_asked(text, question, "count") == count


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Yes", "Yes"),
        ("no.", "No"),
        ("Yes, because sales rose.", "Yes"),
        ("No (it fell)", "No"),
        ("No one knows", "No one knows"),
        ("Norway", "Norway"),
        ("It did", "It did"),
    ],
)
def test_yes_and_no_stand_alone_where_they_are_asked_for(text: str, answer: str) -> None:
    assert as_asked(text, "Did sales rise?", "yes_no") == answer
    assert as_asked(text, "Did sales rise?", "span") == text


@pytest.mark.parametrize("kind", ["span", "list", "comparison", "yes_no"])
def test_other_answers_stay_as_they_are(kind) -> None:
    assert as_asked("$18,078 million", "What was revenue in USD millions?", kind) == "$18,078 million"


def test_the_bare_number_still_follows_from_the_fact_that_says_it_in_full() -> None:
    from agent.types import DraftAnswer, EvidenceRegion, Fact, Plan
    from agent.verify import objection
    from indexes.types import BBox, PageRef

    plan, region = Plan("number", ("q",), ("q",)), EvidenceRegion(PageRef("d", 1), BBox(0, 0, 1, 1))
    for told, said in (("18,078 million", "18,078 million"), ("$18.078 billion", "$18.078 billion")):
        fact = Fact("f1", f"Revenue was {told}", told, (region,), "exact", 1)
        question = "What was revenue in millions?"
        text = as_asked(said, question, "number")
        assert (
            text == "18,078" and objection(DraftAnswer(text, ("f1",), "", 1), question, plan, [fact]) is None
        )
