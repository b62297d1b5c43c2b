"""Search terms: what pages print and people type must come out the same."""

import pytest

from retrieval.tokens import STOP_TERMS, content_terms, stem, text_terms, word_terms, words_to_terms


@pytest.mark.parametrize(
    ("printed", "terms"),
    [
        ("(1,577)", ["1577"]),
        ("$12,345,678.50", ["12345678.50"]),
        ("12.5%", ["12.5"]),
        ("FY2021", ["2021"]),
        ("FY21", ["2021"]),
        ("F2019", ["2019"]),
        ("Q22023", ["q2", "2023"]),
        ("Q2'2023", ["q2", "2023"]),
        ("2Q23", ["q2", "2023"]),
        ("year-over-year", ["year", "over", "year"]),
        ("R&D", ["r&d"]),
        ("PP&E", ["pp&e"]),
        ("shareholders’", ["shareholder"]),
        ("ﬁnancial", ["financial"]),
        ("Müller", ["muller"]),
        ("4.16", ["4.16"]),
    ],
)
def test_a_word_gives_the_terms_that_a_query_would(printed, terms):
    assert text_terms(printed) == terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("inventories", "inventory"),
        ("purchases", "purchasing"),
        ("expenses", "expense"),
        ("taxes", "tax"),
        ("planned", "planning"),
        ("REVENUES", "revenue"),
    ],
)
def test_forms_of_a_word_share_a_stem(one, other):
    assert text_terms(one) == text_terms(other)


@pytest.mark.parametrize("word", ["this", "business", "analysis", "status", "red", "king", "sing", "need"])
def test_words_that_only_look_inflected_keep_their_ending(word):
    assert stem(word) == word


def test_a_word_broken_at_a_line_end_is_joined():
    assert words_to_terms(["inven-", "tory", "turnover"]) == text_terms("inventory turnover")


def test_a_hyphen_before_a_capital_or_a_number_is_no_broken_word():
    assert words_to_terms(["pre-", "IPO"]) == ["pre", "ipo"]
    assert words_to_terms(["2019-", "2020"]) == ["2019", "2020"]


def test_scripts_without_spaces_give_pairs_of_characters():
    assert word_terms("日本語") == ("日本", "本語")


def test_arabic_and_cyrillic_words_are_terms():
    assert text_terms("ما هو الرقم") == ["ما", "هو", "الرقم"]
    assert text_terms("Выручка") == ["выручка"]


def test_content_terms_drop_stop_words_and_repetitions():
    assert content_terms(text_terms("What is the net income of the net?")) == ["net", "incom"]
    assert content_terms(text_terms("the and of")) == []


def test_a_stop_word_stays_one_after_stemming():
    assert set(text_terms("according using does")) <= STOP_TERMS


@pytest.mark.parametrize("text", ["", " ", "-", "…", "()", "\u200b", "- - -", "&"])
def test_text_without_words_gives_no_terms(text):
    assert text_terms(text) == []
