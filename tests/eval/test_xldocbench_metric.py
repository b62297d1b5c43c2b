"""XL-DocBench's measures against cases worked out by hand from their definitions."""

import pytest

from eval.metrics.xldocbench import abstains, first_number, first_option, normalize, score_answer


@pytest.mark.parametrize(
    ("gold", "pred", "answer_type", "expected"),
    [
        ("100", "about 105 units", "numeric", 1),  # relative error 0.05
        ("100", "105.1", "numeric", 0),
        ("-100", "-96", "numeric", 1),
        ("100", "-100", "numeric", 0),
        ("1,234.5", "It was $1234.5 million", "Float", 1),
        ("0", "0.0000001", "numeric", 1),
        ("0", "0.01", "numeric", 0),
        ("12.5%", "12.6 percent", "percentage", 1),
        ("12.5%", "none given", "percentage", 0),
        ("7", "In 2021 it was 7", "Int", 0),  # the first number counts
        ("B", "The answer is (B), because ...", "single_choice", 1),
        ("B. Revenue", "b) revenue", "single_choice", 1),
        ("B", "A or B", "single_choice", 0),
        ("The Board of Directors", "Answer: it was the board of directors.", "text", 1),
        ("Board of Directors", "Board of Director", "text", 1),  # similarity 17/18
        ("abcde", "abcdx", "text", 1),  # similarity 0.8
        ("abcd", "abcx", "text", 0),
        ("Acme", "", "text", 0),
        ("", "anything", "text", 0),
        ("", "The report does not mention it.", "unanswerable", 1),
        ("", "It was 12.", "unanswerable", 0),
        ("N/A", "Unanswerable", "unanswerable", 1),
        ("several", "it took several years", "numeric", 1),  # gold without a number: compared as text
    ],
)
def test_accuracy_follows_the_rule_of_the_type(gold: str, pred: str, answer_type: str, expected: int) -> None:
    assert score_answer(gold, pred, answer_type)["accuracy"] == expected


def test_token_f1_is_over_sets_of_normalized_tokens() -> None:
    # gold {net, sales, rose}, prediction {sales, rose, sharply}: 2 shared, 2 * 2 / (3 + 3)
    assert score_answer("The net sales rose", "Sales rose, rose sharply", "text")[
        "token_f1"
    ] == pytest.approx(2 / 3)
    assert score_answer("", "", "text")["token_f1"] == 1 and score_answer("a1", "", "text")["token_f1"] == 0


def test_anls_is_over_the_texts_as_they_are() -> None:
    assert score_answer("ABCD", "ABCE", "text")["anls"] == pytest.approx(0.75)
    assert score_answer("ABCD", "abcd", "text")["anls"] == 0  # not normalized
    assert score_answer("ABCD", "ABXY", "text")["anls"] == 0  # 0.5 is not enough


def test_normalizing_keeps_decimal_points_hyphens_and_percent_signs() -> None:
    assert normalize("The final answer is: The 12.5%  year-on-year (rise). ") == "12.5% year-on-year rise"
    assert normalize("Answer: U.S. sales") == "u s sales"


@pytest.mark.parametrize(
    "text",
    [
        "Unanswerable", "This cannot be determined from the filing.", "I don't know", "Not answerable",
        "The document does not contain this.", "There is insufficient information.", "It is not disclosed.",
        "We can’t answer that.",
    ],
)  # fmt: skip
def test_an_abstention_is_recognized(text: str) -> None:
    assert abstains(text)


@pytest.mark.parametrize("text", ["42", "The board did not approve it.", "No.", "None of them resigned"])
def test_an_answer_is_no_abstention(text: str) -> None:
    assert not abstains(text)


def test_numbers_and_option_labels_are_found() -> None:
    assert (
        first_number("from 2019-2020") == 2019 and first_number("−3.5") == -3.5 and first_number("x") is None
    )
    assert first_number("1e3 units") == 1000
    assert first_option("A revenue of 5, so C") == "C" and first_option("option D") == "D"
    assert first_option("it is a fact: (C)") == "C" and first_option("nothing here") is None


def test_what_is_no_text_is_scored_too() -> None:
    assert score_answer(12.5, 12.5, "Float")["accuracy"] == 1
    assert score_answer("12.5", None, "Float")["accuracy"] == 0
