"""A query without its instructions on how to write the answer."""

import pytest

from retrieval.queries import parse_query, without_form


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What is the ROA? Round your answer to two decimal places.", "What is the ROA?"),
        ("How many grams? Return me an integer.", "How many grams?"),
        ("Is it signed? Directly answer 'yes' or 'no'.", "Is it signed?"),
        ("How much? Answer in USD millions.", "How much?"),
        ("How many charts?Please write the answer in integer format.", "How many charts?"),
        ('Who? Please list them. e.g., ["a","b"]', "Who?"),
    ],
)
def test_instructions_on_the_answers_form_are_left_out(query, expected):
    assert without_form(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "What is capex? Give a response by relying on the details of the cash flow statement.",
        "List the percentages by year.",
        "Give me the integer on the cover.",
        "Tell me the template of 'Contact.Meet'.",
        "",
    ],
)
def test_what_says_where_to_look_and_a_query_of_one_sentence_are_kept(query):
    assert without_form(query) == query


def test_a_query_of_stop_words_has_no_terms_but_keeps_its_text():
    query = parse_query("the and of")
    assert query.terms == ()
    assert query.text == "the and of"


def test_the_vocabulary_adds_phrases_apart_from_the_users_words():
    query = parse_query("What is the capex?")
    assert "purchas" in query.added
    assert "purchas" not in query.weights
    assert query.long_text.startswith("What is the capex? ")
